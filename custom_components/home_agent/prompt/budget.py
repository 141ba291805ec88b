"""How the model's context window is shared out. The one place that decides what is dropped when it is too long.

In this order: oldest rounds of history, attributes, entities and passages that were looked up, detail of the home map. What
stands later in it takes its room first: the map what the others are not sure of, states what the map leaves, history what
both leave. Nothing here ever fails a turn.
"""

from dataclasses import dataclass, fields, replace


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Tokens per room of the prompt."""

    prompt: int
    """Everything besides the instructions and the tools."""
    home_map: int
    """The catalogue of the home where everything is told; the same in every turn, whatever else is said in it."""
    small_map: int
    """The same where entities are looked up."""
    states: int
    """At most; what the home map leaves of the prompt besides `kept`, if that is less."""
    kept: int
    """No states are told with it in a first turn part: blocks are sure of it, and after them what is said."""
    found: int
    """States that are looked up for the first request of a conversation."""
    found_later: int
    """For each later one."""
    history: int
    """At most; what the home map and the new turn part leave, if that is less."""
    blocks: int
    """Passages of documents, events."""

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
            kept=0,
            history=0,
            blocks=0,
        )

    def within(self, other: Budget) -> Budget:
        """Return the smaller of both shares in each room."""
        return Budget(**{room.name: min(getattr(self, room.name), getattr(other, room.name)) for room in fields(self)})
