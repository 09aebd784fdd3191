"""Compiled kernels of the forgetful trees."""
