"""How problems with free coefficients are solved.

A file that is named as a solver, or as a family of engines (`conic`, `mip`), holds the companion
class; `descending` and `relaxing` are what several of them work with.
"""
