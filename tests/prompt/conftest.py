"""A small house for the rooms that tell about it."""

from collections.abc import Callable
from typing import Any

from homeassistant.components.homeassistant.exposed_entities import async_expose_entity
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import area_registry as ar, entity_registry as er
import pytest

from custom_components.home_agent.settings.profile import Profile
from custom_components.home_agent.support.const import ASSISTANT
from custom_components.home_agent.turn.turn import Turn
from tests.house import part_of
from tests.llm_server import LLMServer

type AddEntity = Callable[..., str]


@pytest.fixture
def add_entity(hass: HomeAssistant) -> AddEntity:
    """Return a function that registers an entity with a state, in an area, exposed or not."""

    def add(
        entity_id: str,
        state: str = "on",
        *,
        name: str | None = None,
        area: str | None = None,
        exposed: bool = True,
        **attributes: Any,
    ) -> str:
        domain, object_id = entity_id.split(".")
        registry = er.async_get(hass)
        entry = registry.async_get_or_create(
            domain, "test", object_id, suggested_object_id=object_id, original_name=name
        )
        if area:
            area_id = ar.async_get(hass).async_get_or_create(area).id
            registry.async_update_entity(entry.entity_id, area_id=area_id)
        async_expose_entity(hass, ASSISTANT, entity_id, exposed)
        hass.states.async_set(entity_id, state, {"friendly_name": name or object_id, **attributes})
        return entity_id

    return add


@pytest.fixture
def make_turn() -> Callable[..., Turn]:
    """Return a function that makes a turn of a profile."""

    def make(text: str = "hello", *, profile: Profile | None = None, **fields: Any) -> Turn:
        fields.setdefault("context", Context())
        return Turn(
            profile=profile or Profile(subentry_id="p", name="Anna"),
            conversation_id=fields.pop("conversation_id", "c"),
            text=text,
            language=fields.pop("language", "en"),
            **fields,
        )

    return make


def parts_of(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the turn part of each message of the user in a request."""
    return [part_of(message) for message in body["messages"] if message["role"] == "user"]


def system(server: LLMServer, number: int = -1) -> str:
    """Return the system message of a request."""
    return str(server.requests[number].body["messages"][0]["content"])
