"""A home with the real services of its domains."""

from tests.entities import demo_house, demo_platforms, home, put, turn, user

__all__ = ["demo_house", "demo_platforms", "home", "put", "turn", "user"]
