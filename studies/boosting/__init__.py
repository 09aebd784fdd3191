"""The study `boosting`: error against nodes along whole paths (FP §4, Figure 5).

Nothing is imported here: every cell is a process of its own that would import it all.
"""
