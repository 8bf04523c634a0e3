"""What people see of a debate: one view, several forms."""
