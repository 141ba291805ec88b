"""What was done, by whom and from which words; and how it is taken back."""
