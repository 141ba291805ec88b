"""`send_message_to_user`: a text to a person of the home, on their phones or as a notification."""

from collections.abc import Mapping
from typing import Any, override

from homeassistant.auth.models import User
from homeassistant.core import HomeAssistant
from homeassistant.helpers import llm
from homeassistant.util.json import JsonObjectType
import probatio

from ...home.exposure import is_exposed
from ...home.foreign import PERSON
from ...policy.effects.message import LONGEST, MessageSent, Way
from ...policy.phones import phones_of
from ...policy.write import EffectTool, PlanBuilder
from ...support.errors import ToolRefusal
from ...support.nearness import likeness
from ...support.text import phrase
from ...turn.plan import Plan
from ...turn.turn import Turn
from ..arguments import LenientSchema

MAX_NAME = 255
MAX_NEAR = 3
NEAR = 0.3  # likeness of a name that is offered instead
_SELF = frozenset({"", "me", "myself", "user", "the user", "i", "self", "none", "null"})
_ALSO = {
    "text": "message",
    "content": "message",
    "person": "user",
    "user_id": "user",
    "to": "user",
    "recipient": "user",
}

WIRE: JsonObjectType = {
    "type": "object",
    "properties": {
        "message": {"type": "string", "description": "The text, at most 1000 characters"},
        "user": {"type": "string", "description": "Name of the person; empty: the one who speaks"},
    },
    "required": ["message"],
}


def _tidy(data: Mapping[str, Any]) -> dict[str, Any]:
    found = {key: data[key] for key in ("message", "user") if data.get(key) is not None}
    for other, key in _ALSO.items():
        if data.get(other) is not None:
            found.setdefault(key, data[other])
    return found


class SendMessage(EffectTool):
    """Sends a text to a person."""

    name = "send_message_to_user"
    title_key = "tool_send_message_to_user"
    example = "Send me the shopping list to my phone."
    description = (
        "Send a text to a person now: to their phone, else as a notification in Home Assistant. Not for your answer: that is "
        "heard anyway. In an automation, use a notify action instead."
    )
    annotations = llm.ToolAnnotations(read_only=False, destructive=True, idempotent=False, open_world=False)
    judges_calls = True
    fails_in_own_words = True
    parameters = LenientSchema(
        {
            probatio.Required("message"): probatio.All(
                probatio.Coerce(str), probatio.Strip, probatio.Length(min=1, max=LONGEST)
            ),
            probatio.Optional("user", default=""): probatio.All(probatio.Coerce(str), probatio.Length(max=MAX_NAME)),
        },
        _tidy,
    )
    wire_parameters = WIRE

    @override
    async def plan(self, hass: HomeAssistant, args: dict[str, Any], turn: Turn) -> Plan:
        """Return the message. Raises `ToolRefusal` for an unknown person, with near names, and for one who cannot be reached."""
        user, name = await _async_receiver(hass, turn, args["user"])
        to_other = turn.user is None or user is None or user.id != turn.user.id
        phones = phones_of(hass, user.id) if user is not None else {}
        if not phones and user is not None and to_other:
            raise ToolRefusal(f"{name} has no phone with Home Assistant's app. Tell the user.")
        builder = PlanBuilder(hass)
        builder.add(
            MessageSent(
                data={
                    "user_id": user.id if user is not None else "",
                    "name": name,
                    "message": args["message"],
                    "title": turn.profile.name,
                    "way": (Way.PHONE if phones else Way.NOTIFICATION).value,
                    "to_other": to_other,
                }
            )
        )
        return builder.plan()


async def _async_receiver(hass: HomeAssistant, turn: Turn, wanted: str) -> tuple[User | None, str]:
    """Return whom a name means, and what they are called; no user: all who see the notifications of Home Assistant."""
    own = (turn.user.name or "") if turn.user is not None else ""
    if phrase(wanted) in _SELF or (own and phrase(wanted) == phrase(own)):
        return turn.user, own or "Home Assistant"
    known = await _async_known(hass, turn)
    found = {user.id: (user, name) for name, user in known if phrase(name) == phrase(wanted) or user.id == wanted}
    if len(found) == 1:
        return next(iter(found.values()))
    if found:
        raise ToolRefusal(f"Several people are called '{wanted}'. Ask the user who is meant.")
    alike = sorted({name for name, _ in known if likeness(phrase(name), phrase(wanted)) >= NEAR})
    hint = f" Did you mean {', '.join(alike[:MAX_NEAR])}?" if alike else ""
    raise ToolRefusal(f"No person is called '{wanted}'.{hint}")


async def _async_known(hass: HomeAssistant, turn: Turn) -> list[tuple[str, User]]:
    """Return names with their users: of persons that are exposed, and for administrators of all users."""
    users = {
        user.id: user for user in await hass.auth.async_get_users() if user.is_active and not user.system_generated
    }
    known = [
        (state.name, user)
        for state in hass.states.async_all(PERSON)
        if (user := users.get(str(state.attributes.get("user_id")))) and is_exposed(hass, state.entity_id, turn.user)
    ]
    if turn.user is not None and turn.user.is_admin:
        known += [(user.name, user) for user in users.values() if user.name]
    return known
