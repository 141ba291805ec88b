"""The mathematics library, loaded when vectors are first used and installed where it is missing (decision 8)."""

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers.importlib import async_import_module
from homeassistant.requirements import async_process_requirements
from homeassistant.util.hass_dict import HassKey

from ..const import DOMAIN
from ..errors import RetrievalError

_LOADED: HassKey[bool] = HassKey(f"{DOMAIN}_numpy")


async def async_load_numpy(hass: HomeAssistant) -> None:
    """Load numpy, so that importing it takes no time from now on. Raises `RetrievalError` when it cannot be had.

    Most installations have it: Home Assistant's camera needs it. Which version, Home Assistant's own constraints say.
    """
    if _LOADED in hass.data:
        return
    try:
        await async_process_requirements(hass, DOMAIN, ["numpy"], is_built_in=False)
        await async_import_module(hass, "numpy")
    except (HomeAssistantError, ImportError) as err:
        raise RetrievalError("numpy_missing", detail=type(err).__name__) from err
    hass.data[_LOADED] = True
