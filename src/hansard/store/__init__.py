"""The shelf: the only place that knows `eventsourcing`."""
