"""The line that `verbose` shows: time, iterations, best cost, lower bound, gap."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import inf, isfinite
from typing import TYPE_CHECKING, Any

from certiclust.evolution import Progress
from certiclust.solver import Callbacks

if TYPE_CHECKING:
    from rich.live import Live

#: Seconds between two states shown, on a terminal and as lines of a file.
LIVE, PLAIN = 0.1, 1.0


@contextmanager
def shown_progress(verbose: int, name: str) -> Iterator[Callbacks]:
    """Show the progress of a solver on stderr: a live line on a terminal, plain lines elsewhere, or nothing.

    Parameters
    ----------
    verbose : int
        0 for nothing; then nothing is imported either, and there are no callbacks.
    name : str
        What is solved.

    Yields
    ------
    tuple of callable
        What the solver has to call.
    """
    if not verbose:
        yield ()
        return
    line = ProgressLine(name)
    try:
        yield (line,)
    finally:
        line.close()


class ProgressLine:
    """A callback of the solver's record.

    Parameters
    ----------
    name : str
        What is solved; stands first.
    console : rich Console or None
        Where to; stderr by default.
    """

    def __init__(self, name: str, console: Any = None) -> None:
        from rich.console import Console
        from rich.live import Live

        self.name = name
        self.console = Console(stderr=True, highlight=False) if console is None else console
        self._live: Live | None = None
        if self.console.is_terminal:
            self._live = Live(console=self.console, auto_refresh=False)
            self._live.start()
        self._shown = -inf
        self._waiting: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        """Show the state, unless the last one is too recent."""
        self._waiting = progress
        if progress.seconds - self._shown >= (PLAIN if self._live is None else LIVE):
            self._show(progress)

    def close(self) -> None:
        """Show the last state, and end the line."""
        if self._waiting is not None:
            self._show(self._waiting)
        if self._live is not None:
            self._live.stop()

    def _show(self, progress: Progress) -> None:
        from rich.text import Text

        self._shown, self._waiting = progress.seconds, None
        text = f"{self.name}  {said(progress)}"
        if self._live is None:
            self.console.print(Text(text), soft_wrap=True)
        else:
            text = fitting(self.name, progress, self.console.width)
            self._live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)


def fitting(name: str, progress: Progress, width: int) -> str:
    """Return the state as a line that fits the width, if any does: all figures, fewer digits, then less of the name."""
    short = said(progress, short=True)
    lines = (f"{name}  {said(progress)}", f"{name}  {short}", f"{name.split(', ')[-1]}  {short}", short)
    return next((line for line in lines if len(line) <= width), short)


def said(progress: Progress, short: bool = False) -> str:
    """Return the state of a search as one line, or as a short one."""
    parts = [f"{progress.seconds:6.1f} s", f"{progress.iteration:,} iterations"]
    if short:
        parts = [f"{progress.seconds:.1f} s", f"{_rounded(progress.iteration)} iter."]
    if isfinite(progress.upper):
        parts.append(f"cost {progress.upper:.6g}" if short else f"cost {progress.upper:.8g}")
        if progress.lower > 0:
            gap = max(0.0, progress.upper / progress.lower - 1.0)
            bound = f"bound {progress.lower:.6g}" if short else f"lower bound {progress.lower:.8g}"
            parts += [bound, f"gap {gap:.2%}"]
    return "  ".join(parts)


def _rounded(count: int) -> str:
    """Return a count with three digits and its thousands as a letter."""
    for unit, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k")):
        if count >= unit:
            return f"{count / (1000 if letter == 'k' else unit):.3g}{letter}"
    return str(count)
