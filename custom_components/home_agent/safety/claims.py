"""Does an answer claim that something was done? By tables per language, without a model.

Only sentences that say "I have done it" count. Questions, offers, states ("the light is on"), conditions and what is in
quotation marks do not. An unknown language makes no claims.
"""

from functools import cache
import re

from ..turn import Turn
from .claim_words import CLAIM_WORDS, REQUESTS, ClaimWords

FALLBACK = "en"
"""Models fall back to it, whatever the user speaks."""

_QUOTED = re.compile(r"“[^”]*”|\"[^\"]*\"|«[^»]*»|„[^“”]*[“”]|```.*?```", re.DOTALL)
_MARKUP = re.compile(r"[*_`#>]+")
_SENTENCE = re.compile(r"[^.!?:\n]+[.!?:\n]*")
_EDGES = " .!?;:,\n\t—–-"
_COURTESY = re.compile(
    r"(?<=\w)[\s,.!;–-]+(?:thanks|thank you|danke(?: schön| dir)?|vielen dank|merci|gracias|grazie|bedankt|dank je|спасибо|"
    r"dzięki|dziękuję|obrigad[oa]|tack)(?: (?:very much|a lot|so much|sehr|beaucoup|mille|bardzo|im voraus|in advance))?[\s.!]*$"
)
"""Thanks behind a request are a courtesy; thanks alone are for something that was done."""
_A_REQUEST = 3  # words
_AGREEMENT = re.compile(
    r"ok|okay|sure|sure thing|alright|all right|certainly|of course|got it|no problem|right away|great|perfect|absolutely|klar|"
    r"na klar|gerne?|natürlich|selbstverständlich|alles klar|verstanden|bien sûr|d'accord|claro|por supuesto|certo|va bene|"
    r"natuurlijk|prima|конечно|хорошо"
)


def claims_action(answer: str, language: str) -> bool:
    """Return whether the answer says that something was done just now."""
    sentences = list(_sentences(answer))
    return any(_claims(words, sentences) for words in _words_of(language))


def claims_falsely(turn: Turn, answer: str) -> bool:
    """Return whether an answer claims an action though nothing was done in its turn, and none is waiting for a yes."""
    if turn.acted or turn.request_id is not None:
        return False
    return claims_action(answer, turn.language) and not looks_back(turn.text, turn.language)


def looks_back(text: str, language: str) -> bool:
    """Return whether the user asks, thanks or talks about earlier: an answer may then tell of what was done before."""
    said = _plain(text)
    if len((asked := _COURTESY.sub("", said)).split()) >= _A_REQUEST:
        said = asked
    if said.endswith(("?", "？")) and _asks(said, language):
        return True
    return any(_compiled(words.looks_back).search(said) for words in _words_of(language))


def _asks(said: str, language: str) -> bool:
    """Return whether a text with a question mark is a question; "can you turn on the light?" is a request."""
    return not any(_compiled(REQUESTS[code]).search(said) for code in _codes(language) if code in REQUESTS)


def _claims(words: ClaimWords, sentences: list[str]) -> bool:
    told = [raw.strip(_EDGES) for raw in sentences if not raw.endswith(("?", "？"))]
    claimed = [sentence for sentence in told if not _compiled(words.denials).search(sentence)]
    return _is_done(words, sentences, claimed) or any(
        _compiled(claim).search(sentence) for sentence in claimed for claim in words.claims
    )


def _is_done(words: ClaimWords, sentences: list[str], claimed: list[str]) -> bool:
    """Return whether the first sentence that is more than an agreement says that it is done; a heading does not."""
    first = next((raw for raw in sentences if not _AGREEMENT.fullmatch(raw.strip(_EDGES))), "")
    if first.endswith(":") or (sentence := first.strip(_EDGES)) not in claimed:
        return False
    return any(_compiled(done).fullmatch(sentence) for done in words.done)


def _sentences(text: str) -> list[str]:
    return [found.strip() for found in _SENTENCE.findall(_plain(_QUOTED.sub(" ", text))) if found.strip(_EDGES)]


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).replace("’", "'").casefold().strip()


def _codes(language: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((language.partition("-")[0].casefold(), FALLBACK)))


def _words_of(language: str) -> list[ClaimWords]:
    return [CLAIM_WORDS[code] for code in _codes(language) if code in CLAIM_WORDS]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
