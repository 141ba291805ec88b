"""Where a person is told something that no one has asked just now: at the satellite of the wish, on their phones, or in a notification."""

from enum import StrEnum
import re

from homeassistant.components import persistent_notification
from homeassistant.core import Context, HomeAssistant

from ..languages.phrases import ReplyKind, read_answer
from ..policy import satellites
from ..policy.phones import async_notify, phones_of
from ..policy.policy import Policy
from ..support.encoding import as_markdown
from ..wishes.wish import Wish

PREFIX = "home_agent_wish_"
LONGEST = 1_000  # characters
_CLAUSE = re.compile(r"[.,;:!?\n]+")


class Ear(StrEnum):
    """Where something was told."""

    SATELLITE = "satellite"
    PHONE = "phone"
    NOTIFICATION = "notification"


def notification_of(wish: Wish) -> str:
    """Return the id of the notification that tells of a wish, and the tag of that on phones."""
    return f"{PREFIX}{wish.id}"


async def async_tell(hass: HomeAssistant, policy: Policy, wish: Wish, text: str, context: Context, title: str) -> Ear:
    """Tell a text in one place, the first that takes it. It is text, and no template: what a person said may be in it."""
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    satellite = satellites.satellite_of(hass, wish.device_id, wish.satellite_id)
    if satellite is not None and _may_say(hass, policy, wish, satellite, text):
        is_free = await satellites.async_free(hass, satellite)
        if is_free and await satellites.async_announce(hass, satellite, text, context):
            return Ear.SATELLITE
    told = [
        await async_notify(
            hass, phone, {"title": title, "message": text, "data": {"tag": notification_of(wish)}}, context
        )
        for phone in phones_of(hass, wish.user_id)
    ]
    if any(told):
        return Ear.PHONE
    persistent_notification.async_create(hass, as_markdown(text), as_markdown(title), notification_of(wish))
    return Ear.NOTIFICATION


def _may_say(hass: HomeAssistant, policy: Policy, wish: Wish, satellite: str, text: str) -> bool:
    """Return whether a satellite can say a text now: it could be taken for the answer to a question that is open."""
    if not satellites.can(hass, satellite, satellites.ANNOUNCES):
        return False
    if not (waiting := policy.confirmations.open()):
        return True
    if any({item.turn.device_id, item.turn.satellite_id} & ({wish.device_id, satellite} - {None}) for item in waiting):
        return False
    said = (part for part in _CLAUSE.split(text) if part.strip())
    languages = {wish.language, hass.config.language}
    return all(read_answer(part, code).kind is not ReplyKind.YES for part in said for code in languages)
