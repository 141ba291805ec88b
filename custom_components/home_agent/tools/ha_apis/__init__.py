"""Tools of Home Assistant's own LLM APIs."""
