"""The words of the system message: ours or the owner's, and the owner's additions."""

from collections.abc import Iterable

from homeassistant.core import HomeAssistant

from ..turn import Turn
from .default import default_prompt
from .template import render_prompt


def instructions(
    hass: HomeAssistant, turn: Turn, tool_names: frozenset[str], guides: Iterable[str] = (), *, looks_up: bool = False
) -> str:
    """Return the instructions for this conversation; the same words for the same profile and tools.

    `guides` are what tools of others say about themselves, `looks_up` whether states are told by request. Raises
    `PromptTemplateError`.
    """
    profile = turn.profile
    own = "" if profile.use_default_prompt else render_prompt(hass, profile.custom_prompt, turn)
    additions = render_prompt(hass, profile.prompt_additions, turn)
    return "\n\n".join(
        part for part in (own or default_prompt(tool_names, looks_up=looks_up), *guides, additions) if part
    )
