"""Lets pytest-homeassistant-custom-component run on the Home Assistant after the one it was made for.

Loaded with `-p tests.next_plugin`, before the package itself, which scripts/test does in .venv-next. To be removed, or
filled with what moves next, when there is a package for that release.
"""

# First of all: Home Assistant puts httpx2 in the place of httpx, which the package would import before.
import homeassistant  # noqa: F401
from homeassistant.components import logger
from homeassistant.components.logger import helpers

_MOVED = ("_clear_logger_overwrites",)
for _name in _MOVED:
    if not hasattr(logger, _name):
        setattr(logger, _name, getattr(helpers, _name))
