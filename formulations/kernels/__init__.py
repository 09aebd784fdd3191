"""Compiled passes over leaf codes and nodes, and the block view built on them."""
