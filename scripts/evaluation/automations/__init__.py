"""Automations that are asked for: whether they come to be, do in a week what was meant, and nothing that must not be."""

from .judge import Judged, compare
from .report import as_json, failures, render
from .run import ATTACKS, BROKEN, KINDS, REQUESTS, Choice, run

__all__ = [
    "ATTACKS",
    "BROKEN",
    "KINDS",
    "REQUESTS",
    "Choice",
    "Judged",
    "as_json",
    "compare",
    "failures",
    "render",
    "run",
]
