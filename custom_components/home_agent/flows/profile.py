"""The forms of an agent: what each agent needs, then topics. They start from a preset or YAML and store what differs from defaults."""

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
from ..settings.portable import PRESETS, Problem, async_people, async_preset, from_yaml, in_home, to_yaml
from ..settings.profile import SETTINGS, default_settings, profile_ids, settings_of
from ..support.const import DOMAIN, SUBENTRY_PROFILE
from ..support.localize import async_own_text, async_text
from .fields import (
    FIRST,
    PICKED,
    SLASH_COMMANDS,
    TOPICS,
    async_check_settings,
    async_default_instructions,
    async_with_exposed,
    async_with_people,
    default_model,
    entered,
    fields_of,
    inherited,
    known,
    layers_of,
    tidy,
    values_of,
)
from .forms import LONG_TEXT, SWITCH, TEXT, Fields, FormError, SubentryForms, markers, shown
from .inheritance import async_told
from .reader import async_reader_language

MORE = "more"
CONF_YAML = "yaml"


class ProfileFlow(SubentryForms):
    """Add an agent or change one."""

    _instructions = ""  # the default instructions as shown: sent back, they are not stored
    _own: dict[str, Any] | None = None
    """Own settings so far: from a preset, YAML or the forms; None: as they are stored."""
    _name = ""  # so far

    async def async_step_user(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Add an agent: ask what it starts from, then for its settings."""
        if user_input is None:
            return await self.async_step_start()
        return await self._async_first(user_input)

    async def async_step_start(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Ask what the agent starts from."""
        return self.async_show_menu(step_id="start", menu_options=["blank", *PRESETS, CONF_YAML])

    async def async_step_blank(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from the default settings."""
        return await self._async_first(None)

    async def _async_from(self, key: str, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Start from a preset, under an unused name and without commands that another agent has."""
        usual, self._own = await async_preset(self.hass, key, self.hass.config.language)
        if self._taken(self._own):
            del self._own[SLASH_COMMANDS]
        names = chain([usual], (f"{usual} {number}" for number in count(2)))
        self._name = next(name for name in names if not self.name_is_taken(name))
        return await self._async_first(None)

    async_step_home_assistant = partialmethod(_async_from, "home_assistant")
    async_step_guest = partialmethod(_async_from, "guest")
    async_step_kids = partialmethod(_async_from, "kids")
    async_step_security = partialmethod(_async_from, "security")
    async_step_technician = partialmethod(_async_from, "technician")
    async_step_automation_creation = partialmethod(_async_from, "automation_creation")
    async_step_storyteller = partialmethod(_async_from, "storyteller")

    async def async_step_reconfigure(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Change an agent."""
        return await self._async_first(user_input)

    async def async_step_more(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show the topics; nothing is stored before *save*."""
        return self.async_show_menu(step_id=MORE, menu_options=[*TOPICS, CONF_YAML, "save"])

    async def async_step_save(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Store the agent. A new name does not change its id."""
        subentry, own = self.subentry, self._settings()
        if subentry and self._name != subentry.title and "profile_id" not in own:
            if (before := self._ids()[subentry.subentry_id]) != slugify(self._name):
                own["profile_id"] = before
        return self.store(self._name, own)

    async def async_step_yaml(self, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show the own settings as YAML, or read them; the form shows them before they are stored."""
        entry, subentry, problems = self._get_entry(), self.subentry, list[str]()
        stored = settings_of(subentry.data) if subentry else {}
        own = stored if self._own is None else self._own
        name = self._name or (subentry.title if subentry else "")
        people = await async_people(self.hass)
        text = to_yaml(entry, name, own, people) if own or name else ""
        if user_input is not None:
            text = user_input.get(CONF_YAML, "")
            name, own, found = from_yaml(entry, text)
            own, missing = in_home(self.hass, own, people)
            if not (problems := await self._async_problems(own, found + missing)):
                newer = {key: value for key, value in stored.items() if key not in SETTINGS}
                self._own, self._name = newer | tidy(own), name or self._name
                return await self._async_first(None)
        shown_text = shown(probatio.Optional, CONF_YAML, {CONF_YAML: text})
        return self.async_show_form(
            step_id="yaml",
            data_schema=probatio.Schema({shown_text: LONG_TEXT}),
            errors={CONF_YAML: "yaml_problems"} if problems else {},
            description_placeholders={"problems": "\n".join(f"- {problem}" for problem in problems)},
        )

    async def _async_problems(self, own: Mapping[str, Any], found: Iterable[Problem]) -> list[str]:
        """Return a sentence for each error of settings: those `found`, and those of the fields and the forms."""
        language = await async_reader_language(self.hass)
        said = [await async_text(self.hass, language, key, **placeholders) for key, placeholders in found]
        left = dict(own)
        for key in own.keys() - PICKED - {"people"}:  # users are looked up by `in_home`
            field = fields_of(key)[key]
            selector: Any = field if isinstance(field, Selector) else field(self.hass)
            try:
                if SETTINGS[key].kind != "switch":  # read from YAML as true or false
                    selector(own[key])
            except probatio.Invalid:
                said.append(await async_text(self.hass, language, "import_value", setting=key))
                del left[key]
        while finding := await self._async_finding(left):
            for key in left:  # the setting without which the error does not occur
                others = {other: value for other, value in left.items() if other != key}
                if await self._async_finding(others) != finding:
                    break
            else:
                break  # the defaults have the error
            said.append(await self._async_sentence(key, *finding))
            left = others
        return said

    async def _async_sentence(self, key: str, error: str, placeholders: Mapping[str, str]) -> str:
        """Return an error of a form as a sentence about a setting."""
        language = await async_reader_language(self.hass)
        path = f"config_subentries.{SUBENTRY_PROFILE}.error.{error}"
        sentence = await async_own_text(self.hass, language, "config_subentries", DOMAIN, path) or error
        problem = sentence.format_map(placeholders)
        return await async_text(self.hass, language, "import_problem", setting=key, problem=problem)

    async def _async_finding(self, own: Mapping[str, Any]) -> FormError | None:
        """Return an error of own settings: in themselves, or beside what is stored of this and other agents."""
        settings = inherited(self._defaults(), own)
        if taken := self._taken(own):
            return "command_taken", taken
        if (chosen := own.get("profile_id")) and (wrong := self._wrong_id(chosen)):
            return wrong, {}
        prompt = own.get("custom_prompt")
        if settings["use_default_prompt"] and prompt not in (None, self._stored().get("custom_prompt")):
            return "custom_prompt_unused", {}
        return await async_check_settings(self.hass, settings)

    def _ids(self) -> dict[str, str]:
        """Return the ids of all agents by that of their subentry."""
        agents = {item.subentry_id: item for item in self._get_entry().get_subentries_of_type(SUBENTRY_PROFILE)}
        ids = profile_ids((item.data.get("profile_id", ""), item.title) for item in agents.values())
        return dict(zip(agents, ids, strict=True))

    def _wrong_id(self, chosen: str) -> str | None:
        """Return an error of the id of an agent."""
        ids = self._ids()
        if self.subentry:
            del ids[self.subentry.subentry_id]
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

    def _defaults(self) -> dict[str, Any]:
        entry = self._get_entry()
        return known(entry, default_settings(entry.options))

    def _stored(self) -> dict[str, Any]:
        return known(self._get_entry(), settings_of(self.subentry.data)) if self.subentry else {}

    def _settings(self) -> dict[str, Any]:
        """Return the own settings so far."""
        return self._stored() if self._own is None else self._own

    async def _async_first(self, user_input: dict[str, Any] | None) -> SubentryFlowResult:
        """Show the first form, or store what it sent unless there is more to set."""
        subentry, errors = self.subentry, dict[str, str]()
        self._name = self._name or (subentry.title if subentry else "")
        if user_input is None:
            return await self._async_show(self.first_step, FIRST)
        self._name = name = user_input.get(CONF_NAME, "").strip()
        await self._async_take(FIRST, user_input)
        if not name or self.name_is_taken(name):
            errors[CONF_NAME] = "name_taken" if name else "name_missing"
        finding = await self._async_finding(self._settings())
        if errors or finding:
            return await self._async_show(self.first_step, FIRST, errors, finding)
        return await (self.async_step_more() if user_input.get(MORE) else self.async_step_save())

    async def _async_topic(self, topic: str, user_input: dict[str, Any] | None = None) -> SubentryFlowResult:
        """Show the form of a topic, or take what it sent."""
        finding = None
        if user_input is not None:
            await self._async_take(TOPICS[topic], user_input)
            if (finding := await self._async_finding(self._settings())) is None:
                return await self.async_step_more()
        return await self._async_show(topic, TOPICS[topic], finding=finding)

    async_step_answers = partialmethod(_async_topic, "answers")
    async_step_prompt = partialmethod(_async_topic, "prompt")
    async_step_context = partialmethod(_async_topic, "context")
    async_step_exposure = partialmethod(_async_topic, "exposure")
    async_step_history = partialmethod(_async_topic, "history")
    async_step_tools = partialmethod(_async_topic, "tools")
    async_step_agents = partialmethod(_async_topic, "agents")
    async_step_routing = partialmethod(_async_topic, "routing")
    async_step_safety = partialmethod(_async_topic, "safety")
    async_step_wishes = partialmethod(_async_topic, "wishes")

    async def _async_take(self, fields: Fields, user_input: Mapping[str, Any]) -> None:
        """Take what a form with these fields sent."""
        layers = layers_of(self.hass, self._defaults(), self._settings(), self._instructions)
        self._own = layers.overrides(entered(self.hass, fields, layers, user_input))

    async def _async_show(
        self, step: str, fields: Fields, errors: Mapping[str, str] | None = None, finding: FormError | None = None
    ) -> SubentryFlowResult:
        """Show a form with the settings so far, and what is wrong with them."""
        defaults, own = self._defaults(), self._settings()
        self._instructions = await async_default_instructions(self._get_entry(), inherited(defaults, own))
        layers = layers_of(self.hass, defaults, own, self._instructions)
        choices = await async_with_people(self.hass, fields, layers.shown["people"])
        schema = markers(self.hass, await async_with_exposed(self.hass, choices), values_of(self.hass, layers))
        if fields is FIRST:
            name = shown(probatio.Required, CONF_NAME, {CONF_NAME: self._name})
            schema = {name: TEXT, **schema, probatio.Optional(MORE): SWITCH}
        error, placeholders = finding or ("", {})
        told = await async_told(self.hass, fields, layers)
        return self.async_show_form(
            step_id=step,
            data_schema=probatio.Schema(schema),
            errors={**(errors or {}), **({"base": error} if error else {})},
            description_placeholders={**told, **placeholders, "default_model": default_model(self._get_entry())},
        )
