"""Problems in other forms: explicit columns, least squares in binaries, programs for engines."""
