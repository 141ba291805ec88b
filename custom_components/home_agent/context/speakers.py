"""Who said what in a conversation that several people, and several assistants, may talk in."""

from homeassistant.components.conversation import Content

from ..conversations.base import Owner


class Speakers:
    """Who said what in one conversation, whichever of our assistants heard it."""

    def __init__(self, *, guarded: bool = True) -> None:
        """Know nobody yet. `guarded`: nobody but whoever began the conversation gets into it."""
        self._said: dict[int, tuple[Content, str | None, str | None]] = {}
        """By `id()`, which stays its own as long as the message is held here."""
        self._guarded = guarded

    def heard(self, question: Content, owner: Owner) -> None:
        """Take note of a message."""
        self._said[id(question)] = (question, owner.user_id, owner.device_id)

    def is_of(self, question: Content, owner: Owner) -> bool:
        """Return whether a message is somebody's. What another agent heard is theirs if nobody else gets in."""
        if (known := self._said.get(id(question))) is None:
            return self._guarded
        return known[1:] == (owner.user_id, owner.device_id)
