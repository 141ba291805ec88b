"""A satellite that hears badly: its own answer as an echo, a room that is none, a namesake in another room."""

from scripts.evaluation.local import OURS, House, changes

from .test_requests import house

__all__ = ["house"]

HEARD = {
    "en": ["Turn off the light in the kitten", "turn off the lights in the kissing", "turn the bathrobe off", "turn off the lights in the ballroom"],
    "de": ["mach das Licht in der Kirche aus", "mach das Licht im Bus aus", "schalte das Licht im Ballsaal aus"],
}  # fmt: skip


async def test_a_misheard_room_is_not_everywhere(house: House) -> None:
    language, wrong = house.home["language"], []
    for said in HEARD[language]:
        house.prepare({})
        before = house.snapshot()
        reply, _ = await house.async_ask(OURS, {"utterance": said, "lang": language, "kind": "none"})
        if changed := changes(before, house.snapshot()):
            wrong.append((said, changed, reply.said))
        house.forget()
    assert not wrong


async def test_the_satellites_own_room_comes_first(house: House) -> None:
    language = house.home["language"]
    said = {"en": "turn off the light", "de": "mach das Licht aus"}[language]
    house.prepare({})
    before = house.snapshot()
    await house.async_ask(OURS, {"utterance": said, "lang": language, "kind": "none", "context_area": "kids"})
    assert changes(before, house.snapshot()) == {"light.kids"}
    house.forget()
