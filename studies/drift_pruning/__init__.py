"""The study `drift-pruning`: what pruning does to a forgetful forest while its stream drifts.

Nothing is imported here: every cell is a process of its own that would import it all.
"""
