"""What is told, and when: everything once, then what is new, never beyond the budget."""

from collections.abc import Callable, Sequence
import json
from typing import Any

from freezegun.api import FrozenDateTimeFactory
from homeassistant.components.conversation import UserContent
from homeassistant.core import HomeAssistant
from homeassistant.helpers import area_registry as ar
import pytest
from pytest_homeassistant_custom_component.common import MockConfigEntry, MockUser

from custom_components.home_agent.home.snapshot import Home
from custom_components.home_agent.prompt.budget import Budget
from custom_components.home_agent.prompt.home_map import HomeMap
from custom_components.home_agent.prompt.layout import Inputs, layout
from custom_components.home_agent.prompt.request import async_with_now
from custom_components.home_agent.prompt.states import Views, rows_of
from custom_components.home_agent.settings.profile import ContextEntity, ContextMode, Profile
from custom_components.home_agent.support.const import DOMAIN
from custom_components.home_agent.transcript.transcript import Round, Transcript
from custom_components.home_agent.turn.turn import Turn

from .conftest import AddEntity

type MakeTurn = Callable[..., Turn]


class Conversation:
    """Tells one session turn by turn."""

    def __init__(self, hass: HomeAssistant, make_turn: MakeTurn) -> None:
        self.hass, self.make_turn = hass, make_turn
        self.transcript = Transcript()
        self.views = Views()
        entry = MockConfigEntry(domain=DOMAIN)
        entry.add_to_hass(hass)
        self.home = Home(hass, entry)

    async def tell(
        self,
        *,
        budget: int = 10_000,
        forget: bool = False,
        mode: ContextMode = ContextMode.DIRECT,
        found: Sequence[str] = (),
        map_is_full: bool = True,
        **fields: Any,
    ) -> dict[str, Any]:
        """Return the data of the next turn part; `found` are the entities that it is about."""
        self.home.async_invalidate()
        turn = self.make_turn(**fields)
        view = await self.views.async_of(self.hass, await self.home.async_get(), turn)
        self.home._stop_timer()
        rounds = [] if forget else self.transcript.rounds
        question = UserContent("hello")
        inputs = Inputs(
            budget=Budget(
                prompt=100_000,
                home_map=0,
                small_map=0,
                states=budget,
                kept=0,
                found=budget,
                found_later=budget,
                history=10_000,
                blocks=0,
            ),
            estimate=lambda text: len(text) // 4,
            mode=mode,
            home=view.snapshot,
            home_map=HomeMap("", full=map_is_full),
            rounds=[*rounds, Round(question=question, at=question.created)],
            begins=not self.transcript.rounds,
            history_messages=1000,
            rows=rows_of(turn),
            context_format=turn.profile.context_format,
            introduce=view.introduction,
            found=[view.snapshot.entities[entity_id] for entity_id in found],
        )
        made = layout(await async_with_now(self.hass, turn, view, inputs, self.transcript.states_told_at))
        part = made.part
        if made.states_told:
            self.transcript.states_told_at = self.hass.loop.time()
        self.transcript.rounds.append(Round(question=question, at=question.created, part=part))
        return dict(json.loads(part.text.removeprefix("<house>").removesuffix("</house>")))


@pytest.fixture
def conversation(hass: HomeAssistant, make_turn: MakeTurn) -> Conversation:
    return Conversation(hass, make_turn)


async def test_all_then_changes(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk", "on", brightness=128)
    add_entity("switch.fan", "off")
    first = await conversation.tell()
    assert first["states"] == {"light.desk": "on brightness=50%", "switch.fan": "off"}
    assert {"time", "date", "language"} <= set(first)
    assert set(await conversation.tell()) == {"time"}
    hass.states.async_set("switch.fan", "on")
    assert (await conversation.tell())["states"] == {"switch.fan": "on"}


async def test_equal_is_not_a_change(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk", "on", brightness=128)
    await conversation.tell()
    hass.states.async_set("light.desk", "on", {"brightness": 128, "icon": "mdi:lamp"})
    assert "states" not in await conversation.tell()


async def test_what_is_forgotten_is_told_again(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    first = await conversation.tell()
    assert (await conversation.tell(forget=True))["states"] == first["states"]


async def test_new_and_gone_entities(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    await conversation.tell()
    add_entity("light.new")
    hass.states.async_remove("light.desk")
    assert (await conversation.tell())["states"] == {"light.new": "on", "light.desk": "gone"}
    assert "states" not in await conversation.tell()


async def test_newly_hidden_is_gone(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    await conversation.tell()
    add_entity("light.desk", "off", exposed=False)
    assert (await conversation.tell())["states"] == {"light.desk": "gone"}


async def test_told_once(hass: HomeAssistant, conversation: Conversation, hass_admin_user: MockUser) -> None:
    kitchen = ar.async_get(hass).async_create("Kitchen").id
    hall = ar.async_get(hass).async_create("Hall").id
    first = await conversation.tell(area_id=kitchen, user=hass_admin_user, language="de")
    assert (first["area"], first["user"], first["language"]) == ("Kitchen", "Mock User", "de")
    second = await conversation.tell(area_id=hall, user=hass_admin_user, language="de")
    assert set(second) == {"time", "area"}


async def test_budget_takes_attributes_first_then_entities(conversation: Conversation, add_entity: AddEntity) -> None:
    for number in range(20):
        add_entity(f"light.l{number:02}", "on", brightness=128)
    add_entity("sensor.s", "1")
    short = await conversation.tell(budget=130)
    assert set(short["states"].values()) == {"on", "1"}
    few = await conversation.tell(budget=40, forget=True)
    assert few["states_not_listed"] == 21 - len(few["states"])
    assert "sensor.s" not in few["states"]


async def test_owners_list_with_wildcards_and_attributes(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("climate.living", "heat", temperature=21, swing_mode="off")
    add_entity("light.desk")
    add_entity("light.secret", exposed=False)
    rows = (
        ContextEntity(pattern="climate.*", attributes=("swing_mode",)),
        ContextEntity(pattern="light.secret"),
        ContextEntity(pattern="light.nowhere"),
    )
    told = await conversation.tell(profile=Profile(name="A", context_entities=rows))
    assert told["states"] == {"climate.living": "heat swing_mode=off"}


async def test_entities_of_one_request(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    add_entity("switch.fan")
    assert (await conversation.tell(context_entities=[ContextEntity(pattern="switch.*")]))["states"] == {
        "switch.fan": "on"
    }


async def test_the_readable_is_told(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    add_entity("light.safe")
    user = MockUser().add_to_hass(hass)
    user.mock_policy({"entities": {"entity_ids": {"light.desk": {"read": True}}}})
    assert (await conversation.tell(user=user))["states"] == {"light.desk": "on"}


async def test_interval_holds_back(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    profile = Profile(name="A", context_update_interval=3600)
    await conversation.tell(profile=profile)
    hass.states.async_set("light.desk", "off")
    assert "states" not in await conversation.tell(profile=profile)


async def test_mode_off_tells_time_and_place_only(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    assert "states" not in await conversation.tell(mode=ContextMode.OFF)


FOUND = ContextMode.RETRIEVED


async def test_only_what_a_request_is_about_is_told(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk", "on", brightness=128)
    add_entity("switch.fan", "off")
    told = await conversation.tell(mode=FOUND, found=["light.desk"])
    assert told["states"] == {"light.desk": "on brightness=50%"}
    assert set(await conversation.tell(mode=FOUND, found=["light.desk"])) == {"time"}
    assert (await conversation.tell(mode=FOUND, found=["switch.fan"]))["states"] == {"switch.fan": "off"}


async def test_changes_while_room(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    for name in ("desk", "shelf", "wall"):
        add_entity(f"light.{name}", "on")
    await conversation.tell(mode=FOUND, found=["light.desk", "light.shelf"])
    hass.states.async_set("light.shelf", "off")
    assert (await conversation.tell(mode=FOUND, found=["light.wall"]))["states"] == {
        "light.wall": "on",
        "light.shelf": "off",
    }


async def test_changes_without_room(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.wall")
    lights = [add_entity(f"light.l{number}", "on") for number in range(8)]
    await conversation.tell(mode=FOUND, found=lights)
    for entity_id in lights:
        hass.states.async_set(entity_id, "off")
    second = await conversation.tell(mode=FOUND, found=["light.wall"], budget=15)
    assert second["changes_not_listed"] + len(second["states"]) == 9
    assert "light.l0" not in second["states"]
    third = await conversation.tell(mode=FOUND, found=["light.l0"], budget=1)
    assert third["states"] == {"light.l0": "off"}


async def test_wrong_beliefs_first(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    lights = [add_entity(f"light.l{number}", "on") for number in range(8)]
    await conversation.tell(mode=FOUND, found=lights[7:])
    hass.states.async_set("light.l7", "off")
    told = await conversation.tell(mode=FOUND, found=lights, budget=15)
    assert told["states"]["light.l7"] == "off"
    assert told["states_not_listed"] == 8 - len(told["states"])


async def test_found_entities_first_lose_attributes(conversation: Conversation, add_entity: AddEntity) -> None:
    lights = [add_entity(f"light.l{number}", "on", brightness=128) for number in range(8)]
    told = await conversation.tell(mode=FOUND, found=lights, budget=60)
    assert list(told["states"].values()) == ["on brightness=50%"] * 6 + ["on"] * 2


async def test_found_but_not_on_map(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.hue_3", "on", name="Big lamp", area="Attic")
    add_entity("light.attic_desk", "on", name="Attic desk", area="Attic")
    found = ["light.hue_3", "light.attic_desk"]
    first = await conversation.tell(mode=FOUND, found=found, map_is_full=False)
    assert first["states"] == {"light.hue_3": "on (Big lamp, Attic)", "light.attic_desk": "on"}
    hass.states.async_set("light.hue_3", "off")
    assert (await conversation.tell(mode=FOUND, found=found, map_is_full=False))["states"] == {"light.hue_3": "off"}


async def test_names_take_of_the_room_for_states(conversation: Conversation, add_entity: AddEntity) -> None:
    for number in range(20):
        add_entity(f"light.hue_{number}", "on", name=f"A lamp with a long name {number}", area="Attic")
    without = await conversation.tell(budget=140)
    introduced = await conversation.tell(budget=140, forget=True, map_is_full=False)
    assert len(without["states"]) == 20
    assert introduced["states"]["light.hue_0"] == "on (A lamp with a long name 0, Attic)"
    assert len(json.dumps(introduced["states"])) // 4 <= 150
    assert introduced["states_not_listed"] == 20 - len(introduced["states"])


async def test_both_lists_and_finds(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    for entity_id in ("climate.hall", "light.desk", "light.wall"):
        add_entity(entity_id)
    profile = Profile(name="A", context_entities=(ContextEntity(pattern="climate.*"),))
    told = await conversation.tell(mode=ContextMode.BOTH, found=["light.desk"], profile=profile)
    assert told["states"] == {"climate.hall": "on", "light.desk": "on"}
    hass.states.async_set("climate.hall", "off")
    hass.states.async_set("light.desk", "off")
    assert (await conversation.tell(mode=ContextMode.BOTH, profile=profile))["states"] == {
        "climate.hall": "off",
        "light.desk": "off",
    }


async def test_found_at_any_interval(hass: HomeAssistant, conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    add_entity("light.wall")
    profile = Profile(name="A", context_update_interval=3600)
    await conversation.tell(mode=FOUND, found=["light.desk", "light.wall"], profile=profile)
    hass.states.async_set("light.desk", "off")
    hass.states.async_set("light.wall", "off")
    told = await conversation.tell(mode=FOUND, found=["light.desk"], profile=profile)
    assert told["states"] == {"light.desk": "off"}


async def test_owners_attributes_hold_for_found_entities(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("climate.living", "heat", temperature=21, swing_mode="off")
    profile = Profile(name="A", context_entities=(ContextEntity(pattern="climate.*", attributes=("swing_mode",)),))
    told = await conversation.tell(mode=FOUND, found=["climate.living"], profile=profile)
    assert told["states"] == {"climate.living": "heat swing_mode=off"}


async def test_permission_taken_in_mid_conversation(conversation: Conversation, add_entity: AddEntity) -> None:
    add_entity("light.desk")
    add_entity("light.safe")
    user = MockUser().add_to_hass(conversation.hass)
    user.mock_policy({"entities": {"entity_ids": {"light.desk": True, "light.safe": True}}})
    await conversation.tell(user=user)
    user.mock_policy({"entities": {"entity_ids": {"light.desk": True}}})
    assert (await conversation.tell(user=user))["states"] == {"light.safe": "gone"}


async def test_own_clock(hass: HomeAssistant, conversation: Conversation, freezer: FrozenDateTimeFactory) -> None:
    await hass.config.async_set_time_zone("Europe/Berlin")
    freezer.move_to("2026-11-22T20:30:00+00:00")
    told = await conversation.tell(profile=Profile(name="A", timezone="Asia/Tokyo"))
    assert (told["time"], told["date"]) == ("05:30", "Monday 2026-11-23")
    assert (await conversation.tell(profile=Profile(name="A")))["time"] == "21:30"
