"""What the model may do: one tool per file."""
