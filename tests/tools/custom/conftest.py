"""A house whose owner writes tools, and a server for them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

from homeassistant.config import async_hass_config_yaml
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import issue_registry as ir
from homeassistant.setup import async_setup_component
import pytest
from pytest_homeassistant_custom_component.common import MockUser

from custom_components.home_agent.support.const import DOMAIN
from tests.house import act, set_up
from tests.prompt.conftest import add_entity, make_turn
from tests.tools.custom.rest_server import RestServer

__all__ = ["add_entity", "make_turn"]

type WriteYaml = Callable[..., Awaitable[None]]
type Run = Callable[..., Awaitable[dict[str, Any]]]


@pytest.fixture
async def server(socket_enabled: None) -> AsyncGenerator[RestServer]:
    server = RestServer()
    await server.start()
    yield server
    await server.stop()


@pytest.fixture
def write_yaml(hass: HomeAssistant, tmp_path: Path) -> WriteYaml:
    """Return a function that writes configuration.yaml and sets Home Agent up with it."""
    hass.config.config_dir = str(tmp_path)

    async def write(text: str, *, secrets: str = "", **entry: Any) -> None:
        (tmp_path / "secrets.yaml").write_text(dedent(secrets), encoding="utf-8")
        (tmp_path / "configuration.yaml").write_text(dedent(text), encoding="utf-8")
        if hass.services.has_service(DOMAIN, "reload"):
            await hass.services.async_call(DOMAIN, "reload", blocking=True)
            return
        assert await async_setup_component(hass, DOMAIN, await async_hass_config_yaml(hass))
        await set_up(hass, **entry)

    return write


@pytest.fixture
def run(hass: HomeAssistant, hass_admin_user: MockUser) -> Run:
    """Return a function that runs a tool as a model would, under the policy, for an administrator."""

    async def run(name: str, **parameters: Any) -> dict[str, Any]:
        context = Context(user_id=hass_admin_user.id)
        return await act(hass, "execute_tool", context, tool_name=name, parameters=parameters)

    return run


def issues(hass: HomeAssistant) -> dict[str, dict[str, str]]:
    """Return our issues: what they are filled in with, by their translation key."""
    return {
        str(issue.translation_key): dict(issue.translation_placeholders or {})
        for (domain, _), issue in ir.async_get(hass).issues.items()
        if domain == DOMAIN
    }


TOOL = """
home_agent:
  secrets:
    api_key: sk-very-secret
  custom_tools:
    - name: ask
      description: Asks.
      parameters:
        type: object
        properties:
          a: {type: string}
          b: {type: string}
          n: {type: integer}
          flag: {type: boolean}
          many: {type: array, items: {type: string}}
      handler:
        type: rest
"""


def tool(server: RestServer, handler: str, path: str = "/v1") -> str:
    lines = "".join(f"        {line}\n" for line in (f'url: "{server.url}{path}"', *handler.strip().splitlines()))
    return TOOL + lines
