"""Ctrl-C as a request to finish: nothing that was found is lost."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def catch_interrupt() -> Iterator[Callable[[], bool]]:
    """Turn the first SIGINT into a flag that the search polls; a second one raises KeyboardInterrupt as usual.

    Nested uses share the outermost handler. Outside the main thread, where Python delivers no signals, and where the
    program has its own handler, nothing is changed and the flag stays false.

    Examples
    --------
    >>> with catch_interrupt() as interrupted:
    ...     interrupted()
    False
    """
    flag = threading.Event()
    previous = signal.getsignal(signal.SIGINT)
    if isinstance(previous, _Handler):
        yield previous.flag.is_set
        return
    if threading.current_thread() is not threading.main_thread() or previous is not signal.default_int_handler:
        yield flag.is_set
        return
    signal.signal(signal.SIGINT, _Handler(flag))
    try:
        yield flag.is_set
    finally:
        signal.signal(signal.SIGINT, previous)


class _Handler:
    """Set the flag, and let the next signal through."""

    def __init__(self, flag: threading.Event) -> None:
        self.flag = flag

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if self.flag.is_set():
            signal.default_int_handler(signum, frame)
        self.flag.set()
