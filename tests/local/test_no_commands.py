"""What looks like a command and is none: nothing happens, and nothing is asked that a yes would do."""

from collections.abc import Mapping, Sequence

from homeassistant.const import EVENT_CALL_SERVICE
from homeassistant.core import Event, HomeAssistant, callback

from scripts.evaluation.local import OURS, House, changes
from tests.local import said

from .test_requests import house

__all__ = ["house"]

SENTENCES: Mapping[str, Mapping[str, Sequence[str]]] = said.read("no_commands.json")
"""By language and by what they are."""


def test_there_are_enough_and_none_twice() -> None:
    listed = [text for kinds in SENTENCES.values() for texts in kinds.values() for text in texts]
    assert len(listed) >= 300
    assert len(set(listed)) == len(listed)


async def test_none_acts(hass: HomeAssistant, house: House) -> None:
    language = house.home["language"]
    services: list[str] = []

    @callback
    def note(event: Event) -> None:
        services.append(f"{event.data['domain']}.{event.data['service']}")

    hass.bus.async_listen(EVENT_CALL_SERVICE, note)
    acted = []
    for kind, texts in SENTENCES[language].items():
        for text in texts:
            house.prepare({})
            services.clear()
            before = house.snapshot()
            reply, _ = await house.async_ask(OURS, {"utterance": text, "lang": language, "kind": "none"})
            if changed := changes(before, house.snapshot()) or [*services] or house.open_questions:
                acted.append((kind, text, changed, reply.said))
            house.forget()
    assert not acted, "\n".join(map(str, acted))
