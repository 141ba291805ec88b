"""Tests of the room `local`."""
