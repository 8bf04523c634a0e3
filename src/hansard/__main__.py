"""`python -m hansard` is `hansard`."""

from hansard.cli.main import run

run()
