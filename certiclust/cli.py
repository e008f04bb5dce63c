"""The command line."""

from __future__ import annotations

from typing import Annotated

import typer

from certiclust import __version__
from certiclust.demo import run_demo

app = typer.Typer(help="Clustering that comes with a proof.", no_args_is_help=True, add_completion=False)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"certiclust {__version__}")
        raise typer.Exit()


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Clustering that comes with a proof."""


@app.command()
def demo() -> None:
    """Fit all five problems on embedded data, print what was proved, save a certificate and verify it again."""
    run_demo()
