"""Messages too many or too long: what they hold is not even looked at, and no model hears it later."""

from homeassistant.components.conversation.chat_log import DATA_CHAT_LOGS
from homeassistant.core import Context, HomeAssistant
import pytest

from custom_components.home_agent.agent.answerers import MAX_MESSAGE
from custom_components.home_agent.languages.digits import MASK
from custom_components.home_agent.languages.phrases import says_more
from tests.house import say, speech
from tests.llm_server import text

from .conftest import SetUp
from .world import PIN, Witness

LONG = [f"my pin is {PIN} " + "x" * MAX_MESSAGE, f"{' ' * MAX_MESSAGE}{PIN}"]


@pytest.mark.parametrize("said", LONG, ids=["too long", "too long behind blanks"])
async def test_what_is_too_long_is_not_kept(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context, said: str
) -> None:
    await start(options={"pins": {"unlock": PIN}})
    witness.server.respond(lambda body: text("Fine."))
    result = await say(hass, said, context=alice)
    assert "longer than" in speech(result)
    await say(hass, "how are you", result.conversation_id, context=alice)
    assert PIN not in witness.server.request.raw.decode()


async def test_above_the_limit_nothing_is_read(
    hass: HomeAssistant, witness: Witness, start: SetUp, alice: Context
) -> None:
    await start(options={"pins": {"unlock": PIN}})
    witness.server.respond(lambda body: text("Fine."))
    context = Context(user_id=alice.user_id)
    answers = [speech(await say(hass, "how are you", context=context)) for _ in range(60)]
    assert answers[0] == "Fine."
    assert answers[-1] != "Fine."
    result = await say(hass, "the year was 1999", context=context)  # no PIN: it would be kept if it was read
    log = str(hass.data[DATA_CHAT_LOGS][str(result.conversation_id)].content)
    assert "1999" not in log
    assert MASK in log


def test_a_message_of_many_words_is_no_code() -> None:
    assert says_more("word " * 200, "en")
