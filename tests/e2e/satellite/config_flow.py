"""Nothing to ask."""

from typing import Any

from homeassistant.config_entries import ConfigFlow, ConfigFlowResult


class SatelliteFlow(ConfigFlow, domain="test_satellite"):
    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        return self.async_create_entry(title="Test satellite", data={})
