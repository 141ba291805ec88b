"""The owner's own tools: requests to other computers, actions of the house, templates."""
