"""Numbers in sentences."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """Return a number of things in words.

    Examples
    --------
    >>> counted(1, "node"), counted(1200, "iteration")
    ('1 node', '1,200 iterations')
    """
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
