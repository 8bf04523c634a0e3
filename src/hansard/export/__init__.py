"""Records leave the house: exports that carry all that is needed to check them."""
