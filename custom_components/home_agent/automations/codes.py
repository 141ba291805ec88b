"""Codes that stand in an automation: they are neither told nor kept outside its file."""

from collections.abc import Mapping

from ..support.masking import CODE, MASK

MAX_DEPTH = 60  # of values in values


def has_code(value: object, *, is_code: bool = False, depth: int = 0) -> bool:
    """Return whether a code is written anywhere in a value; one that is so deep that it is not looked at counts."""
    match value:
        case Mapping() | list() | tuple() if depth > MAX_DEPTH:
            return True
        case Mapping():
            return any(
                has_code(item, is_code=is_code or is_name_of_code(key), depth=depth + 1) for key, item in value.items()
            )
        case list() | tuple():
            return any(has_code(item, is_code=is_code, depth=depth + 1) for item in value)
        case None | bool():
            return False
    return is_code and not _is_told(value)


def has_mask(value: object) -> bool:
    """Return whether something stands in a value that was masked when it was read."""
    match value:
        case Mapping():
            return any(has_mask(item) for pair in value.items() for item in pair)
        case list() | tuple():
            return any(map(has_mask, value))
    return isinstance(value, str) and MASK in value


def is_name_of_code(key: object) -> bool:
    """Return whether what stands under a key is a code."""
    return CODE.fullmatch(str(key).strip()) is not None


def without_codes(value: object) -> object:
    """Return what stands under the name of a code, masked: texts and numbers at any depth."""
    match value:
        case Mapping():
            return {key: without_codes(item) for key, item in value.items()}
        case list() | tuple():
            return [without_codes(item) for item in value]
        case None | bool():
            return value
    return value if _is_told(value) else MASK


def _is_told(value: object) -> bool:
    """Return whether a value may be told: the name of a secret may, and nothing."""
    text = str(value).strip()
    return not text or text.startswith("!secret ")
