"""Tests of the room `custom`."""
