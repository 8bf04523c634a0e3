"""Exports: a record in one file that carries everything needed to check it."""
