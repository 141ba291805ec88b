"""Tests of the room `retrieval`."""
