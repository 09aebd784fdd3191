"""What all competitors share."""
