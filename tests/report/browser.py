"""A headless Chromium on a leash: the DevTools protocol over a pipe, with nothing but the standard library."""

import fcntl
import json
import os
import shutil
import subprocess
import tempfile
from base64 import b64decode
from time import monotonic, sleep

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 60


def find_chromium():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page; messages of the console, errors and requests are collected."""

    def __init__(self, width=1280, height=1400, dark=False):
        self.profile = tempfile.mkdtemp(prefix="certiclust-browser-")
        reads, self._write = os.pipe()
        self._read, writes = os.pipe()
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--mute-audio"]
        flags += ["--disable-dev-shm-usage", "--disable-background-networking", f"--user-data-dir={self.profile}"]
        flags += [f"--window-size={width},{height}", "--remote-debugging-pipe", "about:blank"]

        def leash():
            """Make the pipes file descriptors 3 and 4, as the protocol wants them."""
            ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reads, writes)]
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self.process = subprocess.Popen(
            [find_chromium(), *flags],
            preexec_fn=leash,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(reads)
        os.close(writes)
        self._rest, self._number, self.events = b"", 0, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        if dark:
            self.media("screen", dark=True)

    session = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self._write)
        os.close(self._read)
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def _next(self):
        end = monotonic() + SECONDS
        while b"\0" not in self._rest:
            assert monotonic() < end, "Chromium does not answer"
            part = os.read(self._read, 1 << 16)
            assert part, "Chromium has gone"
            self._rest += part
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, fragment=""):
        url = path.resolve().as_uri()
        self.call("Page.navigate", url=f"{url}{fragment}")
        self.wait(f"location.href.startsWith({url!r}) && document.documentElement?.dataset.ready === 'true'")

    def wait(self, condition):
        end = monotonic() + SECONDS
        while not self.read(condition):
            assert monotonic() < end, f"never came true: {condition}; {self.complaints()}"
            sleep(0.02)

    def read(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self, identity):
        return self.read(f"document.getElementById({identity!r}).textContent")

    def press(self, key, code=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def click(self, identity):
        box = self.read(
            f"(() => {{ const b = document.getElementById({identity!r}).getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def media(self, media, dark=False):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def complaints(self):
        """Everything that the console said and every error of a script."""
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self):
        """The addresses that were asked for."""
        sent = [event for event in self.events if event.get("method") == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in sent]

    def screenshot(self, path, full=True):
        image = self.call("Page.captureScreenshot", captureBeyondViewport=full)["data"]
        path.write_bytes(b64decode(image))

    def pdf(self, path):
        path.write_bytes(b64decode(self.call("Page.printToPDF", printBackground=True)["data"]))
