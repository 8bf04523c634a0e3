"""Structured debates between language models, with a record that proves itself."""
__version__ = "0.1.0"
