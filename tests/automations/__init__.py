"""Tests of the room `automations`."""
