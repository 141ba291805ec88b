"""What was said, and what a model was told with it."""
