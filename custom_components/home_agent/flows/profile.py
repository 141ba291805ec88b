"""The form of an agent: it starts from a preset or from YAML, and stores only what differs from the defaults."""

from collections.abc import Iterable, Mapping
from functools import partialmethod
from itertools import chain, count
from typing import Any

from homeassistant.config_entries import SubentryFlowResult
from homeassistant.const import CONF_NAME
from homeassistant.helpers.selector import Selector
from homeassistant.util import slugify
import probatio

from ..agent.commands import command_name
from ..settings.portable import PRESETS, Problem, async_preset, from_yaml, in_home, to_yaml
from ..settings.profile import SETTINGS, SettingOrigin, default_settings, origins, profile_ids, settings_of
from ..support.const import DOMAIN, SUBENTRY_PROFILE
from ..support.localize import async_own_text, async_text
from .fields import (
    BASICS,
    FOLLOW_LISTS,
    PICKED,
    SECTIONS,
    SLASH_COMMANDS,
    async_check_settings,
    async_default_instructions,
    default_model,
    fields_of,
    inherited,
    known,
    layers_of,
    split,
    tidy,
)
from .forms import LONG_TEXT, SWITCH, TEXT, SubentryForms, lifted, sectioned, shown
from .inheritance import FollowLists, follow_field, followed, following

AS_YAML = "as_yaml"
CONF_YAML = "yaml"


class ProfileFlow(SubentryForms):
    """Add an agent or change one."""

    _instructions = ""  # the default instructions as shown: sent back, they are not stored
    _own: dict[str, Any] | None = None
    """Own settings that were sent with an error, or read from YAML, to be shown again."""
    _name = ""  # the name that was sent with them

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add an agent: ask what it starts from, then for its settings."""
        if user_input is None:
            return await self.async_step_start()
        return await self._async_form(user_input)

    async def async_step_start(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask what the agent starts from."""
        return self.async_show_menu(step_id="start", menu_options=["blank", *PRESETS, CONF_YAML])

    async def async_step_blank(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from the default settings."""
        return await self._async_form(None)

    async def _async_from(self, key: str, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from a preset, under an unused name."""
        usual, self._own = await async_preset(self.hass, key, self.hass.config.language)
        names = chain([usual], (f"{usual} {number}" for number in count(2)))
        self._name = next(name for name in names if not self.name_is_taken(name))
        return await self._async_form(None)

    async_step_home_assistant = partialmethod(_async_from, "home_assistant")
    async_step_guest = partialmethod(_async_from, "guest")
    async_step_kids = partialmethod(_async_from, "kids")
    async_step_security = partialmethod(_async_from, "security")
    async_step_technician = partialmethod(_async_from, "technician")
    async_step_storyteller = partialmethod(_async_from, "storyteller")

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change an agent."""
        return await self._async_form(user_input)

    async def async_step_yaml(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show the own settings as YAML, or read them; the form shows them before they are stored."""
        entry, subentry, problems = self._get_entry(), self.subentry, list[str]()
        stored = settings_of(subentry.data) if subentry else {}
        own = stored if self._own is None else self._own
        text = to_yaml(entry, self._name or (subentry.title if subentry else ""), own) if own or self._name else ""
        if user_input is not None:
            text = user_input.get(CONF_YAML, "")
            name, own, found = from_yaml(entry, text)
            own, missing = in_home(self.hass, own)
            if not (problems := await self._async_problems(own, found + missing)):
                newer = {key: value for key, value in stored.items() if key not in SETTINGS}
                self._own, self._name = newer | tidy(own), name or self._name
                return await self._async_form(None)
        shown_text = shown(probatio.Optional, CONF_YAML, {CONF_YAML: text})
        return self.async_show_form(
            step_id="yaml",
            data_schema=probatio.Schema({shown_text: LONG_TEXT}),
            errors={CONF_YAML: "yaml_problems"} if problems else {},
            description_placeholders={"problems": "\n".join(f"- {problem}" for problem in problems)},
        )

    async def _async_problems(self, own: Mapping[str, Any], found: Iterable[Problem]) -> list[str]:
        """Return a sentence for each error of settings: those `found`, and those of the fields and the form."""
        language, entry = self.hass.config.language, self._get_entry()
        said = [await async_text(self.hass, language, key, **placeholders) for key, placeholders in found]
        left = dict(own)
        for key in own.keys() - PICKED:
            field = fields_of(key)[key]
            selector: Any = field if isinstance(field, Selector) else field(self.hass)
            try:
                selector(own[key])
            except probatio.Invalid:
                said.append(await async_text(self.hass, language, "import_value", setting=key))
                del left[key]
        defaults = known(entry, default_settings(entry.options))
        while finding := await async_check_settings(self.hass, inherited(defaults, left)):
            error, placeholders = finding
            for key in left:  # the setting without which the error does not occur
                others = {other: value for other, value in left.items() if other != key}
                if await async_check_settings(self.hass, inherited(defaults, others)) != finding:
                    break
            else:
                break  # the defaults have the error
            path = f"config_subentries.{SUBENTRY_PROFILE}.error.{error}"
            sentence = await async_own_text(self.hass, language, "config_subentries", DOMAIN, path) or error
            problem = sentence.format_map(placeholders)
            said.append(await async_text(self.hass, language, "import_problem", setting=key, problem=problem))
            left = others
        return said

    def _check_id(self, own: dict[str, Any], name: str) -> str | None:
        """Return an error of the id in the own settings of an agent. A new name does not change the id."""
        entry, subentry = self._get_entry(), self.subentry
        agents = {item.subentry_id: item for item in entry.get_subentries_of_type(SUBENTRY_PROFILE)}
        known = profile_ids((item.data.get("profile_id", ""), item.title) for item in agents.values())
        ids = dict(zip(agents, known, strict=True))
        before = ids.pop(subentry.subentry_id, "") if subentry else ""
        if subentry and name != subentry.title and "profile_id" not in own and before != slugify(name):
            own["profile_id"] = before
        if not (chosen := own.get("profile_id")):
            return None
        if chosen != slugify(chosen):
            return "profile_id_invalid"
        return "profile_id_taken" if chosen in ids.values() else None

    def _taken(self, own: Mapping[str, Any]) -> dict[str, str]:
        """Return a command that another agent has as placeholders, with that agent; empty if there is none."""
        commands = {command_name(item) for item in own.get(SLASH_COMMANDS, ())}
        for other in self._get_entry().get_subentries_of_type(self._subentry_type):
            theirs = {command_name(item) for item in other.data.get(SLASH_COMMANDS, ())}
            if (self.subentry is None or other.subentry_id != self.subentry.subentry_id) and commands & theirs:
                return {"item": f"/{min(filter(None, commands & theirs))}", "profile": other.title}
        return {}

    async def _async_form(self, user_input: dict[str, Any] | None) -> SubentryFlowResult:
        """Show the form, or store what it sent."""
        entry, subentry = self._get_entry(), self.subentry
        defaults = known(entry, default_settings(entry.options))
        stored = known(entry, settings_of(subentry.data)) if subentry else {}
        own = stored if self._own is None else self._own
        name = self._name or (subentry.title if subentry else "")
        errors, placeholders = dict[str, str](), dict[str, str]()
        if user_input is not None:
            name = user_input[CONF_NAME].strip()
            sent = dict(BASICS)
            for key in SECTIONS.keys() & user_input:  # other sections stay as they are
                sent |= SECTIONS[key]
            flat = tidy(lifted(user_input, SECTIONS))
            asked = {name: keys for name, keys in FOLLOW_LISTS.items() if name in sent}
            layers = layers_of(self.hass, defaults, own, self._instructions)
            self._own = own = layers.overrides(flat, sent, followed(flat, own, asked))
            if user_input.get(AS_YAML):
                self._name = name
                return await self.async_step_yaml()
            if not name or self.name_is_taken(name):
                errors[CONF_NAME] = "name_taken" if name else "name_missing"
            if (wrong := self._check_id(own, name)) is not None:
                errors["base"] = wrong
            if inherited(defaults, own)["use_default_prompt"] and own.get("custom_prompt") not in (
                None,
                stored.get("custom_prompt"),
            ):
                errors["base"] = "custom_prompt_unused"
            if taken := self._taken(own):
                errors["base"], placeholders = "command_taken", taken
            if finding := await async_check_settings(self.hass, inherited(defaults, own)):
                errors["base"], placeholders = finding
            if not errors:
                return self.store(name, own)
        settings = inherited(defaults, own)
        self._instructions = await async_default_instructions(entry, settings)
        layers, came = layers_of(self.hass, defaults, own, self._instructions), origins(defaults, {})
        settings = split(self.hass, layers.shown)
        lists = await FollowLists.async_load(self.hass, "config_subentries.profile", self.first_step)
        schema: dict[probatio.Marker, Any] = {shown(probatio.Required, CONF_NAME, {CONF_NAME: name}): TEXT}
        parts = {"": BASICS, **SECTIONS}
        for key, fields in parts.items():
            if (follows := follow_field(key)) in fields:
                settings[follows] = sorted(following(own, fields))
                parts[key] = fields | {follows: lists.choice(key, fields, layers, came, SettingOrigin.PROFILE)}
        schema |= sectioned(self.hass, parts, settings) | {probatio.Optional(AS_YAML): SWITCH}
        return self.async_show_form(
            step_id=self.first_step,
            data_schema=probatio.Schema(schema),
            errors=errors,
            description_placeholders=placeholders | {"default_model": default_model(entry)},
        )
