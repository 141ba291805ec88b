"""Attempts to make the agent act without right. Each is one case; passing means that nothing of it got through."""
