"""AI tasks: an endpoint generates data from instructions, also with a structure and from images."""

import re
from typing import Any, override

from homeassistant.components import ai_task
from homeassistant.components.conversation import ChatLog
from homeassistant.config_entries import ConfigSubentry
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import llm
from homeassistant.helpers.entity_platform import AddConfigEntryEntitiesCallback
from homeassistant.util import slugify
from homeassistant.util.json import json_loads
import probatio

from .agent.model_turn import agent_for_task
from .agent.runtime import HomeAgentConfigEntry, RuntimeData
from .client.endpoint import Endpoint
from .entity import EndpointEntity, async_have_entities
from .settings.profile import Profile
from .support.const import SUBENTRY_LLM
from .support.errors import LLMResponseError
from .turn.turn import Turn, TurnRecord, current_turn, running

PARALLEL_UPDATES = 0
_FENCE = re.compile(r"```\w*")  # many models wrap their JSON
MAX_CALLS = 100  # tool calls of one task


async def async_setup_entry(
    hass: HomeAssistant, entry: HomeAgentConfigEntry, async_add_entities: AddConfigEntryEntitiesCallback
) -> None:
    """Add one AI task entity per endpoint."""
    runtime = entry.runtime_data

    def make(subentry: ConfigSubentry) -> list[HomeAgentTaskEntity]:
        return [HomeAgentTaskEntity(runtime, subentry)]

    async_have_entities(hass, entry, SUBENTRY_LLM, runtime.endpoints, make, async_add_entities)


class HomeAgentTaskEntity(EndpointEntity, ai_task.AITaskEntity):
    """The tasks of an endpoint."""

    _attr_name = None
    _attr_supported_features = (
        ai_task.AITaskEntityFeature.GENERATE_DATA | ai_task.AITaskEntityFeature.SUPPORT_ATTACHMENTS
    )

    def __init__(self, runtime: RuntimeData, subentry: ConfigSubentry) -> None:
        """Initialize the entity of an endpoint."""
        super().__init__(subentry, runtime.endpoints)
        self._attr_unique_id = subentry.subentry_id
        self.runtime = runtime

    @override
    async def _async_generate_data(self, task: ai_task.GenDataTask, chat_log: ChatLog) -> ai_task.GenDataTaskResult:
        turn = await _async_turn(task, chat_log, self.entity_id)
        response_format = _response_format(task, chat_log.llm_api) if task.structure else None
        agent = agent_for_task(self.runtime, self.endpoint, turn, chat_log, response_format)
        with running(turn):
            text = (await agent.async_answer()).text
        data = _structured(self.endpoint, task.structure, text) if task.structure else text
        return ai_task.GenDataTaskResult(conversation_id=chat_log.conversation_id, data=data)


async def _async_turn(task: ai_task.GenDataTask, chat_log: ChatLog, agent_id: str) -> Turn:
    """Return the turn of a task. Its text is from outside (mails, pictures): sensitive actions do not happen in it."""
    asked_by = chat_log.llm_api.llm_context.context if chat_log.llm_api else None
    user_id = asked_by.user_id if asked_by else None
    return Turn(
        profile=Profile(name=task.name, max_calls_per_turn=MAX_CALLS),
        conversation_id=chat_log.conversation_id,
        text=task.instructions,
        language=chat_log.hass.config.language,
        context=asked_by or Context(),
        user=await chat_log.hass.auth.async_get_user(user_id) if user_id else None,
        agent_id=agent_id,
        parent=current_turn.get(None),
        record=TurnRecord(taints={agent_id}),
    )


def _response_format(task: ai_task.GenDataTask, api: llm.APIInstance | None) -> dict[str, Any]:
    """Return the structure as a JSON schema; `strict` if all of its fields are required."""
    serializer = (api.custom_serializer if api else None) or llm.selector_serializer
    schema = probatio.to_openapi(task.structure, custom_serializer=serializer, openapi_version="3.1.0")
    strict = set(schema.get("properties", {})) == set(schema.get("required", ()))
    return {
        "type": "json_schema",
        "json_schema": {"name": slugify(task.name)[:64] or "task", "strict": strict, "schema": schema},
    }


def _structured(endpoint: Endpoint, structure: probatio.Schema, text: str) -> Any:
    """Return the answer as the structure has it. Raises `LLMResponseError` if it does not match."""
    answer = text.strip()
    if answer.endswith("```") and (fence := _FENCE.match(answer)):
        answer = answer[fence.end() : -3].strip()
    if not answer.startswith(("{", "[")) and "{" in answer:  # others explain it
        answer = answer[answer.index("{") : answer.rfind("}") + 1]
    try:
        return structure(json_loads(answer))
    except (ValueError, probatio.Invalid) as err:
        raise LLMResponseError("task_not_structured", endpoint=endpoint.config.title, detail=str(err)) from err
