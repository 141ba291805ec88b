"""What the model is told about the house: what is there, how it is, and what it was already told."""
