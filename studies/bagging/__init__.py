"""The study `bagging`: random forests pruned to an allowed rise of the error (FP §4, Figure 4).

Nothing is imported here: every cell is a process of its own that would import it all.
"""
