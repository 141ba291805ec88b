"""How the model's context window is shared out. The one place that decides what is dropped when it is too long.

In this order: oldest rounds of history, attributes, entities and passages that were looked up, detail of the home map.
Nothing here ever fails a turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
import math

from ..client.base import EndpointConfig, ToolSpec
from ..client.tokens import raw_estimate
from ..client.wire import dump
from ..profiles.profile import Profile
from .history import Limits

DEFAULT_ANSWER_TOKENS = 1024
FIXED_STEP = 400  # tokens; instructions and tools are counted in such steps, so that shares do not move with a word
DEFAULT_PROMPT_TOKENS = 550
SPARE_TOKENS = 200  # the question, time and place, what a chat template adds
MIN_PROMPT_TOKENS = 512

_MAP_SHARE = 0.35
_STATES_SHARE = 0.3
_HISTORY_SHARE = 0.25
_BLOCKS_SHARE = 0.1

# What is looked up costs little, however large the window is: that is its purpose.
SMALL_MAP_TOKENS = 1000
TOKENS_PER_ENTITY = 26  # an entity that is told for the first time, with its name; later turns bring half as many
LEAST_TOKENS = 120  # for a few entities with long names and all that is to be said of them
MAX_BLOCKS_TOKENS = 800


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens per room of the prompt."""

    prompt: int
    """Everything besides the instructions and the tools."""
    home_map: int
    """The catalogue of the home where everything is told."""
    small_map: int
    """The same where entities are looked up."""
    states: int
    found: int
    """States that are looked up for the first request of a conversation."""
    found_later: int
    """For each later one."""
    history: int
    blocks: int
    """Knowledge, memories, happenings."""

    @property
    def limits(self) -> Limits:
        """What of the conversation is sent. Turn parts of earlier rounds take of the room for states and passages."""
        return Limits(words=self.history, tokens=self.history + self.states + self.blocks if self.history else 0)

    def tightened(self, map_tokens: int, told_tokens: int) -> Budget:
        """Return what is left after the model said the request was too long: no history, no passages, half of the rest.

        Half of what was sent, if that is less: the window may be smaller than anybody knows.
        """
        home_map, part = map_tokens // 2, told_tokens // 2
        return replace(
            self,
            home_map=min(self.home_map // 2, home_map),
            small_map=min(self.small_map // 2, home_map),
            states=min(self.states // 2, part),
            found=min(self.found // 2, part),
            found_later=min(self.found_later // 2, part),
            history=0,
            blocks=0,
        )

    def within(self, other: Budget) -> Budget:
        """Return the smaller of both shares in each room."""
        return Budget(**{room.name: min(getattr(self, room.name), getattr(other, room.name)) for room in fields(self)})


def budget_for(window: int, config: EndpointConfig, profile: Profile, tools: Sequence[ToolSpec]) -> Budget:
    """Return the shares of a window (in tokens), less what the answer, the instructions and the tools need."""
    answer = config.max_tokens or min(DEFAULT_ANSWER_TOKENS, window // 4)
    prompt = max(MIN_PROMPT_TOKENS, window - answer - _fixed_tokens(profile, tools))
    home_map, states = round(prompt * _MAP_SHARE), round(prompt * _STATES_SHARE)
    history = min(profile.history_max_tokens, round(prompt * _HISTORY_SHARE)) if profile.history_enabled else 0
    found = max(LEAST_TOKENS, profile.context_max_entities * TOKENS_PER_ENTITY)
    return Budget(
        prompt=prompt,
        home_map=home_map,
        small_map=min(home_map, SMALL_MAP_TOKENS),
        states=states,
        found=min(states, found),
        found_later=min(states, max(LEAST_TOKENS, found // 2)),
        history=history,
        blocks=min(MAX_BLOCKS_TOKENS, round(prompt * _BLOCKS_SHARE)),
    )


def _fixed_tokens(profile: Profile, tools: Sequence[ToolSpec]) -> int:
    """Return what is sent whatever the house is like: instructions, tools, and the little things of a turn."""
    own = profile.prompt_additions if profile.use_default_prompt else profile.custom_prompt + profile.prompt_additions
    tokens = raw_estimate(dump(tools)) + raw_estimate(own.encode("utf-8", "replace"))
    tokens += DEFAULT_PROMPT_TOKENS if profile.use_default_prompt else 0
    return math.ceil(tokens / FIXED_STEP) * FIXED_STEP + SPARE_TOKENS
