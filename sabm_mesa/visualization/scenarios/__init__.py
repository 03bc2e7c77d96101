"""What is particular to the pages of single scenarios."""
