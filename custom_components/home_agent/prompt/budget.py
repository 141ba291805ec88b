"""How the model's context window is shared out: the home map takes its room first, then states, then the history."""

from dataclasses import dataclass, fields, replace

SPARE_TOKENS = 200  # the question, time and place, what a chat template adds
FIXED_STEP = 200  # tokens; instructions and tools are counted in such steps, so that shares do not move with a word
LEAST_TOKENS = 120  # for a few entities with long names and all that is to be said of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens for each part of the prompt."""

    prompt: int  # everything besides the instructions and the tools
    home_map: int
    small_map: int
    states: int  # at most; what the home map leaves of the prompt besides `kept`, if that is less
    kept: int
    """A first turn part tells no states with these: they are for blocks, and after them for what is said."""
    found: int  # states that are looked up for the first request of a conversation
    found_later: int
    history: int  # at most; what the home map and the new turn part leave, if that is less
    blocks: int

    def tightened(self, map_tokens: int, told_tokens: int) -> Budget:
        """Return the budget after the model refused a request as too long: half of it, or of what was sent if that is less."""
        home_map, part = map_tokens // 2, told_tokens // 2
        return replace(
            self,
            home_map=min(self.home_map // 2, home_map),
            small_map=min(self.small_map // 2, home_map),
            states=min(self.states // 2, part),
            found=min(self.found // 2, part),
            found_later=min(self.found_later // 2, part),
            kept=0,
            history=0,
            blocks=0,
        )

    def within(self, other: Budget) -> Budget:
        """Return the smaller of both shares for each part."""
        return Budget(**{part.name: min(getattr(self, part.name), getattr(other, part.name)) for part in fields(self)})
