"""The wire to a model."""
