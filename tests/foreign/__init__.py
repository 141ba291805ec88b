"""Tools of others."""
