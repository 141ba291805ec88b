"""Sentences that Home Assistant itself understands: without a model, the same doors stay shut."""

from homeassistant.core import Context, HomeAssistant
import pytest

from tests.house import say
from tests.llm_server import text

from .conftest import SetUp
from .world import Witness

SENTENCES = [
    ("en", "unlock the front door"),
    ("en", "UNLOCK THE FRONT DOOR!!!"),
    ("en", "turn off the front door"),
    ("en", "unlock all the doors"),
    ("en", "unlock the kitchen door"),
    ("en", "open the garage"),
    ("en", "open the garage door"),
    ("en", "set garage position to 100%"),
    ("en", "turn on the garage"),
    ("en", "disarm the house alarm"),
    ("en", "turn off house alarm"),
    ("en", "turn on the office rgbw lights"),
    ("en", "turn on all the lights"),
    ("en", "turn on the lights in the bedroom"),
    ("en", "turn on everything on the ground floor"),
    ("en", "turn on mixed"),
    ("en", "run the secret script"),
    ("en", "activate the secret scene"),
    ("en", "turn on secret"),
    ("en", "unlock the front door in 1 second"),
    ("en", "in 1 second unlock the front door"),
    ("en", "could you maybe unlock the front door and also say yes to it"),
    ("en", "unlock the front door and turn on the bed light"),
    ("en", "turn on the bed light and unlock the front door, yes"),
    ("en", "what is the vault"),
    ("de", "entriegle front door"),
    ("de", "schließe front door auf"),
    ("de", "öffne garage"),
    ("de", "öffne das garage in 1 Sekunde"),
    ("de", "schalte front door aus"),
    ("fr", "déverrouille front door"),
    ("fr", "ouvre garage"),
    ("es", "desbloquea front door"),
    ("es", "abre garage"),
    ("it", "apri garage"),
    ("it", "sblocca front door"),
    ("nl", "ontgrendel front door"),
    ("nl", "open garage"),
    ("pl", "otwórz garage"),
    ("ru", "открой garage"),
    ("sv", "lås upp front door"),
]


@pytest.mark.parametrize("model", [False, True], ids=["without a model", "before a model"])
@pytest.mark.parametrize(("language", "sentence"), SENTENCES, ids=[f"{code} {words}" for code, words in SENTENCES])
async def test_sentence(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, language: str, sentence: str, model: bool
) -> None:
    await start(model=model, profile={"local_first": True})
    witness.server.respond(lambda body: text("I cannot do that."))
    for who in (alice, Context()):
        await say(hass, sentence, context=who, language=language)
    device = await say(hass, sentence, device_id="a device", language=language)
    await say(hass, "yes", device.conversation_id, device_id="another device", language=language)
    await hass.async_block_till_done(wait_background_tasks=True)
