"""What a tool collection tells models about its tools, without what changes from turn to turn or is told already."""

import re

from homeassistant.components.homeassistant import llm as inventory
from homeassistant.helpers import llm

from .result import shortened

MAX_GUIDE = 4000
_INVENTORY = re.compile(r"^Static Context:.*\n(?:(?:- |  ).*\n?)*", re.MULTILINE)
"""The list of all exposed entities: our own home map has them."""
_DEVICE = re.compile(
    r"^(?:You are in area |When a user asks to turn on all devices |This device is not able to start timers).*\n?",
    re.MULTILINE,
)
"""What depends on the asking device: where it stands is told with each question, and timers are tools or are not there."""
_HOW_TO_READ: tuple[str, ...] = tuple(
    text for name in ("DYNAMIC_CONTEXT_PROMPT",) if isinstance(text := getattr(inventory, name, None), str)
)
"""That states have to be looked up: they are told with each question."""


def stable_guide(instance: llm.APIInstance) -> str | None:
    """Return the instructions of an API as far as they are the same for every turn; None when nothing is left."""
    text = instance.api_prompt
    for part in _HOW_TO_READ:
        text = text.replace(part, "")
    text = _DEVICE.sub("", _INVENTORY.sub("", text)).strip()
    return shortened(text, MAX_GUIDE) if text else None
