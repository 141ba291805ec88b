"""Tools for automations: read, looked up, tried and changed."""
