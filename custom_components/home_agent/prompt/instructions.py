"""The words of the system message: ours or the owner's, and the owner's additions."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from homeassistant.core import HomeAssistant

from ..const import LOGGER
from ..errors import PromptTemplateError
from ..turn import Turn
from .default import default_prompt
from .service import ProcessedPrompt
from .template import render_prompt


@dataclass(frozen=True, slots=True)
class Instructions:
    """What stands in the system message, and why a prompt of the owner's stands there as it was written."""

    text: str
    error: PromptTemplateError | None = None


def instructions(
    hass: HomeAssistant,
    turn: Turn,
    tool_names: frozenset[str],
    guides: Iterable[str] = (),
    *,
    looks_up: bool = False,
    process: Callable[[str], ProcessedPrompt] | None = None,
) -> Instructions:
    """Return the instructions for this conversation; the same words for the same profile and tools.

    `guides` are what tools of others say about themselves, `looks_up` whether states are told by request. `process`
    fills the owner's prompts in; without it they are plain templates. One that does not render stays as it was written.
    """
    profile = turn.profile
    process = process or (lambda prompt: plain(hass, prompt, turn))
    own = process(profile.custom_prompt) if profile.custom_prompt.strip() and not profile.use_default_prompt else None
    additions = process(profile.prompt_additions) if profile.prompt_additions.strip() else None
    words = (own.prompt if own else "") or default_prompt(tool_names, looks_up=looks_up)
    text = "\n\n".join(part for part in (words, *guides, additions.prompt if additions else "") if part)
    return Instructions(text, next((item.error for item in (own, additions) if item and item.error), None))


def plain(hass: HomeAssistant, prompt: str, turn: Turn) -> ProcessedPrompt:
    """Return a prompt that is a plain template, rendered."""
    try:
        return ProcessedPrompt(prompt=render_prompt(hass, prompt, turn))
    except PromptTemplateError as err:
        LOGGER.error("The prompt of %s could not be processed", turn.profile.name)
        return ProcessedPrompt(prompt=prompt.strip(), error=err)
