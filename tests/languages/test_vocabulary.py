"""What languages call the kinds of things, from Home Assistant's own translations and sentences."""

from homeassistant.core import HomeAssistant
import pytest

from custom_components.home_agent.home.domains import NAMED
from custom_components.home_agent.languages.intent_words import sentence_words
from custom_components.home_agent.languages.vocabulary import MAX_LANGUAGES, Languages
from custom_components.home_agent.support.text import fold, words


@pytest.mark.parametrize(("code", "word", "kind"), [
    pytest.param("en", "telly", ".tv", id="colloquial"),
    pytest.param("de", "wandlampe", "light", id="compound"),
    pytest.param("de", "rollladen", "cover.shutter", id="German"),
    pytest.param("fr", "lumiere", "light", id="without its accent"),
    pytest.param("fi", "valot", "light", id="from sentences alone"),
    pytest.param("hu", "zár", "lock", id="from a translation"),
    pytest.param("ja", "照明", "light", id="no spaces"),
    pytest.param("ru", "свет", "light", id="Cyrillic"),
    pytest.param("uk", "вологість", "sensor.humidity", id="device class"),
    pytest.param("pt-BR", "cortina", "cover.curtain", id="with region"),
    pytest.param("he", "תאורה", "light", id="right to left"),
    pytest.param("de", "thermostat", "climate", id="English beside it"),
    pytest.param("tlh", "lamp", "light", id="nobody knows the language"),
])  # fmt: skip
async def test_words_point_to_kinds(hass: HomeAssistant, code: str, word: str, kind: str) -> None:
    language = await Languages(hass, NAMED).async_get(code)
    assert language.kinds_of(fold(word)).get(kind, 0) > 0.4


@pytest.mark.parametrize(("code", "noun", "forms"), [
    pytest.param("ru", "свет", "света свету светом свете", id="Russian"),
    pytest.param("ru", "замок", "замка замком замки замков", id="a vowel that comes and goes"),
    pytest.param("ru", "люстра", "люстры люстре люстру люстрой люстр люстрами", id="Russian, feminine"),
    pytest.param("uk", "вологість", "вологості вологістю", id="Ukrainian"),
    pytest.param("uk", "зв'язок", "зв'язку зв'язком", id="an apostrophe inside a word"),
    pytest.param("pl", "okno", "okna oknie oknem okien oknami", id="Polish"),
    pytest.param("pl", "światło", "światła światłem świateł światłami", id="Polish, plural"),
    pytest.param("cs", "světlo", "světla světlem světel světlech", id="Czech"),
    pytest.param("hr", "prozor", "prozora prozoru prozorom prozorima", id="Croatian"),
    pytest.param("fi", "lamppu", "lampun lamput lamppuja lampussa", id="Finnish"),
    pytest.param("hu", "ablak", "ablakot ablakok ablakokat ablakban", id="Hungarian"),
])  # fmt: skip
async def test_a_noun_means_the_same_in_every_form(hass: HomeAssistant, code: str, noun: str, forms: str) -> None:
    language = await Languages(hass, NAMED).async_get(code)
    kinds = {kind: sure for kind, sure in language.kinds_of(fold(words(noun)[0])).items() if sure >= 0.7}
    said = {form: fold(words(form)[0]) for form in forms.split()}
    assert kinds
    assert [form for form, word in said.items() if not language.is_noun(word)] == []
    assert [form for form, word in said.items() if not kinds.keys() <= language.kinds_of(word).keys()] == []


async def test_a_phrase_is_known_in_every_form(hass: HomeAssistant) -> None:
    language = await Languages(hass, NAMED).async_get("ru")
    spoken = [fold(word) for word in words("много ли угарного газа")]
    assert [(start, length) for start, length, kinds in language.phrases(spoken) if ".carbon_monoxide" in kinds].count(
        (2, 2)
    )
    assert not list(language.phrases(["угарного"]))


@pytest.mark.parametrize(
    ("code", "said"), [("ru", "на кухне"), ("ru", "кухонный"), ("pl", "w kuchni"), ("pl", "kuchenne")]
)
async def test_a_room_is_known_in_every_form(hass: HomeAssistant, code: str, said: str) -> None:
    language = await Languages(hass, NAMED).async_get(code)
    assert any("kitchen" in others for _, _, others in language.rooms([fold(word) for word in words(said)]))


@pytest.mark.parametrize(("home", "known"), [("de", True), ("en", False)])
async def test_short_names_of_the_language_of_the_home_are_known(hass: HomeAssistant, home: str, known: bool) -> None:
    languages = Languages(hass, NAMED)
    hass.config.language = home
    english = await languages.async_get("en")
    assert ("flur" in english.places["hallway"]) is known  # in another home a short word means something else
    assert "korridor" in english.places["hallway"]
    hass.config.language = "de"  # the setting can be changed while we run
    assert "flur" in (await languages.async_get("en")).places["hallway"]


async def test_a_thing_is_known_by_what_tells_it_from_others(hass: HomeAssistant) -> None:
    hass.config.language = "fr"
    language = await Languages(hass, NAMED).async_get("en")
    assert "cafe" in language.things["coffee machine"]
    assert "machine" not in language.things["dishwasher"]


@pytest.mark.parametrize(
    ("code", "said", "thing"),
    [("nb", "oppvaskmaskinen", "dishwasher"), ("sv", "diskmaskinen", "dishwasher"), ("ko", "세탁기를", "washer")],
)
async def test_a_thing_is_known_in_every_form(hass: HomeAssistant, code: str, said: str, thing: str) -> None:
    language = await Languages(hass, NAMED).async_get(code)
    assert any(thing in others for _, _, others in language.other_names([fold(words(said)[0])]))


@pytest.mark.parametrize(
    ("code", "said", "inside"),
    [("zh-Hans", "关掉地下室的灯", ["地下室"]), ("ja", "キッチンの食洗機を動かして", ["キッチン", "食洗機"])],
)
async def test_rooms_and_things_without_spaces(hass: HomeAssistant, code: str, said: str, inside: list[str]) -> None:
    language = await Languages(hass, NAMED).async_get(code)
    assert list(language.named_inside(fold(said))) == [fold(name) for name in inside]


async def test_words_for_kinds_inside_a_run_without_spaces(hass: HomeAssistant) -> None:
    language = await Languages(hass, NAMED).async_get("zh-Hans")
    assert any("light" in kinds for _, kinds in language.inside("打开厨房的灯"))


@pytest.mark.parametrize(("code", "text"), [("en", "厨房灯"), ("my", "မီးဖိုချောင်"), ("xx", "灯")])
async def test_not_everything_is_meant_where_nobody_says_so(hass: HomeAssistant, code: str, text: str) -> None:
    assert not (await Languages(hass, NAMED).async_get(code)).has_everything([text])


async def test_fillers_name_nothing(hass: HomeAssistant) -> None:
    language = await Languages(hass, NAMED).async_get("en")
    assert {"turn", "the", "please"} <= language.fillers
    assert "light" not in language.fillers


async def test_few_languages_are_kept(hass: HomeAssistant) -> None:
    languages = Languages(hass, NAMED)
    codes = ("en", "xa", "xb", "xc", "xd", "xe", "xf")
    for code in codes:
        await languages.async_get(code)
    assert [code for code, _ in languages._loaded] == [*codes[-MAX_LANGUAGES:]]


def test_verbs_and_questions_are_told_apart() -> None:
    english = sentence_words("en")
    assert english is not None
    assert english.kinds["lock"].keys() == {"lock"}
    assert english.asking["what"] > 0 > english.asking["set"]
    assert "light" in english.nouns
    assert "dim" not in english.nouns


def test_a_language_without_sentences() -> None:
    assert sentence_words("xx") is None
