"""Commands that are no package's own: of studies, of solvers, and lists of what there is."""
