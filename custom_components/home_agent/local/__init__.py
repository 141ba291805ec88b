"""The home answers by itself."""
