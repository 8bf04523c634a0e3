"""The rules: pure functions over the events of one debate."""
