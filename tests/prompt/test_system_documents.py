"""What documents in the instructions become on the wire."""

from pathlib import Path

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.client.messages import raw_estimate
from custom_components.home_agent.search import files
from custom_components.home_agent.support.const import DOMAIN
from tests.house import build_house, say, set_up, speech, subentry
from tests.llm_server import LLMServer, Reply, context_length, error, text

from .conftest import system


@pytest.fixture(autouse=True)
async def home(hass: HomeAssistant) -> None:
    """A furnished home whose configuration can be read again."""
    await build_house(hass)
    Path(hass.config.path("configuration.yaml")).write_text("")


def write(hass: HomeAssistant, name: str, content: str) -> None:
    """Put a document into the owner's folder."""
    file = Path(hass.config.path("home_agent", "docs", name))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)


async def test_documents_stand_behind_the_instructions_with_headers(hass: HomeAssistant, llm_server: LLMServer) -> None:
    write(hass, "rules.md", "# Rules\nNo shoes. {{ user_name }} {language}")
    names = ["rules.md", "TALKING.md"]
    await set_up(hass, llm_server, profile={"system_documents": names, "prompt_additions": "Be kind."})
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "hello", "a")
    said = system(llm_server)
    order = [
        said.index(part)
        for part in (
            "\n\nBe kind.\n\n", "\n\n## Documentation: rules.md\n\n# Rules\nNo shoes. {{ user_name }} {language}\n\n",
            "\n\n## Documentation: TALKING.md\n\n# How to talk to the agent\n", "\n\n## Home\n\n",
        )
    ]  # fmt: skip
    assert order == sorted(order)


async def test_reading_is_rare(hass: HomeAssistant, llm_server: LLMServer, monkeypatch: pytest.MonkeyPatch) -> None:
    write(hass, "rules.md", "Version one.")
    await set_up(hass, llm_server, profile={"system_documents": ["rules.md"]})
    llm_server.respond(lambda _body: text("ok"))
    write(hass, "rules.md", "Version two.")
    await say(hass, "hello", "a")
    await say(hass, "and again", "a")
    await say(hass, "hello", "b")
    assert ["Version one." in system(llm_server, number) for number in (-3, -2, -1)] == [True, True, True]
    assert system(llm_server, -3) == system(llm_server, -2) == system(llm_server, -1)
    await hass.services.async_call(DOMAIN, "reload", blocking=True)
    await say(hass, "once more", "a")
    assert "Version two." in system(llm_server)
    assert "Version one." not in system(llm_server)


DOCUMENTS = {"system_documents": ["gone.md", "rules.md"], "local_first": False}
SECOND = subentry("profile", "Second", "profile-2", DOCUMENTS)


async def test_other_agents_have_none_and_a_missing_one_is_harmless(hass: HomeAssistant, llm_server: LLMServer) -> None:
    write(hass, "rules.md", "Mine.")
    await set_up(hass, llm_server, more=[SECOND])
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "hello", "a")
    assert "## Documentation" not in system(llm_server)
    assert speech(await say(hass, "hello", "b", agent_id="conversation.second")) == "ok"
    assert "## Documentation: rules.md\n\nMine." in system(llm_server)
    assert "gone.md" not in system(llm_server)


@pytest.mark.parametrize("window", [4096, 8192])
async def test_they_take_at_most_a_third(hass: HomeAssistant, llm_server: LLMServer, window: int) -> None:
    write(hass, "long.md", "\n".join(f"Line {number} of a long text." for number in range(5000)))
    await set_up(hass, llm_server, llm={"context_window": window}, profile={"system_documents": ["long.md"]})
    llm_server.respond(lambda _body: text("ok"))
    await say(hass, "is the bed light on?", "a")
    said = system(llm_server)
    begin = said.index("## Documentation: long.md")
    end = said.index("(The rest of the documentation is left out here.)")
    assert 0.25 * window < raw_estimate(said[begin:end].encode()) < window / 3
    assert "light.bed_light" in said[end:]
    body = llm_server.request.body
    whole = sum(raw_estimate(str(message["content"]).encode()) for message in body["messages"])
    assert whole + raw_estimate(str(body["tools"]).encode()) < window


@pytest.mark.parametrize(
    "refusal", [context_length(8192), error(400, "the request exceeds the available context size")], ids=["told", "not"]
)
async def test_a_smaller_window_still_answers(hass: HomeAssistant, llm_server: LLMServer, refusal: Reply) -> None:
    write(hass, "long.md", "\n".join(f"Line {number} of a long text." for number in range(5000)))
    await set_up(hass, llm_server, llm={"context_window": 32_768}, profile={"system_documents": ["long.md"]})
    sizes: list[int] = []

    def answer(body: dict[str, object]) -> Reply:
        sizes.append(len(str(body["messages"])))
        return refusal if sizes[-1] > 25_000 else text("ok")

    llm_server.respond(answer)
    assert speech(await say(hass, "hello", "a")) == "ok"
    assert sizes[0] > 25_000 > sizes[-1]
    assert "Line 0 of a long text." in system(llm_server)


def test_the_documents_that_ship_can_be_read() -> None:
    folder = Path(files.__file__).parents[1] / "docs" / "user"
    assert files.documents_in(folder) == ["TALKING.md", "USER_GUIDE.md"]
    for name in files.documents_in(folder):
        assert 1000 < len(files.document_text(folder, name)) < 6000
