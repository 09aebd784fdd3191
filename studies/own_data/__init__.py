"""`forestprune prune` and `forestprune predict`: a model for one's own table."""
