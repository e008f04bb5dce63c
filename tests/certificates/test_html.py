"""A certificate in a notebook: the same words, escaped."""

from dataclasses import replace

import numpy as np

from certiclust import KCenter, KMedian

X = np.random.default_rng(0).normal(size=(20, 2))


def test_the_page_says_what_the_text_says():
    certificate = KMedian(3, random_state=0).fit(X).certificate_
    page = certificate._repr_html_()
    for line in str(certificate).splitlines():
        assert line.replace(">", "&gt;").replace("<", "&lt;") in page
    assert "width:100.00%" in page
    assert "http" not in page


def test_everything_is_escaped():
    certificate = KCenter(3, random_state=0).fit(X).certificate_
    evil = "<script>alert(1)</script>\"'"
    page = replace(certificate, problem=evil, method=evil, metric=evil, note=evil, guarantee=None, data_sha256=evil)
    assert "<script" not in page._repr_html_()
    assert "&lt;script&gt;" in page._repr_html_()


def test_a_half_proved_cost_fills_half_of_the_bar():
    certificate = KCenter(3, random_state=0).fit(X).certificate_
    assert "width:50.00%" in replace(certificate, lower_bound=certificate.cost / 2)._repr_html_()
    nothing = replace(certificate, lower_bound=0.0)._repr_html_()
    assert "width:0.00%" in nothing
    assert "no gap known" in nothing
    assert "width:100.00%" in replace(certificate, cost=0.0, lower_bound=0.0)._repr_html_()
