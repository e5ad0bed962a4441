"""The command line. Nothing here loads pyspark until a command needs it, so that --help answers at once."""

from rollview.cli.app import app, main

__all__ = ["app", "main"]
