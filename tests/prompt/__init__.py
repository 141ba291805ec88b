"""Tests of the room `prompt`."""
