"""The stable part: the system message. The same bytes every turn, and from conversation to conversation."""

HOME_HEADING = "## Home"


def stable_text(words: str, home_map: str | None, extra: str | None) -> str:
    """Return the system message. `extra` is what the caller of Assist added."""
    parts = [words]
    if home_map is not None:
        parts.append(f"{HOME_HEADING}\n\n{home_map}")
    if extra:
        parts.append(extra)
    return "\n\n".join(parts)
