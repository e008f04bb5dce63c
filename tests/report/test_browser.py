"""The report in a real browser: Chromium, headless."""

import numpy as np
import pytest

from certiclust import FairKMedian, Front, KMedian, sweep
from certiclust.report import report_html
from tests.report.browser import Browser, find_chromium

pytestmark = pytest.mark.skipif(
    find_chromium() is None, reason="no Chromium here: install Debian's chromium to test the report in a browser"
)

X = np.random.default_rng(0).normal(size=(40, 2)) + np.repeat([[0, 0], [9, 0], [0, 9], [9, 9]], 10, axis=0)
EVIL = ["</script><script>window.hurt=1</script>", "<img src=x onerror=window.hurt=1>", "a\"'&<b>\u2028", "<!--DATA-->"]


@pytest.fixture(scope="module")
def front():
    return sweep(KMedian(random_state=0), X, 7)


@pytest.fixture(scope="module")
def browser():
    with Browser() as chromium:
        yield chromium


@pytest.fixture
def page(browser, front, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(report_html(front, X, title="four corners", columns=["east", "north"]), encoding="utf-8")
    browser.events.clear()
    return path


def number(text):
    return float(text.replace(",", ""))


def check_shows(browser, front, k):
    """Slider, numbers, table, certificate and labels are those of k."""
    i = front.sizes.tolist().index(k)
    assert browser.text("k") == str(k)
    assert browser.read("document.getElementById('slider').value") == str(k)
    assert number(browser.text("cost")) == pytest.approx(front.costs[i], rel=1e-5)
    assert number(browser.text("lower")) == pytest.approx(front.lower_bounds[i], rel=1e-5)
    assert f"k = {k}, n = 40: cost {front.costs[i]:.8g}, optimal, proved." in browser.text("certificate")
    assert browser.read("document.querySelectorAll('#clusters tbody tr').length") == k
    sizes = browser.read("[...document.querySelectorAll('#clusters tbody tr')].map((r) => +r.cells[1].textContent)")
    assert sizes == np.bincount(front.labels(k)).tolist()
    assert f"{k} clusters" in browser.read("document.getElementById('scatter').getAttribute('aria-label')")
    assert browser.read("location.hash") == f"#k={k}"


def test_the_slider_moves_everything(browser, page, front):
    browser.open(page)
    check_shows(browser, front, front.suggest().k)
    pictures = set()
    for k in (2, 3, 7):
        browser.read(f"(() => {{ const s = document.getElementById('slider'); s.value = {k};"
                     "s.dispatchEvent(new Event('input')); })()")  # fmt: skip
        check_shows(browser, front, k)
        pictures.add(browser.read("document.getElementById('scatter').toDataURL()"))
    assert len(pictures) == 3
    assert browser.complaints() == []


def test_keys_and_buttons(browser, page, front):
    browser.open(page, "#k=3")
    check_shows(browser, front, 3)
    browser.press("ArrowRight", 39)
    check_shows(browser, front, 4)
    browser.press("ArrowLeft", 37)
    browser.press("ArrowLeft", 37)
    check_shows(browser, front, 2)
    browser.read("document.getElementById('slider').focus()")
    browser.press("ArrowRight", 39)  # the slider's own keys
    check_shows(browser, front, 3)
    browser.read("document.activeElement.blur()")
    browser.click("next")
    check_shows(browser, front, 4)
    browser.click("previous")
    check_shows(browser, front, 3)
    browser.click("suggested")
    check_shows(browser, front, front.suggest().k)
    for _ in range(9):
        browser.press("ArrowRight", 39)
    check_shows(browser, front, 7)  # the end
    assert browser.complaints() == []


def test_everything_can_be_reached_with_the_tabulator(browser, page):
    browser.open(page)
    reached = []
    for _ in range(14):
        browser.press("Tab", 9)
        reached.append(browser.read("document.activeElement.id || document.activeElement.tagName"))
    assert {"previous", "slider", "next", "suggested", "TR"} <= set(reached)
    unnamed = browser.read(
        "[...document.querySelectorAll('button, input, canvas, svg, nav, [role=region]')].filter((e) =>"
        "!e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby') && !(e.labels || []).length &&"
        "!e.textContent.trim()).length"
    )
    assert unnamed == 0


def test_nothing_is_fetched(browser, page):
    browser.open(page)
    assert all(url.startswith(("file://", "data:")) for url in browser.requests())
    assert len([url for url in browser.requests() if url.startswith("file://")]) == 1


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark(browser, page, dark):
    browser.media("screen", dark=dark)
    browser.open(page)
    light = "getComputedStyle(document.documentElement).backgroundColor.match(/\\d+/g).map(Number)[0]"
    assert (browser.read(light) < 128) is dark
    browser.media("print", dark=dark)
    assert browser.read(light) == 255  # paper is white
    assert browser.read("getComputedStyle(document.getElementById('controls')).display") == "none"
    browser.media("screen")
    assert browser.complaints() == []


def test_names_from_the_data_do_no_harm(browser, tmp_path):
    front = sweep(KMedian(random_state=0), X, 3)
    ids = [f"{EVIL[i % 4]}{i}" for i in range(40)]
    text = report_html(
        front, X, title=EVIL[0], columns=[EVIL[0], EVIL[1]], ids=ids, id_name=EVIL[1], facts={EVIL[0]: EVIL[1]}
    )
    path = tmp_path / "evil.html"
    path.write_text(text, encoding="utf-8")
    browser.events.clear()
    browser.open(path, "#k=3")
    assert browser.read("window.hurt === undefined")
    assert browser.read("document.images.length") == 0
    assert browser.text("title") == EVIL[0]
    heads = browser.read("[...document.querySelectorAll('#clusters th')].map((h) => h.textContent)")
    assert heads[-2:] == EVIL[:2]
    centres = browser.read("[...document.querySelectorAll('#clusters tbody tr')].map((r) => r.cells[2].textContent)")
    assert centres == [ids[i] for i in front.estimator(3).center_indices_]
    assert browser.complaints() == []


def test_a_single_k_has_no_slider(browser, tmp_path):
    path = tmp_path / "one.html"
    front = Front([KMedian(4, random_state=0).fit(X)])
    path.write_text(report_html(front, X), encoding="utf-8")
    browser.events.clear()
    browser.open(path)
    assert browser.read("getComputedStyle(document.getElementById('controls')).display") == "none"
    check_shows(browser, front, 4)
    assert browser.complaints() == []


def test_fairness_plot(browser, tmp_path):
    path = tmp_path / "fair.html"
    front = sweep(FairKMedian(random_state=0), X, 5, k_min=4)
    path.write_text(report_html(front, X), encoding="utf-8")
    browser.events.clear()
    browser.open(path, "#k=4")
    assert not browser.read("document.getElementById('fairbox').hidden")
    assert number(browser.text("fairness")) == pytest.approx(front.estimator(4).fairness_ratio_, rel=1e-5)
    heights = browser.read("[...document.querySelectorAll('#fair .bar')].map((b) => +b.getAttribute('height'))")
    assert len(heights) == 40
    assert max(heights) > 0
    assert browser.complaints() == []
