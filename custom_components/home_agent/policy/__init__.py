"""What may happen, what needs a yes, what became of it, and the way back."""
