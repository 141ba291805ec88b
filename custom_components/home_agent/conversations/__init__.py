"""What was said, kept across sessions and restarts."""
