"""How the model's context window is shared out. The one place that decides what is dropped when it is too long.

In this order: oldest rounds of history, attributes, entities, detail of the home map. Nothing here ever fails a turn.
"""

from dataclasses import dataclass

from ..client.base import EndpointConfig
from ..profiles.profile import Profile

DEFAULT_ANSWER_TOKENS = 1024
INSTRUCTION_TOKENS = 1200  # default prompt, tool schemas and the little things of a turn
MIN_PROMPT_TOKENS = 512

_MAP_SHARE = 0.4
_STATES_SHARE = 0.35
_HISTORY_SHARE = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens per room of the prompt."""

    home_map: int
    states: int
    history: int

    def tightened(self) -> Budget:
        """Return what is left after the model said the request was too long: no history, half of the states."""
        return Budget(home_map=self.home_map, states=self.states // 2, history=0)


def budget_for(config: EndpointConfig, profile: Profile) -> Budget:
    """Return the shares for an endpoint's window, less what its answer needs."""
    answer = config.max_tokens or min(DEFAULT_ANSWER_TOKENS, config.context_window // 4)
    prompt = max(MIN_PROMPT_TOKENS, config.context_window - answer - INSTRUCTION_TOKENS)
    history = min(profile.history_max_tokens, round(prompt * _HISTORY_SHARE)) if profile.history_enabled else 0
    return Budget(home_map=round(prompt * _MAP_SHARE), states=round(prompt * _STATES_SHARE), history=history)
