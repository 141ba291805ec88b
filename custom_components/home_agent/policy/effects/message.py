"""A message to a person: on the phones of its receiver, or as a notification in Home Assistant."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, ClassVar, Self, override

from homeassistant.components import persistent_notification
from homeassistant.core import Context, HomeAssistant
from homeassistant.util.json import JsonObjectType
from homeassistant.util.ulid import ulid_now

from ...home.judgement import Judgement
from ...home.wording import MAX_NAME
from ...languages.data import data_of
from ...support.const import DOMAIN
from ...support.encoding import as_markdown
from ...support.errors import ToolError
from ...support.localize import async_text
from ...support.quoting import one_line, short_name
from ...turn.plan import DESTRUCTIVE, Effect, Reach
from ..phones import async_notify, phones_of
from .effect import Before, EffectKind, Moment

SEND_MESSAGE = "send_message"
PREFIX = "home_agent_message_"
LONGEST = 1_000  # characters of a message
_ASKED = 300  # characters of a message in a question
_TEXTS = {Moment.ASKED: "confirm_send_message", Moment.PAST: "done_send_message", Moment.DONE: "message_sent"}


class Way(StrEnum):
    """How a message reaches its receiver."""

    PHONE = "phone"
    NOTIFICATION = "notification"
    """In Home Assistant, where all users see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageSent(Effect):
    """One message to one person; `data` has `user_id`, `name`, `message`, `title`, `way`, and whether it goes to another person."""

    kind: ClassVar[str] = "message"
    domain: str = DOMAIN
    service: str = SEND_MESSAGE

    @classmethod
    @override
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        row = dict(data["data"])
        Way(row["way"])
        return cls(service=str(data["service"]), data=row)

    @property
    @override
    def subjects(self) -> tuple[str, ...]:
        return (f"message:{self.data['user_id']}",)


class MessageKind(EffectKind[MessageSent]):
    """A message is sent once, and cannot be taken back."""

    effect = MessageSent
    changes_home: ClassVar[bool] = False
    activity: ClassVar = {f"{DOMAIN}.{SEND_MESSAGE}": "activity_send_message"}

    @override
    def judge(self, hass: HomeAssistant, effect: MessageSent) -> Judgement:
        """Return that a message to another person needs a yes; one to who speaks only once text from outside was read."""
        reasons = (DESTRUCTIVE,) if effect.data.get("to_other", True) else ()
        return Judgement(reasons=reasons, reach=Reach(wary=True))

    @override
    async def async_execute(self, hass: HomeAssistant, effect: MessageSent, subject: str, context: Context) -> None:
        """Send it. Raises `ToolError` if no phone takes it."""
        message, title = str(effect.data["message"]), str(effect.data.get("title", ""))
        if effect.data["way"] == Way.NOTIFICATION:
            tag = f"{PREFIX}{ulid_now()}"
            persistent_notification.async_create(hass, as_markdown(message), as_markdown(title), tag)
            return
        data = {"title": title, "message": message}
        phones = phones_of(hass, str(effect.data["user_id"]))
        sent = await asyncio.gather(*(async_notify(hass, phone, {**data}, context) for phone in phones))
        if not any(sent):
            raise ToolError("message_failed", name=str(effect.data["name"]))

    @override
    def reverse(self, hass: HomeAssistant, effect: MessageSent, before: Before | None) -> Sequence[Effect] | None:
        return None

    @override
    def kept(self, effect: MessageSent, entity_ids: Collection[str]) -> MessageSent:
        """Return it without its words."""
        return replace(effect, data={**effect.data, "message": "", "title": ""})

    @override
    def label(self, effect: MessageSent, subject: str) -> str:
        return short_name(str(effect.data["name"]), MAX_NAME)

    @override
    def told(self, hass: HomeAssistant, effect: MessageSent) -> JsonObjectType:
        return {"action": effect.action, "to": str(effect.data["name"]), "way": str(effect.data["way"])}

    @override
    async def async_describe(self, hass: HomeAssistant, language: str, effect: MessageSent, moment: Moment) -> str:
        if (key := _TEXTS.get(moment)) is None:
            return ""
        begin, end = data_of(language).quotes
        message = one_line(str(effect.data["message"]), _ASKED)
        return await async_text(
            hass, language, key, name=self.label(effect, ""), message=f"{begin}{message}{end}" if message else "…"
        )


MESSAGES = MessageKind()
