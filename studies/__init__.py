"""Experiments that anyone can run again, and the command line that runs them."""

DISTRIBUTION = "forestprune"
