"""Compiled passes of rows through trees."""
