"""Masks personal data in what leaves the home, and the owner's secrets in what comes from outside.

Personal data are e-mail and street addresses, phone, card, account and identity numbers. Better too little than too much is
masked: ids, temperatures, times, dates, IP addresses and serial numbers stay; a card or an account must pass its check sum, or
have a word for it in front. The same text always gives the same result, so that a prompt cache holds.
"""

import base64
from collections.abc import Callable, Iterable, Mapping
import html
import json
import re
from urllib.parse import quote, quote_plus

from homeassistant.util.json import JsonValueType

EMAIL = "[email]"
PHONE = "[phone]"
ADDRESS = "[address]"
CARD = "[card]"
ACCOUNT = "[account]"
IDENTITY = "[identity number]"
PLACEHOLDERS = (EMAIL, PHONE, ADDRESS, CARD, ACCOUNT, IDENTITY)
"""Texts in place of personal data."""

# Neither part of a word, an id, a decimal, a time or an address of a computer
_BEFORE = r"(?<![\w.@#+/-])(?<!\d[,: ])"
_AFTER = r"(?![\w@])(?![.,:/-]\d)"

_EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[^\W_](?:[^\W_]|-){0,62}\.(?:(?:[^\W_]|-){1,63}\.){0,4}[^\W\d_]{2,24}(?![\w-])"
)
_PHONES = (
    # +49 (0)171 234-5678
    re.compile(r"(?<![\w.+])\+[1-9](?:[ .\-/]?\(?\d\)?){7,14}(?![\w@])(?![.,:]\d)"),
    # 0049 171 2345678
    re.compile(_BEFORE + r"00(?:[34]\d|[17])(?:[ \-/]?\(?\d\)?){7,12}" + _AFTER),
    # 030/1234567, (0171) 234 56 78, 0171-2345678
    re.compile(_BEFORE + r"(?:\(0\d{2,5}\) ?|0\d{2,5}(?: ?[/-] ?| ))\d{2,8}(?:[ -]\d{2,8}){0,4}" + _AFTER),
    # 01 23 45 67 89
    re.compile(_BEFORE + r"0[1-9](?:([ .-])\d{2})(?:\1\d{2}){3}" + _AFTER),
    # mobile numbers, in one piece as well: Germany, the United Kingdom, France and other countries
    re.compile(_BEFORE + r"(?:01[567]\d(?:[ ./-]?\d){7,8}|07\d{9}|0[67]\d{8})" + _AFTER),
    # (555) 123-4567, 1-800-555-0199
    re.compile(_BEFORE + r"(?:1[ .-])?(?:\([2-9]\d{2}\) ?|[2-9]\d{2}([ .-]))[2-9]?\d{2,3}(?:\1|[ .-])\d{4}" + _AFTER),
    # 612 345 678: mobile numbers of Spain and Poland, in one piece as well
    re.compile(_BEFORE + r"(?:[67]\d{2}|5[0137]\d|45\d|88\d)([ -]?)\d{3}\1\d{3}" + _AFTER),
    # 8 (495) 123-45-67, 89161234567
    re.compile(_BEFORE + r"8[ -]?\(?[3489]\d{2}\)?[ -]?\d{3}[ -]?\d{2}[ -]?\d{2}" + _AFTER),
)
_PHONE_DIGITS = range(9, 16)
_CALLED_PHONE = re.compile(
    r"(\b(?:tel(?:efon)?|phone|mobile|cell|handy|mobil|fax|телефон|тел|моб|tel[ée]fono|t[ée]l(?:[ée]phone)?|m[óo]vil|portable)\b"
    r"(?:[ -]?(?:number|nummer|nr|no|номер))?(?: (?:is|ist|lautet|es|est))?[\s.:=#]{0,4})((?:\d[ /-]?){5,14}\d)(?![\w@])",
    re.IGNORECASE,
)
_SERIAL = re.compile(
    r"(?:serial|serien|s/n|\bsn|imei|\bid|uid|mac|\bean|barcode|серийн)\w{0,12}(?:\W{0,3}(?:number|nummer|nr|no|номер))?\W{0,4}$",
    re.IGNORECASE,
)
"""A word in front of a serial number, which is not masked."""

_CARD = re.compile(_BEFORE + r"[2-6]\d{3}(?:([ -]?)\d{4}\1\d{4}\1\d{1,7}|([ -]?)\d{6}\2\d{4,5})" + _AFTER)
_CARD_STARTS = re.compile(
    r"(?:4|5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|220[0-4]|6(?:011|4[4-9]|5|2)|35(?:2[89]|[3-8]))\d*|3(?:[47]\d{13}|[068]\d{12})"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}", re.IGNORECASE)
_CALLED_ACCOUNT = re.compile(
    r"((?:\baccount|konto|\bblz|\bсч[её]т)(?:[ -]?(?:number|nummer|nr|no|номер))?[\s.:=#№]{0,4})(\d(?:[ -]?\d){5,29})(?!\w)",
    re.IGNORECASE,
)

_PESEL = re.compile(_BEFORE + r"\d{2}(?:[02][1-9]|[13][0-2])(?:0[1-9]|[12]\d|3[01])\d{5}" + _AFTER)
_PESEL_WEIGHTS = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
_SSN = re.compile(_BEFORE + r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}" + _AFTER)
_CALLED_IDENTITY = re.compile(
    r"(\b(?:ssn|social security|national insurance|passport|steuer-?id\w*|steueridentifikation\w*|sozialversicherung\w*|rentenversicherung\w*"
    r"|(?:personal)?ausweis\w*|reisepass\w*|dni|nie|nif|pasaporte|passeport|s[ée]cu(?:rit[ée] sociale)?|pesel|nip|bsn|burgerservice\w*|снилс|инн|паспорт\w*)"
    r"(?:[ -]?(?:number|nummer|nr|no|номер|número))?(?: (?:is|ist|lautet|es|est))?[\s.:=#№]{0,4})"
    r"((?=[A-Z]{0,2}\d)(?:[A-Z]{0,2}\d[A-Z]?[ -]?){6,15}(?<![ -]))(?![\w@])",
    re.IGNORECASE,
)

_HOUSE = r"\d{1,4}(?: ?[a-zA-Z])?(?:[-/]\d{1,4})?\b"
_TOWN = r"(?:,? ?\d{5}(?: [A-ZÄÖÜ][\w-]+)?|, \d{4} [A-ZÄÖÜ][\w-]{2,40})?"
_NO_UNIT = r"(?!(?:Watt|Lux|Lumen|Volt|Kelvin|Pascal|Liter|Tage|Stunden|Minuten|Sekunden|Schritte|Euro)\b)"
_OF_THE_HOUSE = "".join(
    f"(?<!{word} )"
    for word in (
        "Hard", "Flash", "Disk", "USB", "Smart", "Garage", "Front", "Back", "Rear", "Side", "Left", "Right", "Upper", "Lower",
        "Inner", "Outer", "Star", "Roof", "Pool", "Garden", "Multi", "Backup", "Tape", "External", "Internal", "Belt",
    )
)  # fmt: skip
"""Words before "Drive" or "Way" of a device: devices are numbered like houses."""
_NO_DEVICE = r"(?! (?:[Ll]ights?|[Ll]amps?|[Ss]witch|[Ss]ensor|[Cc]am(?:era)?|[Gg]ate|[Dd]oor|[Vv]alve|[Ll]ock|[Bb]linds?|[Ss]ocket|[Pp]lug|[Tt]imer)s?\b)"
_RU_STREET = r"[Уу]л\.|[Уу]лиц[аеуы]|[Пп]росп\.|[Пп]роспекте?|[Пп]р-т|[Пп]ер\.|[Пп]ереулок|[Бб]ульвар|[Шш]оссе|[Нн]аб\.|[Нн]абережная"
_RU_HOUSE = r"(?:д\. ?|дом )?\d{1,4}[а-я]?\b(?:,? ?(?:корп\.|стр\.) ?\d{1,3})?(?:,? ?(?:кв\. ?|квартира )\d{1,4})?"
_ADDRESSES = (
    re.compile(
        r"\b(?:[A-ZÄÖÜ]\w{0,40}[ -]){0,3}\w{0,40}(?:[Ss]tra(?:ß|ss)e|[Ss]tr\.|[Gg]asse|[Aa]llee|[Cc]haussee) ?(?<![a-zß])"
        + _HOUSE
        + _TOWN
    ),
    re.compile(  # any name of a street: a house number, a comma, a postal code and a town
        r"\b(?:(?:Am|An|Auf|Bei|Hinter|Im|In|Unter|Vor|Zu[mr]?)(?: de[rmn])? (?:[A-ZÄÖÜ]\w{1,40} )?)?[A-ZÄÖÜ]\w{1,40} "
        + _HOUSE
        + r", ?\d{5} "
        + _NO_UNIT
        + r"[A-ZÄÖÜ][\w-]{2,40}"
    ),
    re.compile(
        r"\b[A-ZÄÖÜ]\w{0,40}(?:weg|platz|ring|damm|ufer) "
        + _HOUSE
        + r"(?:,? ?\d{5}(?: [A-ZÄÖÜ][\w-]+)?|, \d{4} (?!W)[A-ZÄÖÜ][\w-]{2,40})"
    ),
    re.compile(
        r"(?<![\w.,:/-])\d{1,5}[a-zA-Z]? (?:[NSEW]\.? )?(?:[A-Z][\w'’]+ ){1,3}"
        rf"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Boulevard|Blvd|Crescent|{_OF_THE_HOUSE}(?:Drive|Way|Court|Terrace)\b{_NO_DEVICE})\b\.?"
        r"(?:,? (?:Apt|Unit|Suite|#) ?\w{1,5})?(?:, [A-Z][\w ]{1,30}, [A-Z]{2} \d{5})?"
    ),
    re.compile(rf"\b(?:{_RU_STREET}|[Уу]л ) ?[А-ЯЁ][\w-]+(?: [А-ЯЁ][\w-]+)?,? ?{_RU_HOUSE}"),
    re.compile(rf"\b[А-ЯЁ]\w{{2,30}} (?:{_RU_STREET}),? ?{_RU_HOUSE}"),
    re.compile(
        r"\b\d{1,4}(?: bis| ter)?,? (?:[Rr]ue|avenue|[Bb]oulevard|place|[Cc]hemin|[Ii]mpasse) (?:[\w'’-]+ ){0,3}[A-ZÉÈ][\w'’-]+"
        r"(?:,? \d{5}(?: [A-ZÉÈ][\w-]+)?)?"
    ),
    re.compile(  # ulica Długa 12/3, 00-238 Warszawa
        r"\b(?:[Uu]l\.|[Uu]lic[aęy]|[Aa]l\.|[Aa]lej[aęi]|[Pp]l\.|[Pp]lac|[Oo]s\.|[Oo]siedle) ?(?:[A-ZŁŚŻŹĆ][\w-]{1,40} ){1,3}"
        + _HOUSE
        + r"(?:,? \d{2}-\d{3}(?: [A-ZŁŚŻŹĆ][\w-]{2,40})?)?"
    ),
    re.compile(  # Keizersgracht 123, 1015 CJ Amsterdam
        r"\b[A-Z]\w{1,40}(?:straat|gracht|laan|plein|kade|singel|dijk|steeg) "
        + _HOUSE
        + r"(?:,? \d{4} ?[A-Z]{2}\b(?: [A-Z][\w-]{2,40})?)?"
    ),
    re.compile(
        rf"\b(?:[A-Z][\w'’]+ ){{1,3}}(?:Street|Avenue|Road|Lane|Boulevard) \d{{1,4}}\b(?![°%:,.]\d|°|%){_NO_DEVICE}"
    ),
    re.compile(r"\b(?!Детск|Мастерск|Хозяйск|Людск)[А-ЯЁ][а-яё]{2,30}[сц]кая,? \d{1,4}[а-я]?\b(?! ?[°%]|[.,:]\d)"),
    re.compile(r"\b(?:Calle|Avenida|Via|Viale|Piazza|Corso) (?:[\w'’-]+ ){0,3}[A-ZÁÉÍÓÚ][\w'’-]+,? \d{1,4}\b"),
)
_STREETS = re.compile(
    r"stra(?:ß|ss)e|str\.|gasse|allee|chaussee|weg|platz|ring|damm|ufer|Street|\bSt\b|Ave|Road|\bRd\b|Lane|\bLn\b|Boulevard|Blvd|Terrace"
    r"|Crescent|Drive|Way|Court|\bул\b|улиц|просп|пр-т|пер\.|переулок|бульвар|шоссе|наб|rue|avenue|boulevard|place|chemin|impasse|calle|avenida|via|piazza"
    r"|corso|\bul\.|ulic|\bal\.|alej|\bpl\.|\bos\.|osiedle|plac|straat|gracht|laan|plein|kade|singel|dijk|steeg|[сц]кая,? \d|, ?\d{5} [a-zäöü]",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d")
_LONG_NUMBER = re.compile(r"\d(?:[ ./()-]{0,3}\d){5}")
_IBAN_MOD = 97
_IBAN_LENGTH = range(15, 35)
_IBAN_DIGITS = 10  # at least; rooms have names such as EG01, followed by words
_CARD_DIGITS = range(13, 20)


def mask(text: str) -> str:
    """Return the text with personal data replaced by its kind in brackets."""
    if "@" in text:
        text = _EMAIL.sub(EMAIL, text)
    if not _DIGITS.search(text):
        return text
    text = _CALLED_IDENTITY.sub(rf"\1{IDENTITY}", text)
    if _LONG_NUMBER.search(text):
        text = _without_ibans(text)
        text = _CARD.sub(_card, text)
        text = _CALLED_ACCOUNT.sub(rf"\1{ACCOUNT}", text)
        text = _PESEL.sub(lambda match: IDENTITY if _is_pesel(match[0]) and not _is_serial(match) else match[0], text)
        text = _SSN.sub(lambda match: match[0] if _is_serial(match) else IDENTITY, text)
        for pattern in _PHONES:
            text = pattern.sub(_phone, text)
        text = _CALLED_PHONE.sub(rf"\1{PHONE}", text)
    if _STREETS.search(text):
        for pattern in _ADDRESSES:
            text = pattern.sub(ADDRESS, text)
    return text


type Mask = Callable[[str], str]


def masked_values(value: JsonValueType, hide: Mask) -> JsonValueType:
    """Return data with its texts masked, also in keys, which a model may choose. Numbers stay."""
    match value:
        case str():
            return hide(value)
        case dict():
            return {hide(key): masked_values(item, hide) for key, item in value.items()}
        case list():
            return [masked_values(item, hide) for item in value]
    return value


def _phone(match: re.Match[str]) -> str:
    digits = sum(character.isdigit() for character in match[0])
    if digits not in _PHONE_DIGITS and not (match[0].startswith("+") and digits in range(8, 16)):
        return match[0]
    return match[0] if _is_serial(match) else PHONE


def _card(match: re.Match[str]) -> str:
    digits = re.sub(r"[ -]", "", match[0])
    if len(digits) not in _CARD_DIGITS or not _CARD_STARTS.fullmatch(digits) or _is_serial(match):
        return match[0]
    return CARD if _passes_luhn(digits) else match[0]


def _is_pesel(digits: str) -> bool:
    """Return whether eleven digits are a Polish identity number: a date of birth and a check digit."""
    return sum(int(digit) * weight for digit, weight in zip(digits, _PESEL_WEIGHTS, strict=True)) % 10 == 0


def _is_serial(match: re.Match[str]) -> bool:
    return _SERIAL.search(match.string, max(0, match.start() - 30), match.start()) is not None


def _passes_luhn(digits: str) -> bool:
    """Return whether the check digit of a card number is right (ISO/IEC 7812-1)."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if position % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _without_ibans(text: str) -> str:
    """Return the text without IBANs. Words after one look like its next digits: only the check sum tells its end."""
    position = 0
    while match := _IBAN.search(text, position):
        position = match.start() + 1
        if end := _end_of_iban(match[0], text[match.end() : match.end() + 1]):
            text = text[: match.start()] + ACCOUNT + text[match.start() + end :]
    return text


def _end_of_iban(found: str, behind: str) -> int:
    """Return the length of the account number at the start of `found`, 0 if there is none; `behind` is the character after it."""
    for end in range(len(found), _IBAN_LENGTH.start - 1, -1):
        plain = found[:end].replace(" ", "").upper()
        following = (found + behind)[end : end + 1]
        if found[end - 1] == " " or following.isalnum() or len(plain) not in _IBAN_LENGTH:
            continue
        if sum(character.isdigit() for character in plain) < _IBAN_DIGITS:
            continue
        if int("".join(str(int(character, 36)) for character in plain[4:] + plain[:4])) % _IBAN_MOD == 1:
            return end
    return 0


# The owner's secrets, and how they are masked in data from outside.

MASK = "**masked**"
HIDDEN = (*PLACEHOLDERS, MASK)
"""All texts in place of masked ones."""
SECRET = re.compile(r"code|pin|pass|secret|token|key|credential|auth", re.IGNORECASE)
"""In the name of a parameter that holds a secret."""
CODE = re.compile(
    r"(?:(?:access|alarm|arm|disarm|door|entry|gate|keypad|lock|master|security|unlock|user)_?)?"
    r"(?:code|passcode|password|passphrase|passwd|pin|pin_?code|pin_?number)s?",
    re.IGNORECASE,
)
"""The whole name of a secret code: one that opens a door, not one of a country."""
MIN_LENGTH = 4  # characters; masking shorter values would make answers unreadable


class SecretMask:
    """Masks values in texts in each form that a server may use: plain, in a URL, in JSON, in HTML, as Base64."""

    def __init__(self, values: Iterable[str]) -> None:
        """Take the values; those shorter than `MIN_LENGTH` are not masked."""
        self._values = frozenset(value for value in values if len(value) >= MIN_LENGTH)
        forms: set[str] = set()
        for value in self._values:
            forms |= {value, quote(value, safe=""), quote_plus(value), html.escape(value)}
            forms |= {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (True, False)}
            forms.add(base64.b64encode(value.encode()).decode().rstrip("="))
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

    def also(self, *values: str) -> SecretMask:
        """Return a mask of these values as well."""
        return SecretMask((*self._values, *values)) if set(values) - self._values else self

    def text(self, text: str) -> str:
        """Return a text with the values masked."""
        return self._pattern.sub(MASK, text) if self._pattern else text

    def json(self, value: JsonValueType) -> JsonValueType:
        """Return JSON with the values masked, also in keys."""
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(key): self.json(item) for key, item in value.items()}
            case list():
                return [self.json(item) for item in value]
            case int() | float() if not isinstance(value, bool) and self.text(str(value)) != str(value):
                return MASK
        return value


class Secrets:
    """The owner's secrets by name; results, errors, events and logs must not show them."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Take the values from the configuration."""
        self.values = dict(values or {})
        self.mask = SecretMask(self.values.values())
