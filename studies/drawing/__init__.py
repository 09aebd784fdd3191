"""Figures: their style, and what several of them draw."""
