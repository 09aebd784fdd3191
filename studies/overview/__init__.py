"""`forestprune study report`: all studies run so far, on one page and in one LaTeX file."""
