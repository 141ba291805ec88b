"""Everyday words for things and for what is done to them, in the seven languages: what they are not called by, they are still meant by."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from homeassistant.components import conversation
from homeassistant.core import Context, HomeAssistant
import pytest

from scripts.evaluation.local import House

LANGUAGES = ("en", "de", "fr", "es", "it", "nl", "pl")
COFFEE, HEATER, TREE = "switch.coffee", "switch.heater", "switch.tree"
BLINDS, ROBOT, TV, FAN = "cover.living", "vacuum.robot", "media_player.tv", "fan.bath"
ROOMS: Mapping[str, Sequence[str]] = {
    "kitchen": ("Kitchen", "Küche", "Cuisine", "Cocina", "Cucina", "Keuken", "Kuchnia"),
    "living": ("Living Room", "Wohnzimmer", "Salon", "Salón", "Soggiorno", "Woonkamer", "Salon"),
    "bath": ("Bathroom", "Bad", "Salle de bain", "Baño", "Bagno", "Badkamer", "Łazienka"),
    "office": ("Office", "Büro", "Bureau", "Despacho", "Studio", "Kantoor", "Biuro"),
}
THINGS: Sequence[tuple[str, str, str, dict[str, Any], Sequence[str]]] = [
    (COFFEE, "kitchen", "off", {}, ("Coffee Machine", "Kaffeemaschine", "Machine à café", "Cafetera", "Macchina del caffè", "Koffiemachine", "Ekspres do kawy")),
    (HEATER, "bath", "off", {}, ("Heater", "Heizlüfter", "Radiateur", "Calefactor", "Stufetta", "Kacheltje", "Grzejnik")),
    (TREE, "living", "off", {}, ("Christmas Tree", "Weihnachtsbaum", "Sapin de Noël", "Árbol de Navidad", "Albero di Natale", "Kerstboom", "Choinka")),
    (BLINDS, "living", "open", {"device_class": "blind", "supported_features": 15, "current_position": 100}, ("Living Room Blinds", "Wohnzimmerrollo", "Volets du salon", "Persianas del salón", "Tapparelle del soggiorno", "Rolluiken woonkamer", "Rolety w salonie")),
    (ROBOT, "living", "docked", {"supported_features": 12828}, ("Robot", "Saugroboter", "Robot", "Robot", "Robot", "Robot", "Odkurzacz")),
    (TV, "living", "on", {"device_class": "tv", "supported_features": 152461, "volume_level": 0.4, "is_volume_muted": False}, ("TV", "Fernseher", "Télé", "Tele", "TV", "TV", "Telewizor")),
    (FAN, "bath", "on", {"supported_features": 49, "percentage": 50, "percentage_step": 1}, ("Bathroom Fan", "Badlüfter", "Ventilateur de la salle de bain", "Ventilador del baño", "Ventola del bagno", "Badkamerventilator", "Wentylator w łazience")),
]  # fmt: skip
SENTENCES: Mapping[str, Sequence[tuple[str, str]]] = {
    "en": [
        ("turn on the espresso machine", COFFEE), ("pop the coffee maker on", COFFEE), ("turn the space heater on", HEATER),
        ("send the robot out to clean", ROBOT), ("get the robot to hoover", ROBOT), ("close the curtains in the living room", BLINDS),
        ("let the heater run", HEATER),
    ],
    "de": [
        ("den kaffeevollautomaten anmachen", COFFEE), ("schmeiß die espressomaschine an", COFFEE), ("mach das heizgerät an", HEATER),
        ("mach den christbaum an", TREE), ("lass den heizlüfter laufen", HEATER), ("fernseher auf stumm stellen", TV),
        ("mach am fernseher den ton aus", TV), ("schick den roboter saugen", ROBOT), ("mach die vorhänge im wohnzimmer zu", BLINDS),
    ],
    "fr": [
        ("allume la cafetière", COFFEE), ("allume le sapin", TREE), ("tu allumeras le chauffage d'appoint", HEATER),
        ("coupe le ventilateur", FAN), ("passe l'aspirateur", ROBOT), ("ferme les rideaux du salon", BLINDS),
        ("mets la télé sur muet", TV), ("fais tourner le radiateur", HEATER),
    ],
    "es": [
        ("enciende la máquina de café", COFFEE), ("enciende la estufa", HEATER), ("enciende el árbol", TREE),
        ("pasa la aspiradora", ROBOT), ("manda el robot a limpiar", ROBOT),
        ("cierra las cortinas del salón", BLINDS), ("pon la tele en silencio", TV), ("apaga la tele inmediatamente", TV),
    ],
    "it": [
        ("accendi la macchinetta del caffè", COFFEE), ("accendi la stufa", HEATER), ("accendi l'albero", TREE),
        ("fai andare la stufetta", HEATER), ("spegni la tv", TV), ("manda il robot a pulire", ROBOT), ("chiudi le tende del soggiorno", BLINDS),
    ],
    "nl": [
        ("zet het koffiezetapparaat aan", COFFEE), ("het koffieapparaat aanzetten", COFFEE), ("het koffieapparaat mag aan", COFFEE),
        ("zet de straalkachel aan", HEATER), ("doe de gordijnen in de woonkamer dicht", BLINDS), ("laat het kacheltje lopen", HEATER),
        ("zet onmiddellijk de tv uit", TV),
    ],
    "pl": [
        ("włącz ekspres", COFFEE), ("włącz farelkę", HEATER), ("niech grzejnik chodzi", HEATER), ("zapuść odkurzacz", ROBOT),
        ("zasłoń zasłony w salonie", BLINDS), ("włącz drzewko", TREE),
    ],
}  # fmt: skip

ORDERS: Mapping[str, Sequence[tuple[str, str]]] = {
    "en": [
        ("the tv needs to go off", TV), ("the bathroom fan can go off", FAN), ("I'd like the christmas tree to come on", TREE),
        ("the christmas tree should be on", TREE), ("I want the heater on", HEATER), ("I need the coffee machine on", COFFEE),
        ("make sure the tv is off", TV), ("would you mind switching off the tv", TV), ("have the fan in the bathroom off", FAN),
        ("send the robot round", ROBOT), ("the robot should start", ROBOT), ("the living room blinds should come down", BLINDS),
        ("the blinds in the living room need closing", BLINDS),
        ("the children are asleep, turn off the tv", TV), ("it's chilly in here, turn the heater on", HEATER), ("time to sleep: tv off", TV),
    ],
    "de": [
        ("der fernseher kann aus", TV), ("der badlüfter muss aus", FAN), ("der weihnachtsbaum soll angehen", TREE),
        ("ich möchte, dass der heizlüfter angeht", HEATER), ("sorg dafür, dass der fernseher aus ist", TV),
        ("machst du den weihnachtsbaum an?", TREE), ("schaltest du den badlüfter aus?", FAN), ("fährst du das wohnzimmerrollo runter?", BLINDS),
        ("der saugroboter soll loslegen", ROBOT), ("der saugroboter darf losfahren", ROBOT), ("das wohnzimmerrollo soll runter", BLINDS),
        ("die kinder schlafen, mach den fernseher aus", TV), ("mir ist kalt, schalte den heizlüfter ein", HEATER), ("ab ins bett, fernseher aus", TV),
    ],
    "fr": [
        ("je voudrais que le sapin s'allume", TREE), ("j'aimerais que la télé s'éteigne", TV), ("il faut que la télé soit éteinte", TV),
        ("tu m'éteins la télé", TV), ("est-ce que tu peux allumer le sapin ?", TREE), ("tu m'allumes la machine à café", COFFEE),
        ("la télé doit s'éteindre", TV), ("fais en sorte que le radiateur s'allume", HEATER), ("envoie le robot", ROBOT),
        ("les volets du salon peuvent se fermer", BLINDS), ("coupe la télé", TV), ("les enfants dorment, éteins la télé", TV),
    ],
    "nl": [
        ("de tv kan uit", TV), ("de badkamerventilator moet uit", FAN), ("de kerstboom moet aan", TREE),
        ("ik wil dat het kacheltje aangaat", HEATER), ("zorg dat de tv uit is", TV), ("doe jij de kerstboom aan", TREE),
        ("zou je de tv kunnen uitzetten", TV), ("de robot mag beginnen", ROBOT), ("stuur de robot op pad", ROBOT),
        ("de rolluiken in de woonkamer moeten omlaag", BLINDS), ("de kerstboom aan", TREE),
        ("de kinderen slapen, doe de tv uit", TV), ("ik heb het koud, zet het kacheltje aan", HEATER), ("eindelijk, tv uit", TV),
    ],
}  # fmt: skip
"""Orders that are said as a statement, as a wish, as a question of what is done, or behind what is only told."""
NO_ORDERS: Mapping[str, Sequence[str]] = {
    "en": [
        "the tv is off", "the christmas tree might be on", "should the heater be on", "can the robot go out", "the tv shouldn't go off",
        "I don't want the heater on", "if the kids are asleep, the tv can go off", "Lisa said, turn off the tv", "have the fans been off",
        "he told me, turn the heater on", "we arrive at six, turn the heater on", "the heater too, it is cold", "oh", "oh, and the tree",
    ],
    "de": [
        "der fernseher ist aus", "der weihnachtsbaum könnte an sein", "soll der heizlüfter an", "soll der heizlüfter an?",
        "der fernseher muss nicht aus", "ich will nicht, dass der heizlüfter angeht", "wenn alle schlafen, kann der fernseher aus",
        "er hat gesagt, mach den fernseher aus", "machst du den fernseher nie aus?", "wir kommen um sechs, mach den heizlüfter an",
    ],
    "fr": [
        "la télé s'éteint", "le sapin s'allume", "est-ce que le sapin s'allume", "je ne veux pas que le radiateur s'allume",
        "je crois que le radiateur s'allume", "si tout le monde dort, la télé peut s'éteindre", "il a dit, éteins la télé",
        "tu ne m'éteins jamais la télé", "on arrive à six heures, allume le radiateur",
    ],
    "nl": [
        "de tv is uit", "de kerstboom zou aan kunnen zijn", "moet het kacheltje aan", "moet het kacheltje aan?", "kan de tv uit", "mag de kerstboom aan?", "kan de tv uit?",
        "de tv hoeft niet uit", "ik wil niet dat het kacheltje aangaat", "als iedereen slaapt mag de tv uit", "hij zei, doe de tv uit",
        "we komen om zes uur, zet het kacheltje aan",
    ],
}  # fmt: skip


def _home(language: str, *more: dict[str, Any], without: Sequence[str] = ()) -> dict[str, Any]:
    at = LANGUAGES.index(language)
    entities: list[dict[str, Any]] = [
        {"entity_id": entity_id, "name": names[at], "aliases": [], "domain": entity_id.partition(".")[0], "area": area,
         "device_class": attributes.get("device_class"), "state": state, "attributes": dict(attributes), "device": None}
        for entity_id, area, state, attributes, names in THINGS if entity_id not in without
    ]  # fmt: skip
    areas: list[dict[str, Any]] = [
        {"id": key, "name": names[at], "aliases": [], "floor": None} for key, names in ROOMS.items()
    ]
    return {
        "id": "home", "language": language, "floors": [], "devices": [], "areas": areas, "entities": [*entities, *more]
    }  # fmt: skip


async def _async_living(
    hass: HomeAssistant, language: str, *more: dict[str, Any], without: Sequence[str] = ()
) -> AsyncGenerator[House]:
    hass.config.language = language
    house = House(hass, _home(language, *more, without=without))
    await house.async_begin()
    yield house


async def _async_called(hass: HomeAssistant, house: House, language: str, sentence: str) -> set[str]:
    user = await hass.auth.async_create_user("Somebody", group_ids=["system-admin"])
    house.prepare({})
    house.called.clear()
    await conversation.async_converse(
        hass, sentence, None, Context(user_id=user.id), language, "conversation.home_agent"
    )
    await hass.async_block_till_done()
    return set(house.called)


@pytest.mark.parametrize("language", LANGUAGES)
async def test_everyday_words_are_understood(hass: HomeAssistant, language: str) -> None:
    async for house in _async_living(hass, language):
        found = {said: await _async_called(hass, house, language, said) for said, _ in SENTENCES[language]}
        assert found == {said: {entity_id} for said, entity_id in SENTENCES[language]}


@pytest.mark.parametrize("language", [*ORDERS])
async def test_orders_in_other_forms_are_done(hass: HomeAssistant, language: str) -> None:
    async for house in _async_living(hass, language):
        found = {said: await _async_called(hass, house, language, said) for said, _ in ORDERS[language]}
        assert found == {said: {entity_id} for said, entity_id in ORDERS[language]}


@pytest.mark.parametrize("language", [*NO_ORDERS])
async def test_what_only_looks_like_an_order_does_nothing(hass: HomeAssistant, language: str) -> None:
    async for house in _async_living(hass, language):
        found = {said: await _async_called(hass, house, language, said) for said in NO_ORDERS[language]}
        assert found == {said: set() for said in NO_ORDERS[language]}


def _other(entity_id: str, name: str, state: str, area: str, **attributes: Any) -> dict[str, Any]:
    return {
        "entity_id": entity_id, "name": name, "aliases": [], "domain": entity_id.partition(".")[0], "area": area, "state": state,
        "device_class": attributes.get("device_class"), "attributes": attributes, "device": None,
    }  # fmt: skip


@pytest.mark.parametrize(("language", "name", "said"), [
    ("en", "Coffee table", "turn on the coffee maker"), ("en", "Palm tree", "turn on the christmas tree"),
    ("de", "Kaffeeecke", "schalte die Kaffeemaschine ein"), ("fr", "Coin café", "allume la cafetière"),
    ("es", "Árbol del patio", "enciende el arbolito"), ("it", "Angolo caffè", "accendi la macchinetta del caffè"),
    ("nl", "Koffiehoek", "zet het koffieapparaat aan"), ("pl", "Kawa", "włącz ekspres"),
])  # fmt: skip
async def test_what_only_has_a_word_of_another_name_is_not_meant(
    hass: HomeAssistant, language: str, name: str, said: str
) -> None:
    other = _other("switch.other", name, "off", "living")
    async for house in _async_living(hass, language, other, without=(COFFEE, TREE)):
        assert await _async_called(hass, house, language, said) == set()


@pytest.mark.parametrize(("language", "said"), [
    ("en", "close the curtains in the living room"), ("de", "schließe die Vorhänge im Wohnzimmer"),
    ("nl", "doe de gordijnen in de woonkamer dicht"), ("it", "chiudi le tende del soggiorno"),
])  # fmt: skip
async def test_blinds_are_no_curtains_where_there_are_curtains(hass: HomeAssistant, language: str, said: str) -> None:
    curtain = _other("cover.curtain", "Xylo", "open", "office", device_class="curtain", supported_features=15)
    async for house in _async_living(hass, language, curtain):
        assert await _async_called(hass, house, language, said) == set()


@pytest.mark.parametrize(("language", "said"), [
    ("es", "el ventilador para el baño"), ("fr", "tu as éteint le ventilateur"), ("nl", "de gordijnen zijn dicht"),
    ("it", "la stufa è accesa"), ("de", "der Christbaum ist an"), ("en", "the coffee maker was on"),
    ("pl", "niech nikt nie włącza grzejnika"),
])  # fmt: skip
async def test_what_is_no_command_does_nothing(hass: HomeAssistant, language: str, said: str) -> None:
    async for house in _async_living(hass, language):
        assert await _async_called(hass, house, language, said) == set()
