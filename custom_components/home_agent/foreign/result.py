"""What a foreign tool said, as plain JSON of a bounded size."""

from homeassistant.helpers import llm
from homeassistant.helpers.intent import IntentResponseType
from homeassistant.helpers.json import json_dumps
from homeassistant.util.json import JsonObjectType, JsonValueType, json_loads_object

from ..safety.tool import ToolRefusal

MAX_CHARACTERS = 16_000
_NOT_FOR_MODELS = ("card", "language", "speech", "speech_slots", "reprompt")
"""Parts of an intent's response that are sentences for people or empty for models."""


def plain_result(result: llm.ToolResult | JsonObjectType) -> JsonValueType:
    """Return what a tool handed back, cut where it is too long. Raises `ToolRefusal` when it reports an error."""
    data = result.data if isinstance(result, llm.ToolResult) else result
    plain = json_loads_object(json_dumps(data))  # dates, sets and the like become what JSON has
    if isinstance(result, llm.ToolResult) and result.error:
        raise ToolRefusal(shortened(str(plain.get("error_text") or plain.get("error") or json_dumps(plain))))
    if isinstance(data, llm.IntentResponseDict):
        return _of_intent(plain)
    text = json_dumps(plain)
    if len(text) <= MAX_CHARACTERS:
        return plain
    return {"text": text[:MAX_CHARACTERS], "note": f"Cut off: {MAX_CHARACTERS} of {len(text)} characters."}


def shortened(text: str, limit: int = 1000) -> str:
    """Return a text with its end cut off when it is too long."""
    return text if len(text) <= limit else f"{text[:limit]} … ({len(text)} characters)"


def _of_intent(response: JsonObjectType) -> JsonObjectType:
    """Return what an intent did; an error of it is an error of the tool."""
    speech = response.get("speech")
    said = speech.get("plain") if isinstance(speech, dict) else None
    sentence = str(said.get("speech") or "") if isinstance(said, dict) else ""
    if response.get("response_type") == IntentResponseType.ERROR.value:
        raise ToolRefusal(shortened(sentence or "The action failed."))
    told = {key: value for key, value in response.items() if key not in _NOT_FOR_MODELS}
    return {**told, **({"answer": shortened(sentence)} if sentence else {})}
