"""Checking a record: numbered steps, each with its evidence."""
