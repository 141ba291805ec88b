"""Which addresses are on the internet and which names are at home."""

import pytest

from custom_components.home_agent.support.http import is_at_home, is_public


@pytest.mark.parametrize(("address", "public"), [
    ("8.8.8.8", True), ("2606:4700:4700::1111", True), ("127.0.0.1", False), ("10.1.2.3", False), ("172.16.0.1", False),
    ("192.168.0.1", False), ("169.254.169.254", False), ("100.64.0.1", False), ("0.0.0.0", False), ("224.0.0.1", False),
    ("::1", False), ("fe80::1%eth0", False), ("fd00::1", False), ("fec0::1", False), ("::127.0.0.1", False),
    ("::ffff:0:10.0.0.1", False), ("::ffff:10.0.0.1", False), ("64:ff9b::a00:1", False), ("64:ff9b::808:808", True),
    ("2002:a00:1::", False),
])  # fmt: skip
def test_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(("host", "at_home"), [
    ("nas", True), ("nas.local", True), ("nas.local.", True), ("192.168.1.5", True), ("[fd00::1]", True),
    ("api.example.com", False), ("local.example.com", False), ("notlocal", True), ("evil-local.com", False),
    ("8.8.8.8", False),
])  # fmt: skip
def test_names(host: str, at_home: bool) -> None:
    assert is_at_home(host) is at_home
