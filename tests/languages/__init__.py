"""Tests of the room `languages`."""
