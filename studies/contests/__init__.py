"""One fold of a data set: an ensemble on it, and many methods that make it smaller."""
