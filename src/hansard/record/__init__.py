"""The format: bytes in, bytes out. No clock, no disk, no rules of debate."""
