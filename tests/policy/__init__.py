"""Tests of the room `safety`."""
