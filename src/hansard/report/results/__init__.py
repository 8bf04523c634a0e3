"""What became of a debate: what all formats share, and one result class for each."""
