"""Packaged examples: what `hansard init` writes and `hansard demo` runs."""
