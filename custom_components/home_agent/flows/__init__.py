"""The forms."""
