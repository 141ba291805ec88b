"""The owner's own prompt: a template, rendered once per conversation."""

from homeassistant.core import HomeAssistant
from homeassistant.exceptions import TemplateError
from homeassistant.helpers.template import Template

from ..errors import PromptTemplateError
from ..turn import Turn


def render_prompt(hass: HomeAssistant, text: str, turn: Turn) -> str:
    """Return the owner's prompt with its values; plain text costs nothing.

    Variables: ha_name, user_name, language, area_id, device_id, profile_name, besides everything that Home Assistant's templates know.
    Raises `PromptTemplateError`, which names the profile and what is wrong.
    """
    if not text.strip():
        return ""
    template = Template(text, hass)
    if template.is_static:
        return text.strip()
    try:
        rendered = template.async_render(
            {
                "ha_name": hass.config.location_name,
                "user_name": turn.user.name if turn.user else None,
                "language": turn.language,
                "area_id": turn.area_id,
                "device_id": turn.device_id,
                "profile_name": turn.profile.name,
            },
            parse_result=False,
        )
    except TemplateError as err:
        raise PromptTemplateError(profile=turn.profile.name, detail=str(err)) from err
    return str(rendered).strip()
