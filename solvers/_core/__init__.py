"""What a solver is, and how one is called, judged and followed along a path."""
