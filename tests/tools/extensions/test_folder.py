"""Folders of extensions on a real file system: what is read, what is refused and why, and that nothing else happens."""

import json
import os
from pathlib import Path
import random

import pytest

from custom_components.home_agent.support.errors import ExtensionError
from custom_components.home_agent.tools.extensions.extension import (
    MAX_PROMPT,
    MAX_TOOLS,
    Extension,
    check_names,
    domain_of,
    light_schema,
    summary_of,
)
from custom_components.home_agent.tools.extensions.folder import (
    MAX_BYTES,
    MAX_EXTENSIONS,
    SHIPPED,
    WrittenExtension,
    read_extension,
    read_extensions,
    written_from_yaml,
)

PROMPT = "\n\n  Keeps the garden.\r\nWater in the evening.\n"
SENTENCES = {
    key
    for key in json.loads((SHIPPED.parent / "translations" / "en.json").read_text())["exceptions"]
    if key.startswith("extension_")
}
TOOLS = """
needs: [switch]
tools:
  - name: GARDEN_UPDATE_WATER
    summary: Waters a bed.
    example: Water the roses.
    notes: |
      Ten minutes.
      Not in the rain.
    alias: ha_control
    arguments: {action: turn_on}
    domains: [switch, valve]
  - name: GARDEN_GET_RAIN
    summary: Tells whether it rains.
    example: Is it raining?
    handler: {type: template, template: "no"}
"""


def write(folder: Path, name: str = "Garden", prompt: str | bytes = PROMPT, tools: str | bytes = TOOLS) -> Path:
    place = folder / name
    place.mkdir(parents=True)
    for file, content in (("prompt.md", prompt), ("tools.yaml", tools)):
        (place / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    return place


def one(**lines: object) -> str:
    """Return a file with one tool, some lines of which are different; None leaves one out."""
    whole = {
        "name": "GARDEN_GET_RAIN", "summary": "Tells whether it rains.", "example": "Is it raining?",
        "alias": "ha_query", **lines,
    }  # fmt: skip
    return "tools:\n  -\n" + "".join(f"    {key}: {value}\n" for key, value in whole.items() if value is not None)


def error_of(folder: Path) -> ExtensionError:
    """Return why the only extension of a folder is refused."""
    found, wrong = read_extensions(folder)
    assert not found
    [(_, error)] = wrong
    return error


def key_of(folder: Path) -> str | None:
    return error_of(folder).translation_key


def test_everything_that_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / ".hidden").mkdir()
    (tmp_path / "README.md").write_text("Not an extension.")
    [garden], wrong = read_extensions(tmp_path)
    assert not wrong
    assert (garden.name, summary_of(garden.prompt), garden.needs) == ("Garden", "Keeps the garden.", ("switch",))
    water, rain = garden.tools
    assert (water.alias, water.arguments, water.domains) == ("ha_control", {"action": "turn_on"}, ("switch", "valve"))
    assert water.notes == "Ten minutes.\nNot in the rain."
    assert rain.definition == {
        "name": "GARDEN_GET_RAIN",
        "description": "Tells whether it rains.",
        "handler": {"type": "template", "template": "no"},
    }


def test_what_is_as_it_was_is_not_parsed_again(tmp_path: Path) -> None:
    place = write(tmp_path)
    [before], _ = read_extensions(tmp_path)
    [after], _ = read_extensions(tmp_path)
    assert after.tools is before.tools
    (place / "tools.yaml").write_text(one())
    [changed], _ = read_extensions(tmp_path)
    assert [tool.name for tool in changed.tools] == ["GARDEN_GET_RAIN"]


def test_no_folder_is_no_extension(tmp_path: Path) -> None:
    assert read_extensions(tmp_path / "nowhere") == ([], [])


@pytest.mark.parametrize(("tools", "key"), [
    (one(name="GARDEN_RAIN"), "extension_tool_name"),
    (one(name="garden_get_rain"), "extension_tool_name"),
    (one(name="KITCHEN_GET_RAIN"), "extension_tool_name"),
    (one(name="GARDEN_READ_RAIN"), "extension_tool_name"),
    (one(name="GARDEN_GET_"), "extension_tool_name"),
    (one(name="GARDEN_GET_" + "X" * 60), "extension_tool_name"),
    (one(name=None), "extension_tool_name"),
    (one() + one().partition("\n")[2], "extension_tool_twice"),
    (one(summary=None), "extension_tool_summary"),
    (one(summary="' '"), "extension_tool_summary"),
    (one(example=None), "extension_tool_example"),
    (one(summary="x" * 201), "extension_long"),
    (one(notes="x" * 2001), "extension_long"),
    (one(alias=None), "extension_invalid"),
    (one(handler="{type: template, template: a}"), "extension_invalid"),
    (one(llm_api="assist", mcp_server="s"), "extension_invalid"),
    (one(read_only="true"), "extension_invalid"),
    (one(colour="red"), "extension_invalid"),
    (one(domains="[Light]"), "extension_invalid"),
    (one(domains="light"), "extension_invalid"),
    (one(arguments="{1: 2}"), "extension_yaml"),
    (one(arguments="{a: .nan}"), "extension_invalid"),
    (one(summary="1"), "extension_invalid"),
    ("tools: []", "extension_no_tools"),
    ("tools: {}", "extension_invalid"),
    ("", "extension_invalid"),
    ("- a", "extension_invalid"),
    ("tools: [a]", "extension_invalid"),
    ("tools: [", "extension_yaml"),
    ("tools: []\ntools: []", "extension_yaml"),
    ("tools: []\n---\ntools: []", "extension_yaml"),
    ("tools: &a []", "extension_yaml"),
    ("a: &a [x]\ntools: [*a, *a]", "extension_yaml"),
    ("tools: !include ../secrets.yaml", "extension_yaml"),
    ("tools: !secret password", "extension_yaml"),
    ("tools: !!python/object/apply:os.system ['true']", "extension_yaml"),
    ("tools: " + "[" * 60_000, "extension_yaml"),
    ("tools: " + "{a: " * 30 + "1" + "}" * 30, "extension_yaml"),
    ('tools: ["\\ud800"]', "extension_utf8"),
    ("tools: [" + "9" * 5000 + "]", "extension_yaml"),
    (b"tools: \xff", "extension_utf8"),
    (b"tools: []\x00", "extension_yaml"),
    (" " * (MAX_BYTES + 1), "extension_large"),
])  # fmt: skip
def test_what_is_wrong_in_tools(tmp_path: Path, tools: str | bytes, key: str) -> None:
    write(tmp_path, tools=tools)
    assert key_of(tmp_path) == key


def test_too_many_tools(tmp_path: Path) -> None:
    rows = "".join(one(name=f"GARDEN_GET_{number}").partition("\n")[2] for number in range(MAX_TOOLS + 1))
    write(tmp_path, tools=f"tools:\n{rows}")
    assert key_of(tmp_path) == "extension_many_tools"


@pytest.mark.parametrize(("prompt", "key"), [
    ("", "extension_summary"), (" \n\t\n", "extension_summary"), ("\u200b\n", "extension_summary"),
    ("x" * 201, "extension_long"), ("A.\n" + "x" * MAX_PROMPT, "extension_long"), (b"bed\xe9", "extension_utf8"),
    (b"x" * (MAX_BYTES + 1), "extension_large"),
])  # fmt: skip
def test_what_is_wrong_in_a_prompt(tmp_path: Path, prompt: str | bytes, key: str) -> None:
    write(tmp_path, prompt=prompt)
    assert key_of(tmp_path) == key


@pytest.mark.parametrize(
    "name", ["7up", "a" * 41, "Garden — all", 'Gar"den', "Gar(den)", "Garden ", "Gar\nden", "_", "All"]
)
def test_what_no_extension_may_be_called(tmp_path: Path, name: str) -> None:
    write(tmp_path, name, tools=one(name=f"{domain_of(name)}_GET_RAIN"))
    assert key_of(tmp_path) == "extension_name"


def test_names_in_other_scripts_have_domains_in_latin_letters(tmp_path: Path) -> None:
    write(tmp_path, "Küche 2", tools=one(name="KUCHE2_GET_RAIN"))
    [kitchen], wrong = read_extensions(tmp_path)
    assert (kitchen.name, wrong) == ("Küche 2", [])


def test_nothing_outside_of_the_folder_is_read(tmp_path: Path) -> None:
    """Links to a file, to a folder, in the place of a folder; a pipe, which would be waited for without end."""
    outside = tmp_path / "outside"
    write(outside)
    (tmp_path / "secrets.yaml").write_text(one())
    folder = tmp_path / "extensions"
    write(folder, "Linked").joinpath("tools.yaml").unlink()
    (folder / "Linked" / "tools.yaml").symlink_to("../../secrets.yaml")
    (folder / "Garden").symlink_to(outside / "Garden")
    write(folder, "Piped").joinpath("prompt.md").unlink()
    os.mkfifo(folder / "Piped" / "prompt.md")
    (write(folder, "Missing") / "prompt.md").unlink()
    write(folder, "Deep").joinpath("tools.yaml").unlink()
    (folder / "Deep" / "tools.yaml").mkdir()
    found, wrong = read_extensions(folder)
    assert not found
    assert {name: error.translation_key for name, error in wrong} == {
        "Garden": "extension_link",
        **dict.fromkeys(("Deep", "Linked", "Missing", "Piped"), "extension_file"),
    }
    with pytest.raises(ExtensionError):  # also where the link was set after the folder was listed
        read_extension(folder, "Garden")
    with pytest.raises(ExtensionError):
        read_extension(folder, "../outside/Garden")


def test_names_that_are_no_text_are_refused_and_told(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bed\xe9")).mkdir()
    [(name, error)] = read_extensions(tmp_path)[1]
    assert (name, error.translation_key) == ("bed?", "extension_file")


def test_there_is_a_most_of_extensions(tmp_path: Path) -> None:
    for number in range(MAX_EXTENSIONS + 1):
        write(tmp_path, f"Garden {number:03}", tools=one(name=f"GARDEN{number:03}_GET_RAIN"))
    found, wrong = read_extensions(tmp_path)
    assert len(found) == MAX_EXTENSIONS
    assert [error.translation_key for _, error in wrong] == ["extension_too_many"]


def test_what_ships_keeps_to_the_form() -> None:
    found, wrong = read_extensions(SHIPPED)
    assert [extension.name for extension in found] == ["Climate", "Media", "Planner"]
    assert not wrong


def _mutated(text: bytes, chance: random.Random) -> bytes:
    """Return a text with some of it cut out, doubled, moved or exchanged for what has a meaning in YAML."""
    parts = [
        b"&a", b"*a", b"!!", b"? ", b"<<: ", b"{", b"[", b"- ", b"\n", b"\t", b"'", b'"', b": ", b"\xff", b"\x00", b"~",
    ]  # fmt: skip
    content = bytearray(text)
    for _ in range(chance.randint(1, 6)):
        at, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
        match chance.randrange(4):
            case 0:
                del content[at : min(end, at + 20)]
            case 1:
                content[at:at] = content[at : min(end, at + 40)]
            case 2:
                content[at:at] = chance.choice(parts)
            case 3:
                content[at : at + 1] = bytes([chance.randrange(256)])
    return bytes(content)


def _check(extension: WrittenExtension) -> None:
    check_names(extension.name, extension.prompt, [tool.name for tool in extension.tools])
    for tool in extension.tools:
        assert tool.summary
        assert tool.example
        assert bool(tool.alias) != bool(tool.definition)
        for text in (tool.name, tool.summary, tool.example):
            assert text == " ".join(text.split())
            assert text.isprintable()
            text.encode()


@pytest.mark.parametrize("seed", range(8))
def test_whatever_a_file_holds_it_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    """A thousand broken files: each is an extension that keeps to the form, or an error with a sentence of ours."""
    chance, read, keys = random.Random(seed), 0, set[str | None]()
    place = write(tmp_path)
    for _ in range(125):
        (place / "tools.yaml").write_bytes(_mutated(TOOLS.encode(), chance))
        (place / "prompt.md").write_bytes(
            _mutated(PROMPT.encode(), chance) if chance.random() < 0.3 else PROMPT.encode()
        )
        try:
            _check(read_extension(tmp_path, "Garden"))
        except ExtensionError as err:
            keys.add(err.translation_key)
        else:
            read += 1
    assert read
    assert keys <= SENTENCES


def test_no_text_breaks_the_layout() -> None:
    class Said:
        name, summary, example = "A_GET_B", "", 'say "hi"'

    extension = Extension(name="A", prompt="x\ty\u202e!\u2028- A_GET_C: z\nrest", tools=(Said(),))  # type: ignore[arg-type]
    assert light_schema([extension]).split("\n") == ["A — x y!", "- A_GET_B:  EX: \"say 'hi'\""]
    [written] = written_from_yaml(one(summary='"a\\u2028b\\n- c\\e"')).tools
    assert written.summary == "a b - c"
