"""The check of the home, at the end of set-up and in the default settings: findings, voice assistant, a first sentence."""

from abc import abstractmethod
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
import time
from typing import Any

from homeassistant.components import conversation
from homeassistant.config_entries import ConfigEntryState, ConfigFlowContext, ConfigFlowResult, OptionsFlow
from homeassistant.core import Context, callback
from homeassistant.exceptions import HomeAssistantError
from homeassistant.helpers import entity_registry as er
import probatio

from ..agent.pipelines import async_add_pipeline, async_hand_over, async_pipelines, async_preferred_pipeline
from ..agent.runtime import RuntimeData
from ..home.snapshot import HomeSnapshot
from ..settings.profile import Profile
from ..support.const import DOMAIN
from ..support.encoding import shown as plainly
from ..support.localize import async_error_text, async_text
from .forms import TEXT, select, shown

CHECK = "check"
FROM_SETUP = ConfigFlowContext(source=CHECK)  # context of an options flow that only shows the check
CONF_AGENT = "agent"
CONF_VOICE_ASSISTANT = "voice_assistant"
CONF_SENTENCE = "sentence"
KEEP, NEW = "keep", "new"  # choices besides the existing voice assistants: change nothing, add one
MAX_NAMED = 5
MAX_WAIT = 120  # seconds for an answer
BUILT_IN = "conversation.home_assistant"
"""Home Assistant's own agent, the default of a voice assistant."""
PLACELESS = frozenset(
    (
        *("automation", "calendar", "counter", "date", "datetime", "device_tracker", "group", "input_boolean"),
        *("input_button", "input_datetime", "input_number", "input_select", "input_text", "notify", "person", "scene"),
        *("schedule", "script", "sun", "tag", "time", "timer", "todo", "update", "weather", "zone"),
    )
)
"""Domains that need no area."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What makes a home hard for an agent."""

    exposed: int
    without_area: tuple[str, ...]  # names of exposed entities that lack an area, sorted
    twice: tuple[str, ...]  # names that several exposed entities share, sorted


def findings_of(snapshot: HomeSnapshot) -> Findings:
    """Return the findings about the exposed home. Names are compared regardless of case."""
    entities = tuple(snapshot.entities.values())
    spoken = {name.casefold(): name for entity in entities for name in entity.names}
    counted = Counter(name for entity in entities for name in {name.casefold() for name in entity.names})
    homeless = (entity.names[0] for entity in entities if not entity.area_id and entity.domain not in PLACELESS)
    return Findings(
        exposed=len(snapshot.entities),
        without_area=tuple(sorted(homeless, key=str.casefold)),
        twice=tuple(sorted((spoken[name] for name, count in counted.items() if count > 1), key=str.casefold)),
    )


class HomeCheck(OptionsFlow):
    """The two forms of the check: the findings, and the answer to a sentence."""

    _ends_here = False  # whether set-up led here, so that no menu follows
    _agent = ""  # the subentry of the agent that is asked

    @abstractmethod
    async def async_step_init(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the menu that the check is chosen from."""

    @callback
    def follows_setup(self) -> bool:
        """Return whether this flow goes on with set-up. The frontend starts a new one; the given one ends here."""
        flows = self.hass.config_entries.options
        for waiting in flows.async_progress_by_handler(self.handler, match_context={**FROM_SETUP}):
            self._ends_here = True
            if waiting["flow_id"] != self.flow_id:
                flows.async_abort(waiting["flow_id"])
        self._ends_here |= self.context.get("source") == CHECK
        return self._ends_here

    async def async_step_check(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the findings; ask for a voice assistant and a sentence."""
        if not (agents := self._agents()):
            return self.async_abort(reason="no_agent")
        if user_input is not None:
            self._agent = user_input.get(CONF_AGENT, next(iter(agents)))
            if agent := agents.get(self._agent):
                await self._async_hand_over(user_input.get(CONF_VOICE_ASSISTANT, KEEP), *agent)
            return await self.async_step_answer(user_input)
        runtime: RuntimeData = self.config_entry.runtime_data
        findings = findings_of(await runtime.home.async_get())
        sentence = await async_text(self.hass, self.hass.config.language, "check_sentence")
        schema: dict[probatio.Marker, Any] = {}
        if len(agents) > 1 and not self._ends_here:  # after set-up it is the first one
            names = {subentry_id: name for subentry_id, (name, _) in agents.items()}
            schema[shown(probatio.Required, CONF_AGENT, {CONF_AGENT: next(iter(names))})] = select(names)
        if pipelines := async_pipelines(self.hass):
            choices = {pipeline_id: pipeline.name for pipeline_id, pipeline in pipelines.items()}
            marker = shown(probatio.Required, CONF_VOICE_ASSISTANT, {CONF_VOICE_ASSISTANT: self._suggestion()})
            schema[marker] = select({**choices, NEW: NEW, KEEP: KEEP}, CONF_VOICE_ASSISTANT)
        schema[shown(probatio.Optional, CONF_SENTENCE, {CONF_SENTENCE: sentence})] = TEXT
        ours = [pipeline.name for pipeline in pipelines.values() if self._is_ours(pipeline.conversation_engine)]
        return self.async_show_form(
            step_id=CHECK,
            data_schema=probatio.Schema(schema),
            errors={} if findings.exposed else {"base": "nothing_exposed"},
            description_placeholders={
                "exposed": str(findings.exposed),
                "without_area": counted(findings.without_area),
                "twice": counted(findings.twice),
                "assistants": counted(sorted(ours)),
            },
        )

    async def async_step_answer(self, user_input: dict[str, Any] | None = None) -> ConfigFlowResult:
        """Show the agent's answer to the sentence, until none is entered."""
        sentence = (user_input or {}).get(CONF_SENTENCE, "").strip()
        if not sentence and self._ends_here:
            return self.async_create_entry(data=self.config_entry.options)
        if not sentence:
            return await self.async_step_init()
        if (agent := self._agents().get(self._agent)) is None:
            return self.async_abort(reason="no_agent")
        name, agent_id = agent
        began = time.monotonic()
        answer = await self._async_ask(sentence, agent_id)
        return self.async_show_form(
            step_id="answer",
            data_schema=probatio.Schema({probatio.Optional(CONF_SENTENCE): TEXT}),
            description_placeholders={
                "agent": plainly(name),
                "sentence": plainly(sentence),
                "answer": plainly(answer),
                "seconds": f"{time.monotonic() - began:.1f}",
            },
        )

    def _agents(self) -> dict[str, tuple[str, str]]:
        """Return name and entity id of each agent by subentry id; nothing if the entry is not loaded."""
        if self.config_entry.state is not ConfigEntryState.LOADED:
            return {}
        registry = er.async_get(self.hass)
        profiles: Mapping[str, Profile] = self.config_entry.runtime_data.profiles
        return {
            subentry_id: (profile.name, entity_id)
            for subentry_id, profile in profiles.items()
            if (entity_id := registry.async_get_entity_id(conversation.DOMAIN, DOMAIN, subentry_id))
        }

    def _is_ours(self, agent_id: str) -> bool:
        return any(agent_id == entity_id for _, entity_id in self._agents().values())

    def _suggestion(self) -> str:
        """Return the preselected choice, which replaces no agent but Home Assistant's own."""
        if any(self._is_ours(pipeline.conversation_engine) for pipeline in async_pipelines(self.hass).values()):
            return KEEP
        preferred = async_preferred_pipeline(self.hass)
        return str(preferred.id) if preferred and preferred.conversation_engine == BUILT_IN else NEW

    async def _async_hand_over(self, choice: str, name: str, agent_id: str) -> None:
        """Let the agent answer for the chosen voice assistant, if that still exists."""
        if choice == NEW:
            called = await async_text(self.hass, self.hass.config.language, "check_voice_assistant", agent=name)
            await async_add_pipeline(self.hass, agent_id, called)
        elif choice in async_pipelines(self.hass):
            await async_hand_over(self.hass, choice, agent_id)

    async def _async_ask(self, sentence: str, agent_id: str) -> str:
        """Return the agent's answer, or the error."""
        language = self.hass.config.language
        try:
            async with asyncio.timeout(MAX_WAIT):
                result = await conversation.async_converse(
                    self.hass, sentence, None, Context(), language=language, agent_id=agent_id
                )
        except TimeoutError:
            return await async_text(self.hass, language, "check_no_answer", seconds=str(MAX_WAIT))
        except HomeAssistantError as err:
            return await async_error_text(self.hass, language, err)
        return str(result.response.speech.get("plain", {}).get("speech", ""))


def counted(names: Sequence[str]) -> str:
    """Return the number of names and the first of them: `3: Bed, Fan, Lamp`."""
    if not names:
        return "0"
    listed = ", ".join(plainly(name) for name in names[:MAX_NAMED])
    return f"{len(names)}: {listed}{', …' if len(names) > MAX_NAMED else ''}"
