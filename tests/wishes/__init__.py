"""Wishes that wait: when they are due, how they are kept, and what becomes of them."""
