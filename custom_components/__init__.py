"""Home Assistant looks for custom integrations in this package."""
