"""Pruned ensembles on their way out: files, other libraries, text."""
