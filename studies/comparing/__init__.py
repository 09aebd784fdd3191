"""What the outcomes of contests say: who is ahead, by how much, and beside what is published."""
