"""Evaluations with data from outside the project; scripts/eval."""
