"""Tests of the room `context`."""
