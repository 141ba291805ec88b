"""Evaluations with data from outside the project; scripts/eval."""

from tests import next_plugin  # noqa: F401 - before the package of tests, which is not made for the second release
