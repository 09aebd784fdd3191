"""Streams of labelled rows: synthetic ones with known drifts, real ones, and one's own file."""
