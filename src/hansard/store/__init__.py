"""Debates as they are kept: the only place that knows `eventsourcing`."""
