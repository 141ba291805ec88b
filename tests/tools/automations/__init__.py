"""Tools of agents that write automations."""
