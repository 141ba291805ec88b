"""Wishes as they are kept, for tests that do not make them by a sentence."""

from datetime import timedelta
from typing import Any

from homeassistant.core import Context
from homeassistant.util import dt as dt_util
from homeassistant.util.ulid import ulid_now

from custom_components.home_agent.turn.plan import ServiceCall
from custom_components.home_agent.wishes.when import When
from custom_components.home_agent.wishes.wish import Step, Wish, WishKind


def effect(action: str, *entity_ids: str, **data: Any) -> Step:
    """Return a step that is one action."""
    domain, service = action.split(".")
    call = ServiceCall(domain=domain, service=service, entity_ids=entity_ids, data=data)
    return Step(effects=(call.as_dict(),), targets=entity_ids)


def wish_of(context: Context | None, *steps: Step, words: str = "turn it off", **fields: Any) -> Wish:
    """Return a wish of a user that is due now, an action unless the fields say otherwise."""
    now = dt_util.utcnow()
    given = {
        "id": ulid_now(),
        "kind": WishKind.ACTION,
        "words": words,
        "steps": steps,
        "when": When(at=now, words="now"),
        "made": now - timedelta(minutes=10),
        "user_id": context.user_id if context is not None else None,
        "agent_id": "profile-1",
        "language": "en",
    }
    return Wish(**{**given, **fields})
