"""Local search where coefficients are free: of blocks, and of subsets of columns."""
