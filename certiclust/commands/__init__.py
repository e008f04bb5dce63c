"""What the commands do, apart from how they are typed: fit, sweep, verify and theory, to words and files."""

from certiclust.commands.run import Run, run_fit, run_sweep
from certiclust.commands.verify import run_verify

__all__ = ["Run", "run_fit", "run_sweep", "run_verify"]
