"""Tools that an administrator wrote."""
