"""Which words are forms of one another in languages that decline them: "света" is "свет", "okien" is "okno".

A word may be cut at each ending that its language has. Two words are forms of one when something is left that they have in
common. Languages without a table here decline little, and likeness of the letters (words.py) is enough for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from .words import fold, normal

type Stems = tuple[frozenset[str], ...]
"""Of each word of a phrase."""

_LEAST_STEM = 3  # letters: what is left of a word must still tell it from others
_LEAST_NAMED = 4  # the same where it may be any word that the house has

_EAST = "а я о е у ю и ь ой ей ою ею ом ем ам ям ах ях ами ями ого его ому ему им их ими ию"
_SOUTH = "a e i o u om em og oga omu ome oj ih im ima ama ova eva ovi evi ove eve ovima evima"
ENDINGS: Mapping[str, str] = {
    "be": f"{_EAST} ы і ый ая ое ые ага ый ым ых ымі амі ямі аў яў оў ёў ай яй",
    "bg": "а я о е и ът ят та то те ите ове овете ата ята ища ищата ия ият",
    "cs": "a á o e ě é y ý i í u ů ou em ém ím ám ům ech ách ích ých ami emi ími ými mi ové ovi ej ého ému ího ímu",
    "el": "α ας η ης ο ος ου ον ι οι ες ων ους εις εως ιου ια ιων ατα ατος ατων",
    "et": "a e i u d t s l st lt le ks ga ni sse de te id ed ad ud es is as us el al il ul est ist ast ust elt alt ilt ult ele ale ile ule eks iks aks ega iga aga uga ede ide ade ude",
    "fi": (
        "a ä n t i ta tä ssa ssä sta stä lla llä lta ltä lle na nä ksi an än en in on un aan ään een iin oon uun ja jä ia iä jen ien iden "
        "itä ita issa issä ista istä illa illä ilta iltä ille ihin oita öitä oiden öiden oissa öissä oilla öillä oja öjä ojen öjen "
        "eita eitä eiden eissa eissä eja ejä ejen eihin et at ät essa essä esta estä ella ellä elle eseen"
    ),
    "bs": _SOUTH, "hr": _SOUTH,
    "hu": (
        "t k ok ek ök ak at et ot öt kat ket okat eket öket akat ban ben ba be ból ből n on en ön ra re ról ről hoz hez höz tól től "
        "nál nél nak nek val vel ja je a e i jai jei kban kben knak knek kra kre kon ken okon eken okban ekben okra ekre ából éből ában ében"
    ),
    "lt": "a as is us ys ė e o io iaus ies ės ui iui ai iui ei ą į ų ę u iu iu e ėje oje yje uje ai iai ys ūs ės os ų ių ams iams ėms oms is iais ėmis omis uose iuose ėse ose",
    "lv": "a as s š is us e es ai ei ij im um u i ā ē ī ū am em ām ēm īm iem os ās ēs īs ais ajā ajās",
    "mk": "а о е и от та то те ите ови овите ата ја ња",
    "pl": "a ą o e ę y i u ó em ie iem om ami mi ach ów owi ią ię io ii iom iami iach ego iego emu iemu ym im ej iej ych ich ymi imi ia iu",
    "ro": "a ă e i u ul ului le lui lor ei ele elor ea ii iei ile ilor uri urile urilor",
    "ru": f"{_EAST} ы ый ий ая яя ое ее ые ие ым ых ыми ую юю ов ев ёв ей ия ии ием иям иях иями ью",
    "sk": "a á o e é y ý i í u ú ou om em ám iam och ach iach ách ami mi ov ovi ia ie iu ého ému ým ých ými ieho iemu ím ích ími ej",
    "sl": f"{_SOUTH} ov ev ah eh ami emi mi ega emu imi oma",
    "sr": f"{_SOUTH} а е и о у ом ем ог ога ому оме ој их им има ама ова ева ови еви ове еве овима евима",
    "tr": "i ı u ü yi yı yu yü ni nı nin nın nun nün in ın un ün a e ya ye da de ta te dan den tan ten lar ler ları leri ların lerin lara lere larda lerde lardan lerden si sı su sü sini sını",
    "uk": f"{_EAST} і ї ій ия ія ії єю ією ою ів їв єм ові еві єві ьою ього ьому ими іми іх іям іях іями єї ть ю",
}  # fmt: skip
"""The endings of nouns and adjectives by language; that a word may have none is left out."""
_FLEETING: Mapping[str, tuple[str, ...]] = {
    "be": ("а", "о", "е"), "bg": ("е", "ъ"), "bs": ("a",), "cs": ("e",), "hr": ("a",), "mk": ("е", "о"), "pl": ("ie", "e"), "ru": ("о", "е"),
    "sk": ("ie", "e", "o"), "sl": ("e",), "sr": ("a", "а"), "uk": ("о", "е", "і"),
}  # fmt: skip
"""Vowels that stand before the last consonant of some forms only: "замок" and "замка"."""
_SOUNDS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "fi": (("pp", "p"), ("tt", "t"), ("kk", "k")), "tr": (("g", "k"), ("b", "p"), ("d", "t")), "uk": (("і", "о"),),
}  # fmt: skip
"""Sounds that differ between forms: "lamppu" and "lamput", "ışık" and "ışığı"."""
_DERIVED: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("be", "bg", "mk", "ru", "sr", "uk"), ("н", "ьн", "ов", "ев", "ск")),
    **dict.fromkeys(("bs", "cs", "hr", "pl", "sk", "sl"), ("n", "sk", "ov", "ow")),
}
"""What makes an adjective of a noun: "кухонный" is of the "кухня"."""
_VOWELS = frozenset("aeiouyаеиоуыэюяіъ")


class Forms:
    """Words and phrases of a language, found again in whatever form they are said."""

    def __init__(self, base: str = "", phrases: Iterable[str] = (), *, adjectives: bool = False) -> None:
        """Take folded words, or several with spaces between; `base` is the code of the language without a region.

        With `adjectives` those that are made of a word count as its forms as well.
        """
        self._base = base
        self._said = roots_of if adjectives else stems_of
        self._by_stem: dict[str, list[tuple[str, Stems]]] = {}
        for phrase in sorted(phrases) if base in ENDINGS else ():
            stems = tuple(stems_of(base, word) for word in phrase.split())
            for stem in stems[0]:
                self._by_stem.setdefault(stem, []).append((phrase, stems))

    def of(self, word: str) -> list[str]:
        """Return the single words that a folded word is a form of; maybe itself among them."""
        return [phrase for length, phrase in self.starting([word], 0) if length == 1]

    def starting(self, spoken: Sequence[str], start: int) -> Iterator[tuple[int, str]]:
        """Yield what a text says from one of its folded words on: how many words, and the word or phrase."""
        if not self._by_stem:
            return
        seen: set[str] = set()
        for stem in sorted(self._said(self._base, spoken[start])):
            for phrase, stems in self._by_stem.get(stem, ()):
                if phrase not in seen and self._says(spoken[start : start + len(stems)], stems):
                    seen.add(phrase)
                    yield len(stems), phrase

    def _says(self, spoken: Sequence[str], stems: Stems) -> bool:
        return len(spoken) == len(stems) and not any(
            wanted.isdisjoint(self._said(self._base, word)) for word, wanted in zip(spoken, stems, strict=True)
        )


@lru_cache(maxsize=16384)
def stems_of(base: str, word: str) -> frozenset[str]:
    """Return what may be left of a folded word without its ending; the word alone where its language declines little."""
    cut = {word, *(word.removesuffix(end) for end in _endings(base))}
    cut |= {short for stem in cut if (short := _without_fleeting(base, stem))}
    return frozenset(_sounded(base, stem) for stem in cut if len(stem) >= _LEAST_STEM) or frozenset({word})


@lru_cache(maxsize=16384)
def roots_of(base: str, word: str) -> frozenset[str]:
    """Return the stems of a folded word, and of the nouns that it may be an adjective of."""
    stems = stems_of(base, word)
    cut = {stem.removesuffix(suffix) for stem in stems for suffix in _DERIVED.get(base, ()) if stem.endswith(suffix)}
    cut |= {short for stem in cut if (short := _without_fleeting(base, stem))}
    return stems.union(stem for stem in cut if len(stem) >= _LEAST_STEM)


def forms_of(base: str, word: str) -> Iterator[str]:
    """Yield what a folded word may be called in another form: hundreds of them, few of which exist."""
    for stem in roots_of(base, word) if base in ENDINGS else ():
        if len(stem) >= _LEAST_NAMED:
            yield stem
            yield from (stem + end for end in _endings(base))
            yield from (stem[:-1] + vowel + stem[-1] for vowel in _FLEETING.get(base, ()))


@lru_cache(maxsize=32)
def _endings(base: str) -> frozenset[str]:
    return frozenset(fold(normal(end)) for end in ENDINGS.get(base, "").split())


def _without_fleeting(base: str, stem: str) -> str:
    for vowel in _FLEETING.get(base, ()):
        before = stem[: -len(vowel) - 1]
        if len(before) > 1 and stem[-len(vowel) - 1 : -1] == vowel and not {before[-1], stem[-1]} & _VOWELS:
            return before + stem[-1]
    return ""


def _sounded(base: str, stem: str) -> str:
    for one, other in _SOUNDS.get(base, ()):
        stem = stem.replace(one, other)
    return stem
