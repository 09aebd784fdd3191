"""Searches on matrices of products, for best subsets of trees."""
