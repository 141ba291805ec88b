"""Personal data in a text: e-mail and street addresses, phone, card, account and identity numbers.

Careful rather than thorough: a home is full of numbers. Ids, temperatures, times, dates, addresses of computers and serial
numbers stay as they are; a card or an account has to pass its check sum, or to be called one. The same text always gives
the same result, so that a prompt cache holds. The words are those of all languages together (`personal` in their data).
"""

from dataclasses import dataclass
from functools import cache
import re

from ..support.masking import ACCOUNT, ADDRESS, CARD, EMAIL, IDENTITY, PHONE
from .claims import filled
from .data import all_data

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
_CARD = re.compile(_BEFORE + r"[2-6]\d{3}(?:([ -]?)\d{4}\1\d{4}\1\d{1,7}|([ -]?)\d{6}\2\d{4,5})" + _AFTER)
_CARD_STARTS = re.compile(
    r"(?:4|5[1-5]|2(?:2[2-9]|[3-6]|7[01]|720)|220[0-4]|6(?:011|4[4-9]|5|2)|35(?:2[89]|[3-8]))\d*|3(?:[47]\d{13}|[068]\d{12})"
)
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}", re.IGNORECASE)
_PESEL = re.compile(_BEFORE + r"\d{2}(?:[02][1-9]|[13][0-2])(?:0[1-9]|[12]\d|3[01])\d{5}" + _AFTER)
_PESEL_WEIGHTS = (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)
_SSN = re.compile(_BEFORE + r"(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}" + _AFTER)
_HOUSE = r"\d{1,4}(?: ?[a-zA-Z])?(?:[-/]\d{1,4})?\b"
_DIGITS = re.compile(r"\d")
_LONG_NUMBER = re.compile(r"\d(?:[ ./()-]{0,3}\d){5}")
_IBAN_MOD = 97
_IBAN_LENGTH = range(15, 35)
_IBAN_DIGITS = 10  # at least; rooms are called EG01, too, and words stand behind their names
_CARD_DIGITS = range(13, 20)


@dataclass(frozen=True, slots=True)
class _Patterns:
    phone: re.Pattern[str]
    """The words, and behind them the number; so `account` and `identity`."""
    account: re.Pattern[str]
    identity: re.Pattern[str]
    serial: re.Pattern[str]
    """At the end of what stands before a number: it is the serial number of a device."""
    addresses: tuple[re.Pattern[str], ...]
    streets: re.Pattern[str]
    """Found in each text with an address."""


@cache
def patterns() -> _Patterns:
    """Return the patterns of all languages. The first call reads their files."""
    words = [data.personal for _, data in sorted(all_data().items())]

    def any_of(name: str) -> str:
        return "|".join(dict.fromkeys(pattern for one in words for pattern in one.get(name, ())))

    number = rf"(?:[ -]?(?:{any_of('number')}))?"
    copula = rf"(?: (?:{any_of('copula')}))?"
    addresses = [
        filled(one, {"house": _HOUSE, **own.get("parts", {})}) for own in words for one in own.get("addresses", ())
    ]
    return _Patterns(
        phone=re.compile(
            rf"(\b(?:{any_of('phone')})\b{number}{copula}[\s.:=#]{{0,4}})((?:\d[ /-]?){{5,14}}\d)(?![\w@])",
            re.IGNORECASE,
        ),
        account=re.compile(
            rf"((?:{any_of('account')}){number}[\s.:=#№]{{0,4}})(\d(?:[ -]?\d){{5,29}})(?!\w)", re.IGNORECASE
        ),
        identity=re.compile(
            rf"(\b(?:{any_of('identity')}){number}{copula}[\s.:=#№]{{0,4}})"
            r"((?=[A-Z]{0,2}\d)(?:[A-Z]{0,2}\d[A-Z]?[ -]?){6,15}(?<![ -]))(?![\w@])",
            re.IGNORECASE,
        ),
        serial=re.compile(
            rf"(?:{any_of('serial')})\w{{0,12}}(?:\W{{0,3}}(?:{any_of('number')}))?\W{{0,4}}$", re.IGNORECASE
        ),
        addresses=tuple(map(re.compile, sorted(addresses, key=len, reverse=True))),  # the most specific first
        streets=re.compile(any_of("streets"), re.IGNORECASE),
    )


def mask(text: str) -> str:
    """Return the text without personal data; each kind is replaced by its name in brackets."""
    if "@" in text:
        text = _EMAIL.sub(EMAIL, text)
    if not _DIGITS.search(text):
        return text
    known = patterns()
    text = known.identity.sub(rf"\1{IDENTITY}", text)
    if _LONG_NUMBER.search(text):
        text = _without_ibans(text)
        text = _CARD.sub(_card, text)
        text = known.account.sub(rf"\1{ACCOUNT}", text)
        text = _PESEL.sub(_pesel, text)
        text = _SSN.sub(lambda match: match[0] if _is_serial(match) else IDENTITY, text)
        for pattern in _PHONES:
            text = pattern.sub(_phone, text)
        text = known.phone.sub(rf"\1{PHONE}", text)
    if known.streets.search(text):
        for pattern in known.addresses:
            text = pattern.sub(ADDRESS, text)
    return text


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


def _pesel(match: re.Match[str]) -> str:
    total = sum(int(digit) * weight for digit, weight in zip(match[0], _PESEL_WEIGHTS, strict=True))
    return match[0] if total % 10 or _is_serial(match) else IDENTITY


def _is_serial(match: re.Match[str]) -> bool:
    return patterns().serial.search(match.string, max(0, match.start() - 30), match.start()) is not None


def _passes_luhn(digits: str) -> bool:
    """Return whether the last digit of a card number is what the others make it (ISO/IEC 7812-1)."""
    total = 0
    for position, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if position % 2 else 1)
        total += value - 9 if value > 9 else value
    return total % 10 == 0


def _without_ibans(text: str) -> str:
    """Return the text without IBANs. The words behind one look like its next digits: only its check sum says where it ends."""
    position = 0
    while match := _IBAN.search(text, position):
        position = match.start() + 1
        if end := _end_of_iban(match[0], text[match.end() : match.end() + 1]):
            text = text[: match.start()] + ACCOUNT + text[match.start() + end :]
    return text


def _end_of_iban(found: str, behind: str) -> int:
    """Return how much of what was found is an account number, 0 when nothing is; `behind` is the character after it."""
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
