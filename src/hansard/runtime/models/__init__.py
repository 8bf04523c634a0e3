"""Models: whatever answers a seat's call, behind one narrow seam (`base`)."""
