"""Requests to other computers: which of them may be asked, how long and how much, and what proves who we are."""
