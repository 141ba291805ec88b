"""Does a sentence ask to take back what was done last? Whole utterances by tables, before anything else hears them."""

from functools import cache
import re

FALLBACK = "en"

UNDO: dict[str, tuple[str, ...]] = {
    "cs": ("vrať to", "vrať to zpět", "vrať zpět poslední akci", "zruš poslední akci"),
    "da": ("fortryd", "fortryd det", "fortryd den sidste handling", "lav det om igen"),
    "de": (
        "rückgängig", "rückgängig machen", "mach das rückgängig", "mach es rückgängig", "mach das wieder rückgängig",
        "mach es wieder rückgängig", "mache das rückgängig", "mache es rückgängig", "das rückgängig machen",
        "mach die letzte aktion rückgängig", "mache die letzte aktion rückgängig", "letzte aktion rückgängig machen",
        "mach den letzten befehl rückgängig", "mach alles rückgängig", "mach das letzte rückgängig", "nimm das zurück",
        "kannst du das rückgängig machen", "stell das wieder her", "wieder so wie vorher", "mach es wieder wie vorher",
        "mach das wieder wie vorher", "alles wieder wie vorher",
    ),
    "en": (
        "undo", "undo that", "undo it", "undo this", "undo everything", "undo that action", "undo the last action",
        "undo last action", "undo the last command", "undo the last change", "undo the last thing", "undo the last thing you did",
        "undo what you did", "undo what you just did", "undo your last action", "take that back", "take it back", "revert",
        "revert that", "revert it", "revert the last change", "reverse that", "put it back", "put that back", "change it back",
        "change that back", "put it back the way it was", "put everything back", "can you undo that", "could you undo that",
    ),
    "es": (
        "deshacer", "deshaz", "deshaz eso", "deshaz esto", "deshazlo", "deshacer eso", "deshaz lo último", "deshaz la última acción",
        "deshacer la última acción", "revierte eso", "revierte la última acción", "vuelve a dejarlo como estaba", "déjalo como estaba",
    ),
    "fi": ("kumoa", "kumoa se", "kumoa viimeisin toiminto", "peru viimeisin toiminto"),
    "fr": (
        "annule ça", "annule cela", "annule la dernière action", "annuler la dernière action", "annulez ça", "annule ce que tu as fait",
        "annule ce que tu viens de faire", "défais ça", "remets comme avant", "remets comme c'était", "remets ça comme avant",
        "remets tout comme avant", "reviens en arrière",
    ),
    "hu": ("vond vissza", "csináld vissza", "vond vissza az utolsó műveletet"),
    "it": (
        "annullalo", "annulla l'ultima azione", "annulla l'ultimo comando", "annulla quello che hai fatto", "annulla la modifica",
        "rimetti come prima", "rimetti tutto come prima", "ripristina", "disfa",
    ),
    "nb": ("angre", "angre det", "angre siste handling", "gjør om det"),
    "nl": (
        "ongedaan maken", "maak dat ongedaan", "maak het ongedaan", "maak dit ongedaan", "maak de laatste actie ongedaan",
        "laatste actie ongedaan maken", "draai dat terug", "draai het terug", "zet het terug", "zet alles terug", "herstel dat",
    ),
    "pl": ("cofnij", "cofnij to", "cofnij ostatnią akcję", "cofnij ostatnie polecenie", "przywróć poprzedni stan"),
    "pt": (
        "desfazer", "desfaz", "desfaz isso", "desfaça isso", "desfazer isso", "desfaz a última ação", "desfaça a última ação",
        "desfazer a última ação", "reverte isso", "volta a pôr como estava",
    ),
    "ru": (
        "отмени это", "отмени последнее действие", "отменить последнее действие", "отмени последнюю команду", "отмени то что сделал",
        "верни как было", "верни всё как было", "верни обратно", "верни назад", "сделай как было",
    ),
    "sv": ("ångra", "ångra det", "ångra det där", "ångra senaste åtgärden", "ställ tillbaka det"),
    "uk": ("скасуй це", "скасуй останню дію", "поверни як було", "поверни назад"),
}  # fmt: skip
"""A word that also means "cancel" alone stays out: it answers questions."""

_POLITE_PHRASES = (
    "por favor", "s'il te plaît", "s'il vous plaît", "per favore", "будь ласка",
)  # fmt: skip
_POLITE = frozenset(
    {
        "please", "bitte", "alsjeblieft", "alstublieft", "пожалуйста", "proszę", "tack", "kérlek", "prosím", "wait", "oh", "no",
        "nein", "non", "hey", "hoppla", "oops", "ok", "okay", "halt", "stop", "stopp",
    }
)  # fmt: skip
MAX_ASKED = 500  # characters; a longer text says something else, and a pasted book would take seconds
_PUNCTUATION = re.compile(r"[.,!?;:…¡¿\"“”„«»]+")


def asks_to_undo(text: str, language: str) -> bool:
    """Return whether the whole text asks to take back what was done last; courtesies do not count."""
    if len(text) > MAX_ASKED:
        return False
    said = _plain(text)
    for phrase in _POLITE_PHRASES:
        said = said.replace(phrase, " ")
    said = " ".join(word for word in said.split() if word not in _POLITE)
    codes = dict.fromkeys((language.partition("-")[0].casefold(), FALLBACK))
    return any(said in _asked_in(code) for code in codes)


@cache
def _asked_in(code: str) -> frozenset[str]:
    return frozenset(map(_plain, UNDO.get(code, ())))


def _plain(text: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", text.replace("’", "'").casefold().replace("ё", "е")).split())
