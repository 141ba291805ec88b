"""What is said for later, in homes of a folder: whether it waits as it was meant, and whether nothing of it is done at once."""

from .judge import Outcome, Verdict, judge, judge_guard, judge_plan
from .report import as_json, failures, render
from .run import GUARD, KINDS, PLANS, WISHES, Choice, Said, run

__all__ = [
    "GUARD", "KINDS", "PLANS", "WISHES", "Choice", "Outcome", "Said", "Verdict", "as_json", "failures", "judge", "judge_guard",
    "judge_plan", "render", "run",
]  # fmt: skip
