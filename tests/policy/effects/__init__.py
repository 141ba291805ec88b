"""Tests of kinds of effects."""
