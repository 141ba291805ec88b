"""What is wrong with the texts that people read: `.venv/bin/python -m scripts._texts`, a part of `scripts/lint`.

The rules are those of Home Assistant's own checker (hassfest), which is not installed anywhere, those of its style, and our glossary:
words.json has the words that were given up, each with what is said instead. Some are given up in code only: in docstrings, comments
and texts for a model, with a limit per room. The exit code is 1 where something is wrong. `scripts/texts fr` shows what is missing in
French, `scripts/texts code tools` the words given up in the room `tools`.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
import io
import json
from pathlib import Path
import re
from string import Formatter
import sys
import tokenize
from typing import Any, NamedTuple

from homeassistant.util.yaml import load_yaml_dict

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "custom_components" / "home_agent"
TRANSLATIONS = PACKAGE / "translations"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
HISTORY = {"CHANGELOG.md"}
"""Pages that tell what something was called once."""
COMPLETE = ("en", "de")
"""Languages in which no text may be missing."""
STARTED = 0.95
"""Share of the texts from which a language is offered: half a dialog in English is worse than the whole."""

WORDS: dict[str, Any] = json.loads((ROOT / "scripts" / "words.json").read_text(encoding="utf-8"))
NAMES = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(WORDS['names'], key=len, reverse=True)))})(?![\w-])")
"""What is written with capital letters anywhere; the rest of a label is in sentence case."""
LABELS = re.compile(
    r"\.(?:title|name|entry_type|user|reconfigure)$"
    r"|\.data\.\w+$|\.menu_options\.\w+$|\.menu_option_descriptions\.\w+$|^selector\.\w+\.options\.\w+$|^system_health\.info\.\w+$"
)
"""Paths of what stands above, beside or on something: no sentences."""
NO_LABELS = re.compile(r"data_description|^services\.\w+\.fields\.\w+\.description$")
SENTENCES = re.compile(r"\.(?:description|message)$|\.data_description\.\w+$|\.(?:error|abort)\.\w+$")
"""Paths of what is read as text, and therefore ends like text."""
FRAGMENTS = re.compile(
    r"^exceptions\.(?:done_\w+|source_\w+|spoken_quote|confirm_(?!question|more$|only|tainted|pin|rejected|expired|not_yours|changed|is$|done|partly|failed|via)\w+"
    r"|automation_word_\w+|kept_\w+|tool_(?!failed|not_found|refused)\w+|undo_more|activity_\w+|setting_\w+|origin_\w+|value_\w+|phrase_row\w*|wish_when_\w+|wish_as_\w+|planned_paused_item)\.message$"
)
"""Messages that become a part of another one."""
ENDS = re.compile(r"(?:[.?!:…)*]|\}|\]\.name)$")


class Word(NamedTuple):
    """A word that was given up."""

    old: re.Pattern[str]
    new: str
    allowed: tuple[re.Pattern[str], ...]
    dialogs_only: bool

    def found(self, text: str) -> list[tuple[int, str]]:
        """Return the lines where the word stands in a text, apart from where it is right, and how it is written there."""
        flowing = text.replace("\n", " ")
        right = [match.span() for pattern in self.allowed for match in pattern.finditer(flowing)]
        return [
            (text.count("\n", 0, match.start()) + 1, match[0])
            for match in self.old.finditer(flowing)
            if not any(start <= match.start() and match.end() <= end for start, end in right)
        ]


def words_of(rows: list[dict[str, Any]]) -> list[Word]:
    """Return the words of one list in words.json."""
    return [
        Word(
            re.compile(row["old"]),
            row["new"],
            tuple(re.compile(allowed) for allowed in row.get("allowed", ())),
            row.get("only") == "dialogs",
        )
        for row in rows
    ]


def old_words() -> dict[str, list[Word]]:
    """Return the words that were given up, per language."""
    return {language: words_of(rows) for language, rows in WORDS["old"].items()}


def flat(texts: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return the texts by their dotted path."""
    found: dict[str, str] = {}
    for key, value in texts.items():
        path = f"{prefix}{key}"
        found |= flat(value, f"{path}.") if isinstance(value, Mapping) else {path: value}
    return found


def translations() -> dict[str, dict[str, Any]]:
    """Return the texts of each language."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(TRANSLATIONS.glob("*.json"))}


def placeholders(text: str) -> list[str]:
    """Return the placeholders of a text, in order. Raises `ValueError` when a brace is not closed."""
    return sorted({name for _, name, _, _ in Formatter().parse(text) if name is not None})


def is_label(path: str) -> bool:
    """Return whether a text is a label: something with no full stop at its end."""
    return bool(LABELS.search(path)) and not NO_LABELS.search(path)


def rule_blanks(path: str, text: str) -> str | None:
    return "is empty, or begins or ends with a blank" if not text or text != text.strip() else None


def rule_markup(_path: str, text: str) -> str | None:
    return "has HTML" if re.search(r"<\w+[^>]*>|</\w", text) else None


def rule_addresses(_path: str, text: str) -> str | None:
    return "has an address; it belongs into a placeholder" if re.search(r"\bhttps?://", text) else None


def rule_quotes(_path: str, text: str) -> str | None:
    return "has quotes around a placeholder" if re.search(r"""['"„“”‘’]\{\w+\}['"“”‘’]""", text) else None


def rule_keys(path: str, text: str) -> str | None:
    if not re.fullmatch(r"[a-z0-9_]+(?:\.[a-z0-9_]+)*", path):
        return "has a key that is not in lower case"
    return "refers to a common text, which only Home Assistant's own integrations can" if "[%key" in text else None


def rule_placeholders(_path: str, text: str) -> str | None:
    try:
        names = placeholders(text)
    except ValueError as err:
        return f"cannot be filled in: {err}"
    return None if all(re.fullmatch(r"[a-z_]+", name) for name in names) else "has a placeholder without a name"


def rule_full_stop(path: str, text: str) -> str | None:
    if is_label(path):
        return "is a label and ends with a full stop" if re.search(r"[.:;!]$", text) else None
    if SENTENCES.search(path) and not FRAGMENTS.search(path) and not ENDS.search(text):
        return "is text and does not end like a sentence"
    return None


def rule_capital(path: str, text: str) -> str | None:
    first = next((letter for letter in text if letter.isalpha()), "")
    begins = not re.match(r"[^\w]*\{", text) and not FRAGMENTS.search(path)
    known = re.match(r"(?:home_agent|custom_tools|secrets|vLLM|llama\.cpp)\b", text)
    return "begins with a small letter" if begins and first.islower() and not known else None


def rule_sentence_case(path: str, text: str) -> str | None:
    """Labels in English; other languages write more with capitals."""
    if not is_label(path):
        return None
    for part in re.split(r"[(:“]", text):
        for word in re.findall(r"[A-Za-z][\w-]*", re.sub(r"\{\w+\}", "", NAMES.sub("name", part)))[1:]:
            if word[0].isupper():
                return f"is not in sentence case: {word}"
    return None


RULES: tuple[Callable[[str, str], str | None], ...] = (
    rule_blanks,
    rule_markup,
    rule_addresses,
    rule_quotes,
    rule_keys,
    rule_placeholders,
    rule_full_stop,
    rule_capital,
)


def wrong_texts(language: str, texts: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the texts of one language by themselves."""
    rules = (*RULES, rule_sentence_case) if language == "en" else RULES
    for path, text in flat(texts).items():
        for rule in rules:
            if problem := rule(path, text):
                yield f"{language}: {path} {problem}: {text!r}"


def missing(texts: Mapping[str, Any], english: Mapping[str, Any]) -> list[str]:
    """Return the paths that a language does not have yet."""
    return sorted(flat(english).keys() - flat(texts).keys())


def wrong_against_english(language: str, texts: Mapping[str, Any], english: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a language and English differ in more than words."""
    ours, theirs = flat(texts), flat(english)
    for path in sorted(ours.keys() - theirs.keys()):
        yield f"{language}: {path} is not in English"
    gone = missing(texts, english)
    if language in COMPLETE:
        yield from (f"{language}: {path} is missing" for path in gone)
    elif len(gone) > (1 - STARTED) * len(theirs):
        yield f"{language}: {len(gone)} of {len(theirs)} texts are missing; scripts/texts {language} lists them"
    for path in sorted(ours.keys() & theirs.keys()):
        if placeholders(ours[path]) != placeholders(theirs[path]):
            yield f"{language}: {path} has other placeholders than English: {ours[path]!r}"


def steps(node: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield each step of a form, and each section in one, with its path."""
    for key, value in node.items():
        if isinstance(value, Mapping):
            below = f"{path}.{key}".lstrip(".")
            if path.endswith((".step", ".sections")) or path == "step":
                yield below, value
            yield from steps(value, below)


def wrong_steps(language: str, texts: Mapping[str, Any]) -> Iterator[str]:
    """Yield where the steps of forms are not what Home Assistant expects."""
    for path, step in steps(texts):
        if extra := step.get("data_description", {}).keys() - step.get("data", {}).keys():
            yield f"{language}: {path} describes what it does not ask for: {', '.join(sorted(extra))}"
        if extra := step.get("menu_option_descriptions", {}).keys() - step.get("menu_options", {}).keys():
            yield f"{language}: {path} describes what its menu does not offer: {', '.join(sorted(extra))}"
        if re.search(r"\.sections\.\w+$", path) and not step.get("name"):
            yield f"{language}: {path} is a section without a name"


def wrong_parts(language: str, texts: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a subentry, a Repairs issue, an action or an exception is not what Home Assistant expects."""
    for kind, subentry in texts.get("config_subentries", {}).items():
        if not subentry.get("entry_type") or not subentry.get("initiate_flow", {}).get("user"):
            yield f"{language}: config_subentries.{kind} needs an entry_type and initiate_flow.user"
    for key, issue in texts.get("issues", {}).items():
        if ("description" in issue) == ("fix_flow" in issue) or not issue.get("title"):
            yield f"{language}: issues.{key} needs a title and either a description or a fix_flow"
    for key, action in texts.get("services", {}).items():
        for name, field in {"": action, **action.get("fields", {})}.items():
            if not field.get("name") or not field.get("description"):
                yield f"{language}: services.{key}{'.fields.' + name if name else ''} needs a name and a description"
    for key, exception in texts.get("exceptions", {}).items():
        if exception.keys() != {"message"}:
            yield f"{language}: exceptions.{key} has something else than a message"


def wrong_actions(texts: Mapping[str, Any], described: Mapping[str, Any]) -> Iterator[str]:
    """Yield where services.yaml and the English texts differ."""
    named = texts.get("services", {})
    for key in sorted(named.keys() ^ described.keys()):
        yield f"services: {key} is in one of services.yaml and translations, and not in the other"
    for key in sorted(named.keys() & described.keys()):
        fields = (described[key] or {}).get("fields") or {}
        for name in sorted(named[key].get("fields", {}).keys() ^ fields.keys()):
            yield f"services: {key}.{name} is in one of services.yaml and translations, and not in the other"


def prose(page: str) -> str:
    """Return a text without examples, code, placeholders and the targets of links, in the same lines."""
    code = re.compile(r"^```.*?^```$|`[^`]+`|\{\w+\}|\]\([^)\s]*\)", re.MULTILINE | re.DOTALL)
    return code.sub(lambda match: "\n" * match[0].count("\n"), page)


def prose_of_code(source: str) -> str:
    """Return the comments and strings of a module, each on the lines where it stands, and nothing else."""
    lines: dict[int, list[str]] = defaultdict(list)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in {tokenize.COMMENT, tokenize.STRING, tokenize.FSTRING_MIDDLE}:
            for number, line in enumerate(token.string.split("\n"), token.start[0]):
                lines[number].append(line.strip())
    return "\n".join(" ".join(lines[number]) for number in range(1, source.count("\n") + 2))


def old_words_in_code(package: Path) -> dict[str, list[str]]:
    """Return the lines of the code with a word that was given up, by room."""
    words = words_of(WORDS["code"]["old"])
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        text = prose_of_code(path.read_text(encoding="utf-8"))
        where = path.relative_to(package)
        found[where.parts[0].removesuffix(".py")] += old_words_in(str(where), text, words, dialog=False)
    return found


def wrong_code(package: Path = PACKAGE) -> Iterator[str]:
    """Yield the words that were given up in code, of each room that has more of them than its limit."""
    for room, found in old_words_in_code(package).items():
        if len(found) > (most := WORDS["code"]["most"].get(room, 0)):
            yield f"{room}: {len(found)} words in docstrings and comments that were given up, at most {most} are allowed"
            yield from found


def old_words_in(where: str, text: str, words: list[Word], *, dialog: bool) -> Iterator[str]:
    """Yield the words of a text that were given up. `where` names the text in the messages."""
    for word in words:
        if dialog or not word.dialogs_only:
            for line, found in word.found(text):
                yield f"{where}:{line}: {found!r} is called {word.new!r} now"


def old_words_everywhere() -> Iterator[str]:
    """Yield the words that were given up from all dialogs, answers, Repairs issues and documents."""
    words = old_words()
    for language, texts in translations().items():
        for path, text in flat(texts).items():
            yield from old_words_in(f"{language}: {path}", prose(text), words.get(language, []), dialog=True)
    examples = (PACKAGE / "services.yaml").read_text(encoding="utf-8")
    yield from old_words_in("services.yaml", examples, words["en"], dialog=True)
    for page in PAGES:
        if page.name not in HISTORY:
            text = prose(page.read_text(encoding="utf-8"))
            yield from old_words_in(str(page.relative_to(ROOT)), text, words["en"], dialog=False)


def problems() -> list[str]:
    """Return everything that is wrong with the texts of this project."""
    texts = translations()
    found = [problem for language, own in texts.items() for problem in wrong_texts(language, own)]
    found += [
        problem
        for language, own in texts.items()
        for problem in (*wrong_steps(language, own), *wrong_parts(language, own))
    ]
    found += [
        problem
        for language, own in texts.items()
        if language != "en"
        for problem in wrong_against_english(language, own, texts["en"])
    ]
    found += wrong_actions(texts["en"], load_yaml_dict(PACKAGE / "services.yaml"))
    return [*found, *old_words_everywhere(), *wrong_code()]


def show_missing(language: str) -> None:
    """Print what a language does not have yet, each with its English text."""
    texts = translations()
    english, own = flat(texts["en"]), texts.get(language, {})
    gone = missing(own, texts["en"])
    for path in gone:
        print(f"{path}\n    {english[path]}")
    print(f"{language}: {len(english) - len(gone)} of {len(english)} texts, {len(gone)} missing", file=sys.stderr)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["code", *rooms]:
            by_room = old_words_in_code(PACKAGE)
            print("\n".join(line for room in rooms or by_room for line in by_room.get(room, ())))
            print({room: len(found) for room, found in by_room.items() if found}, file=sys.stderr)
            sys.exit(0)
        case [language]:
            show_missing(language)
            sys.exit(0)
    wrong = problems()
    print("\n".join(wrong))
    sys.exit(bool(wrong))
