"""What is said for certain and cannot be: nothing is done, and one sentence says why."""

from collections.abc import Mapping, Sequence
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
import pytest

from scripts.evaluation.local import House
from tests.house import speech
from tests.local import said

type Row = tuple[Sequence[str], str, str, Mapping[str, str]]
"""What is turned on before, what is said, the end of the answer, and what changes by that."""

NOT_ABLE: Mapping[str, Sequence[Row]] = {
    "en": [
        ([], "make the bathroom light blue", "Bathroom light can't do that.", {}),  # only free wording says so
        ([], "dim the garden light to 30 percent", "Garden light can't do that.", {}),
        ([], "set the garden light to 40 %", "Garden light can't do that.", {}),  # Home Assistant's own sentence
        ([], "set the color of the reading lamp to red", "Reading lamp can't do that.", {}),
        ([], "set the garden light to warm white", "Garden light can't do that.", {}),
        ([], "set the lights in the garden to 30 %", "no device supports the required features", {}),
        ([], "turn on the bed light and make the garden light blue", "Garden light can't do that.", {}),
        ([], "set the bed light to 30 percent", "", {"light.bed": "on"}),
    ],
    "de": [
        ([], "mach das Badlicht blau", "Badlicht kann das nicht.", {}),
        ([], "dimme das Gartenlicht auf 30 Prozent", "Gartenlicht kann das nicht.", {}),
        ([], "stelle das Gartenlicht auf 40 Prozent", "Gartenlicht kann das nicht.", {}),
        ([], "mach die Leselampe grün", "Leselampe kann das nicht.", {}),
        ([], "dimme die Leselampe auf 30 Prozent", "", {"light.reading": "on"}),
    ],
}  # fmt: skip
NOTHING_ON: Mapping[str, Sequence[Row]] = {
    "en": [
        ([], "turn everything off in the garden", "Nothing is on there.", {}),
        ([], "everything off in the garden", "Nothing is on there.", {}),
        (["switch.sprinkler"], "turn everything off in the garden", "", {"switch.sprinkler": "off"}),
    ],
    "de": [
        ([], "alles aus im Garten", "Dort ist nichts an.", {}),
        (["light.garden"], "alles aus im Garten", "", {"light.garden": "off"}),
    ],
}


async def async_check(hass: HomeAssistant, house: House, rows: Sequence[Row], language: str) -> None:
    """Say each in a conversation of its own, and compare the answer and the home with what is wanted."""
    user = await hass.auth.async_create_user("Somebody", group_ids=["system-admin"])
    wrong: list[tuple[Any, ...]] = []
    for on, sentence, ending, changes in rows:
        house.prepare({entity_id: {"state": "on"} for entity_id in on})
        before = house.snapshot()
        house.called.clear()
        result = await conversation.async_converse(
            hass, sentence, None, Context(user_id=user.id), language, "conversation.home_agent"
        )
        await hass.async_block_till_done()
        after = house.snapshot()
        changed = {item: after[item].state for item in after if after[item].state != before[item].state}
        if changed != changes or house.called != set(changes) or not speech(result).endswith(ending):
            wrong.append((sentence, speech(result), changed, sorted(house.called)))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("language", ["en", "de"])
async def test_what_a_thing_cannot_be_and_what_is_so_already_is_told(hass: HomeAssistant, language: str) -> None:
    async for house in said.async_living(hass, language):
        await async_check(hass, house, [*NOT_ABLE[language], *NOTHING_ON[language]], language)


LEFT, RIGHT = "light.bedside_left", "light.bedside_right"
SIDES: Mapping[str, Sequence[Row]] = {
    "en": [
        *(
            ([], sentence, "Which one: Left bedside lamp or Right bedside lamp?", {})
            for sentence in (
                "turn on the bedside lamp", "switch the bedside lamp on", "set the bedside lamp to 50 percent",
                "could you please turn the bedside lamp on for me",
            )
        ),
        ([], "make the bedside lamp blue", "", {}),  # neither can be that
        ([], "turn on both bedside lamps", "", {LEFT: "on", RIGHT: "on"}),
        ([LEFT, RIGHT], "turn off all bedside lamps", "", {LEFT: "off", RIGHT: "off"}),
        ([], "turn on the left bedside lamp", "", {LEFT: "on"}),
        ([], "turn on the rear lamp", "", {}),
        ([], "turn on the dsk lamp", "", {"light.desk": "on"}),
        ([], "turn on the pirch lamp", "Did you mean Perch lamp, Porch lamp? Please say it again with the name.", {}),
    ],
    "de": [
        *(
            ([], sentence, "Was meinst du: Bettlampe links oder Bettlampe rechts?", {})
            for sentence in ("Bettlampe an", "schalte die Bettlampe ein", "Bettlampe auf 50 Prozent")
        ),
        ([], "beide Bettlampen an", "", {LEFT: "on", RIGHT: "on"}),
        ([LEFT, RIGHT], "schalte beide Bettlampen aus", "", {LEFT: "off", RIGHT: "off"}),
        ([], "Bettlampe rechts an", "", {RIGHT: "on"}),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("language", "left", "right"),
    [("en", "Left bedside lamp", "Right bedside lamp"), ("de", "Bettlampe links", "Bettlampe rechts")],
)
async def test_a_side_that_was_left_out_is_asked_for(hass: HomeAssistant, language: str, left: str, right: str) -> None:
    home = said.home(language)
    pattern = next(row for row in home["entities"] if row["entity_id"] == "light.bed")
    home["entities"] += [{**pattern, "entity_id": item, "name": name} for item, name in ((LEFT, left), (RIGHT, right))]
    others = {"light.perch": "Perch lamp", "light.porch": "Porch lamp"}  # one letter apart from each other
    home["entities"] += [{**pattern, "entity_id": item, "name": name} for item, name in others.items()]
    hass.config.language = language
    house = House(hass, home)
    await house.async_begin()
    await async_check(hass, house, SIDES[language], language)
