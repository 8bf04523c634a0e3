"""`python -m hansard` is `hansard`."""

from hansard_entry import run

run()
