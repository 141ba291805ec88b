"""What the tests of requests share with those of tools that make them."""

from tests.tools.custom.conftest import run, server, write_yaml

__all__ = ["run", "server", "write_yaml"]
