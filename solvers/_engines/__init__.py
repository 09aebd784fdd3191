"""Other people's solvers, in a process of their own."""
