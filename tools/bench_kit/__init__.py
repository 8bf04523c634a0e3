"""What tools/bench measures, and how."""
