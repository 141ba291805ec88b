"""Tests of the room for automations."""
