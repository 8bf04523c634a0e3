"""The effects: the only place with a clock, chance and models."""
