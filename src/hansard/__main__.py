"""`python -m hansard` is `hansard`."""

from hansard.cli.entry import run

run()
