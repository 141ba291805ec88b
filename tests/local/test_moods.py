"""Complaints, remarks and wishes about light, warmth and sound, in a home without a model."""

from typing import Any

from scripts.evaluation.local import OURS, House, changes

from .test_requests import house

__all__ = ["house"]

MOODS: dict[str, list[tuple[str, str | None, dict[str, Any]]]] = {
    "en": [
        ("it's too bright in the kitchen", None, {"light.counter": ("brightness", 64)}),
        ("It's way too bright in here", "kitchen", {"light.counter": ("brightness", 64)}),
        ("it's not bright enough in the kitchen", None, {"light.counter": ("brightness", 191)}),
        ("it's too dark in the office", None, {"light.desk": ("state", "on")}),
        ("too bright in the office", None, {}),
        ("it's freezing in the living room", None, {"climate.living": ("temperature", 21)}),
        ("I'm cold", "living", {"climate.living": ("temperature", 21)}),
        ("way too warm in the living room", None, {"climate.living": ("temperature", 19)}),
        ("it's too warm in the bedroom", None, {}),
        ("the TV is too loud", None, {"media_player.tv": ("volume_level", 0.4)}),
        ("it's too loud in here", "living", {"media_player.tv": ("volume_level", 0.4)}),
        ("the TV isn't loud enough", None, {"media_player.tv": ("volume_level", 0.6)}),
        ("I'd like it a bit warmer in the living room", None, {"climate.living": ("temperature", 21)}),
        ("could it be quieter in the living room", None, {"media_player.tv": ("volume_level", 0.4)}),
        ("the living room is so cold", None, {"climate.living": ("temperature", 21)}),
        ("it's really cold in the living room", None, {"climate.living": ("temperature", 21)}),
        ("the TV is so loud", None, {"media_player.tv": ("volume_level", 0.4)}),
        ("it's so nice and warm in the living room", None, {}),
        ("it was so cold in the living room", None, {}),
        ("is it so cold in the living room?", None, {}),
        ("if it is so cold in the living room, turn it up", None, {}),
        ("it isn't so cold in the living room", None, {}),
        ("it's so quiet in the living room", None, {}),
        ("it's bright in the kitchen", None, {}),
        ("its brighter in the kitchen", None, {}),
        ("nice and warm in the living room", None, {}),
        ("the TV is loud", None, {}),
        ("the kitchen light is bright", None, {}),
        ("it's not too bright in the kitchen", None, {}),
        ("it was too bright in the kitchen yesterday", None, {}),
        ("if it's too bright in the kitchen, close the blinds", None, {}),
        ("she said it's too bright in the kitchen", None, {}),
        ("is it too bright in the kitchen?", None, {}),
        ("is it too bright in the kitchen", None, {}),
        ("the soup is too hot", "living", {}),
        ("my brother is too loud in the living room", None, {}),
        ("it's too bright in the garage", None, {}),
    ],
    "de": [
        ("in der Küche ist es zu hell", None, {"light.counter": ("brightness", 64)}),
        ("mir ist es hier viel zu hell", "kitchen", {"light.counter": ("brightness", 64)}),
        ("in der Küche ist es nicht hell genug", None, {"light.counter": ("brightness", 191)}),
        ("es ist zu dunkel im Büro", None, {"light.desk": ("state", "on")}),
        ("mir ist kalt", "living", {"climate.living": ("temperature", 21)}),
        ("im Wohnzimmer ist es zu warm", None, {"climate.living": ("temperature", 19)}),
        ("der Fernseher ist zu laut", None, {"media_player.tv": ("volume_level", 0.4)}),
        ("ich hätte es im Wohnzimmer gern wärmer", None, {"climate.living": ("temperature", 21)}),
        ("Boah ist das kalt im Wohnzimmer", None, {"climate.living": ("temperature", 21)}),
        ("im Wohnzimmer ist es so kalt", None, {"climate.living": ("temperature", 21)}),
        ("im Wohnzimmer ist es so schön warm", None, {}),
        ("es ist hell in der Küche", None, {}),
        ("schön warm hier", "living", {}),
        ("in der Küche ist es nicht zu hell", None, {}),
        ("gestern war es in der Küche zu hell", None, {}),
        ("wenn es in der Küche zu hell ist, mach die Rollos zu", None, {}),
        ("ist es in der Küche zu hell?", None, {}),
    ],
}


async def test_a_complaint_is_met_with_the_opposite_and_a_remark_with_nothing(house: House) -> None:
    language, wrong = house.home["language"], []
    for said, area, wanted in MOODS[language]:
        house.prepare({})
        before = house.snapshot()
        row = {"utterance": said, "lang": language, "kind": "none"}
        reply, _ = await house.async_ask(OURS, row | ({"context_area": area} if area else {}))
        after = house.snapshot()
        changed = changes(before, after)
        told = {
            key: (name, after[key].state if name == "state" else after[key].attributes.get(name))
            for key, (name, _) in wanted.items()
        }
        if changed != wanted.keys() or told != wanted or house.open_questions:
            wrong.append((said, changed, told, reply.said))
        house.forget()
    assert not wrong, "\n".join(map(str, wrong))


async def test_several_rooms_are_asked_about(house: House) -> None:
    language = house.home["language"]
    said, room = {"en": ("too bright", "the kitchen"), "de": ("es ist zu hell", "in der Küche")}[language]
    house.prepare({})
    before = house.snapshot()
    asked, _ = await house.async_ask(OURS, {"utterance": said, "lang": language, "kind": "none"})
    assert asked.said.endswith("?")
    assert not changes(before, house.snapshot())
    await house.async_ask(OURS, {"utterance": room, "lang": language, "kind": "none"}, asked.conversation_id)
    assert changes(before, house.snapshot()) == {"light.counter"}
    assert house.snapshot()["light.counter"].attributes["brightness"] == 64
    house.forget()
