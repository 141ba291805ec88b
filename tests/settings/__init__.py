"""Tests of the room `profiles`."""
