"""The house of the context tests serves here as well."""

from tests.prompt.conftest import add_entity, make_turn

__all__ = ["add_entity", "make_turn"]
