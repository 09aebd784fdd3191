"""Problems written for other software."""
