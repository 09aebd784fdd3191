"""`forestprune stream`: a forgetful model on one's own stream."""
