"""What may happen: exposure, permission, confirmation, limits and audit of every action, at the moment of the call."""
