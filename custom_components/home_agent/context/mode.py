"""How the model learns of states: all of them at once, those that a request is about, or none."""

from enum import StrEnum


class Mode(StrEnum):
    """What one conversation does; `auto` becomes one of these with its first turn."""

    DIRECT = "direct"
    """Everything that is exposed or listed, then what changed."""
    RETRIEVED = "retrieved"
    """What the request seems to be about."""
    BOTH = "both"
    """What is listed, and of everything else what the request seems to be about."""
    OFF = "off"

    @property
    def lists(self) -> bool:
        """Whether entities are told that nobody asked for."""
        return self in (Mode.DIRECT, Mode.BOTH)

    @property
    def looks_up(self) -> bool:
        """Whether entities are looked for with each request."""
        return self in (Mode.RETRIEVED, Mode.BOTH)


AUTO = "auto"
AUTO_TOKENS = 8000
"""Names and states together, up to which `auto` tells everything. A larger window would take more, but all of it is read,
and paid for, with each new conversation."""
