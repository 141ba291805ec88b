"""What is known beforehand about endpoints and model families.

A wrong guess costs one refused request: what an endpoint refuses is learned (dialect.py).
"""

from dataclasses import dataclass
import re

_REASONING = re.compile(r"(^|/)(o[1-9](-|$)|gpt-5(?!.*chat))", re.IGNORECASE)
"""OpenAI's reasoning models: `max_completion_tokens`, and only the default temperature."""
_BEGINS_INSIDE = re.compile(r"deepseek-r1|qwq|[-:_]thinking|-reasoner?\b", re.IGNORECASE)
"""Models whose chat template often ends with `<think>`, so that the answer begins inside the thinking."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """How an endpoint with a model wants to be asked."""

    max_tokens: str = "max_tokens"
    """Name of the parameter that limits the answer."""
    sampling: bool = True
    """Takes `temperature` and `top_p`."""
    keep_alive: bool = False
    tool_choice_none: bool = False
    """Knows `tool_choice: none`, and obeys it."""
    stream_options: bool = True
    user: bool = False
    """Takes `user`, which keeps a conversation at one cache."""
    begins_inside_thinking: bool = False


def traits_for(preset: str, model: str) -> Traits:
    """Return what is known about a preset's endpoint with this model."""
    reasoning = preset in {"openai", "azure", "openrouter", "custom"} and _REASONING.search(model) is not None
    return Traits(
        max_tokens="max_completion_tokens" if reasoning else "max_tokens",
        sampling=not reasoning,
        keep_alive=preset in {"ollama", "custom"},
        tool_choice_none=preset in {"openai", "azure", "openrouter", "vllm", "llama_cpp", "lm_studio"},
        user=preset in {"openai", "azure", "openrouter"},
        begins_inside_thinking=_BEGINS_INSIDE.search(model) is not None,
    )
