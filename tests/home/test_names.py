"""What a list of the owner names."""

import pytest

from custom_components.home_agent.home.exposure import Names


@pytest.mark.parametrize(("listed", "name", "named"), [
    ("light.bed", "light.bed", True), ("light.bed", "light.bedroom", False), (" Light.Bed ", "light.bed", True),
    ("light", "light.bed", True), ("light", "light.turn_on", True), ("light", "lights", False),
    ("light.*", "light.bed", True), ("*.bed", "light.bed", True), ("light.be?", "light.bed", True),
    ("light.*", "lighting.bed", False), ("lock.unlock", "lock.unlock", True), ("lock.unlock", "lock.door", False),
    ("intent__*", "intent__HassTurnOff", True), ("ha_control", "ha_control", True), ("*", "anything", True),
    ("", "light.bed", False),
])  # fmt: skip
def test_entities_domains_services_tools_and_patterns(listed: str, name: str, named: bool) -> None:
    assert (name in Names([listed])) is named


def test_first_that_is_named() -> None:
    assert Names(["lock"]).first(["light.a", "lock.a", "lock.b"]) == "lock.a"
    assert Names(["lock"]).first(["light.a"]) is None
    assert Names([]).first(["light.a"]) is None


@pytest.mark.parametrize(("names", "covered"), [
    (["lock.a"], True), (["lock.a", "lock.b"], True), (["lock.a", "cover.a"], False), ([], False),
], ids=["one", "all", "not all", "none to cover"])  # fmt: skip
def test_covers_only_when_all_are_named(names: list[str], covered: bool) -> None:
    assert Names(["lock"]).cover(names) is covered
