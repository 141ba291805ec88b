"""Actions of the index of the home and of documents."""

from dataclasses import asdict
from functools import partial
import time

from homeassistant.const import ATTR_ENTITY_ID
from homeassistant.core import ServiceCall, ServiceResponse
from homeassistant.helpers import config_validation as cv
from homeassistant.util.json import JsonObjectType
import probatio

from ..search.files import path_within
from ..search.passages import COLLECTION, AddedDocument
from ..support.encoding import plain_text
from ..support.errors import KnowledgeError
from .call import ServiceAction, async_stored, invalid, runtime_of

MAX_TEXT = 200_000  # characters; what is longer is a file
MAX_TITLE = 200  # characters
MAX_METADATA = 20  # values
_TITLE = probatio.All(cv.string, probatio.Length(max=MAX_TITLE))
_NUMBER = probatio.All(probatio.Any(int, float), probatio.Range(min=-(2**53), max=2**53))  # exact in JSON, and no NaN
_VALUE = probatio.Any(bool, _NUMBER, probatio.All(str, probatio.Length(max=500), plain_text))
REINDEX_SCHEMA = probatio.Schema({probatio.Optional("force", default=False): cv.boolean})
INDEX_ENTITY_SCHEMA = probatio.Schema({probatio.Required(ATTR_ENTITY_ID): cv.entity_id})
ADD_DOCUMENT_SCHEMA = probatio.Schema(
    {
        probatio.Optional("text"): probatio.All(cv.string, probatio.Length(min=1, max=MAX_TEXT)),
        probatio.Optional("path"): cv.string,
        probatio.Optional("collection", default=COLLECTION): cv.string,
        probatio.Optional("title", default=""): _TITLE,
        probatio.Optional("source", default=""): _TITLE,
        probatio.Optional("outside", default=False): cv.boolean,
        probatio.Optional("metadata", default=dict): probatio.All(
            {probatio.All(str, plain_text): _VALUE}, probatio.Length(max=MAX_METADATA)
        ),
    }
)
REMOVE_DOCUMENT_SCHEMA = probatio.Schema({probatio.Required("document"): cv.string})


async def _async_reindex_entities(call: ServiceCall) -> ServiceResponse:
    """Read the home again and index it; return the counts of entities."""
    began = time.perf_counter()
    finder = runtime_of(call.hass).finder
    counts = await finder.async_reindex(anew=call.data["force"])
    return {"entities": finder.report.entities, **asdict(counts), "duration_ms": _since(began)}


async def _async_index_entity(call: ServiceCall) -> ServiceResponse:
    """Index one entity; return its document. Raises if it is not exposed."""
    began = time.perf_counter()
    entity_id = call.data[ATTR_ENTITY_ID]
    document = await runtime_of(call.hass).finder.async_index_entity(entity_id)
    if document is None:
        raise invalid("entity_not_exposed", entity_id=entity_id)
    return {"entity_id": entity_id, "text": document.text, "duration_ms": _since(began)}


async def _async_add_document(call: ServiceCall) -> ServiceResponse:
    """Add a document, or replace the one with the same title; return its number of passages."""
    if ("text" in call.data) == ("path" in call.data):
        raise invalid("document_text_or_path")
    data, knowledge, path = call.data, runtime_of(call.hass).knowledge, ""
    try:
        if "path" in data:
            path = await call.hass.async_add_executor_job(partial(path_within, knowledge.folder, data["path"]))
        first_line = next(iter((path or data["text"]).strip().splitlines()), "")
        entry = AddedDocument(
            collection=data["collection"],
            title=plain_text(data["title"] or first_line.lstrip("# ")[:MAX_TITLE]),
            source=plain_text(data["source"]),
            text=plain_text(data.get("text", "")),
            path=path,
            outside=data["outside"],
            metadata=data["metadata"],
        )
        passages = await knowledge.async_add(entry)
    except KnowledgeError as err:  # an error of the input
        raise invalid(str(err.translation_key), **(err.translation_placeholders or {})) from err
    done: JsonObjectType = {"document": entry.key, "collection": entry.collection, "passages": len(passages)}
    return await async_stored(call, done, knowledge.added)


async def _async_remove_document(call: ServiceCall) -> ServiceResponse:
    """Remove an added document; return its number of passages."""
    try:
        passages = await (knowledge := runtime_of(call.hass).knowledge).async_remove(call.data["document"])
    except KnowledgeError as err:
        raise invalid("knowledge_no_document", path=call.data["document"]) from err
    return await async_stored(call, {"passages": passages}, knowledge.added)


def _since(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)


ACTIONS = (
    ServiceAction("reindex_entities", _async_reindex_entities, REINDEX_SCHEMA, for_admins=True),
    ServiceAction("index_entity", _async_index_entity, INDEX_ENTITY_SCHEMA, for_admins=True),
    ServiceAction("add_document", _async_add_document, ADD_DOCUMENT_SCHEMA, for_admins=True),
    ServiceAction("remove_document", _async_remove_document, REMOVE_DOCUMENT_SCHEMA, for_admins=True),
)
