"""Wishes that wait: said once, done once, then gone. What they are, where they are kept, and when they are due."""
