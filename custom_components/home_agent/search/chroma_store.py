"""The store on a Chroma server: its REST API, version 2, over Home Assistant's HTTP session."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
import ssl
from typing import TYPE_CHECKING, Any, Self

from aiohttp import ClientConnectorCertificateError, ClientError, ClientSSLError, ClientTimeout, ServerDisconnectedError
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import async_get_clientsession
import orjson
from yarl import URL

from ..settings.search import DocumentMatch, RetrievalSettings
from ..support.bounds import BodyTooLong, bounded
from ..support.encoding import plain_text
from ..support.errors import StoreError, StoreRefusedError
from ..support.issues import RetrievalIssues
from ..support.outages import COLLECTION, STORE, RetrievalBreaker
from .model import Document

if TYPE_CHECKING:
    from .model import VectorRows


CONNECT_TIMEOUT = 2.0  # seconds
QUERY_TIMEOUT = 3.0  # seconds; a turn is waiting
INDEX_TIMEOUT = 30.0  # seconds for one request of the index
MAX_ANSWER = 64 * 1024 * 1024  # bytes; a page of long documents has a few
RETRY_DELAY = 1.0  # seconds until a request of the index is repeated

KEY, DIGEST = "home_agent_key", "home_agent_digest"  # metadata: embedder's key of a collection, digest of a document
BATCH = 200  # documents in one request
PAGE = 1000  # documents in one answer
COSINE = "cosine"

_AWAY = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)  # of a proxy


class ChromaApi:
    """One database of a server. Each request ends within its time limit; all errors are `StoreError`."""

    def __init__(self, hass: HomeAssistant, settings: RetrievalSettings) -> None:
        """Prepare; nothing is sent."""
        self.title = f"Chroma ({settings.chroma_host}:{settings.chroma_port})"
        self._hass = hass
        self._session = async_get_clientsession(hass, verify_ssl=settings.chroma_verify_ssl)
        scheme = "https" if settings.chroma_tls else "http"
        path = ("api/v2/tenants", settings.chroma_tenant, "databases", settings.chroma_database)
        self._root: URL | None = None
        with suppress(ValueError):
            server = URL.build(scheme=scheme, host=settings.chroma_host, port=settings.chroma_port)
            self._root = server.joinpath(*path)
        token = settings.chroma_token.strip()
        self._headers = {"Authorization": f"Bearer {token}", "X-Chroma-Token": token} if token else {}

    async def async_request(
        self, method: str, *path: str, body: Mapping[str, Any] | None = None, patient: bool = False, **query: int
    ) -> Any | None:
        """Send JSON, which may hold arrays, and return the answer; None if the collection does not exist.

        `patient` requests, outside a turn, have more time and a second attempt.
        """
        if self._root is None:
            raise self._error("store_unreachable", "InvalidURL")
        data = None
        if body is not None:
            dumps = partial(orjson.dumps, body, option=orjson.OPT_SERIALIZE_NUMPY)
            data = await self._hass.async_add_executor_job(dumps)
        url = self._root.joinpath(*path).with_query(query)
        within = INDEX_TIMEOUT if patient else QUERY_TIMEOUT
        try:
            return await self._async_send(method, url, data, within)
        except StoreError as err:
            if isinstance(err.__cause__, ServerDisconnectedError):  # a kept connection of a server that was restarted
                return await self._async_send(method, url, data, within)
            if not patient or err.translation_key != "store_unreachable":
                raise
        await asyncio.sleep(RETRY_DELAY)
        return await self._async_send(method, url, data, within)

    async def _async_send(self, method: str, url: URL, data: bytes | None, within: float) -> Any | None:
        headers = self._headers if data is None else {**self._headers, "Content-Type": "application/json"}
        timeout = ClientTimeout(total=within, connect=CONNECT_TIMEOUT)
        try:
            async with self._session.request(
                method, url, data=data, headers=headers, timeout=timeout, allow_redirects=False
            ) as response:
                parts = [part async for part in bounded(response.content.iter_any(), MAX_ANSWER)]
                status = response.status
        except TimeoutError as err:
            raise self._error("store_timeout", str(int(within))) from err
        except (ClientConnectorCertificateError, ClientSSLError, ssl.SSLError) as err:
            raise self._error("store_certificate", type(err).__name__) from err
        except (ClientError, OSError) as err:
            raise self._error("store_unreachable", type(err).__name__) from err
        except BodyTooLong as err:
            raise self._error("store_answer", type(err).__name__) from err
        try:
            raw = b"".join(parts)
            answer = await self._hass.async_add_executor_job(orjson.loads, raw) if raw else {}
        except ValueError:
            answer = None
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise self._error("store_auth", f"HTTP {status}")
        if status in _AWAY:
            raise self._error("store_unreachable", f"HTTP {status}")
        if status < HTTPStatus.MULTIPLE_CHOICES and answer is not None:
            return answer
        said = str(answer.get("message", "")) if isinstance(answer, dict) else ""
        if status == HTTPStatus.NOT_FOUND and "ollection" in said:
            return None
        if "dimension" in said:
            raise StoreRefusedError(store=self.title, collection="", detail=f"HTTP {status}")
        database_is_missing = status == HTTPStatus.NOT_FOUND and said
        raise self._error("store_database" if database_is_missing else "store_answer", f"HTTP {status}")

    def _error(self, key: str, detail: str) -> StoreError:
        return StoreError(key, store=self.title, detail=detail)


@dataclass(frozen=True, slots=True)
class _Collection:
    id: str
    space: str  # `cosine`, `l2` or `ip`
    key: str | None  # None if another program made it; it must not be changed then
    dimension: int | None  # None if it is empty

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Self:
        """Return the collection in a server's answer."""
        metadata = answer.get("metadata") or {}
        configuration = answer.get("configuration_json") or {}
        index = configuration.get("hnsw") or configuration.get("spann") or {}
        space = index.get("space") or metadata.get("hnsw:space") or "l2"
        return cls(answer["id"], space, metadata.get(KEY), answer.get("dimension"))


class ChromaStore:
    """The store on a server. It creates collections with cosine distance, and reads others, too."""

    def __init__(
        self, hass: HomeAssistant, settings: RetrievalSettings, reporter: RetrievalIssues, *, logs: bool = True
    ) -> None:
        """Prepare; nothing is sent. Without `logs`, for a form, failures are only raised."""
        self._api = ChromaApi(hass, settings)
        self._known: dict[str, _Collection] = {}
        self.health = RetrievalBreaker(STORE, self._api.title, reporter, logs=logs)
        self._reporter = reporter
        self._is_foreign = False  # whether the issue of a collection of another program is raised

    async def async_open(self) -> None:
        """Check server, token and database."""
        async with self._watched(now=True):
            await self._api.async_request("GET")

    async def async_check(self, collection: str) -> None:
        """Raise `StoreRefusedError` if a collection belongs to another program."""
        async with self._watched(now=True):
            await self._async_own(collection)

    async def async_close(self) -> None:
        """Forget known collections; the connections are Home Assistant's."""
        self._known.clear()

    async def async_upsert(self, collection: str, documents: Sequence[Document], vectors: VectorRows, key: str) -> None:
        """Add or replace documents in batches; a collection of another key is emptied first."""
        if not documents:
            return
        async with self._watched(now=True):
            dimension, found = int(vectors.shape[1]), await self._async_own(collection)
            if found is not None and found.key == key and found.dimension not in (None, dimension):
                raise self._refused("store_dimension", collection, f"{found.dimension}, {dimension}")
            if found is not None and found.key != key:
                await self._async_drop(collection)
                found = None
            if found is None:
                new = {"name": collection, "configuration": {"hnsw": {"space": COSINE}}, "metadata": {KEY: key}}
                answer = await self._api.async_request("POST", "collections", body=new, patient=True)
                found = _Collection.of(answer or {})
            self._known.pop(collection, None)  # its dimension is known with the first documents
            for start in range(0, len(documents), BATCH):
                batch = documents[start : start + BATCH]
                ids = [plain_text(document.id) for document in batch]
                # The server keeps metadata that is not named; None removes it.
                page = await self._async_at(found, "get", {"ids": ids, "include": ["metadatas"]}, collection)
                rows = zip(page["ids"], page["metadatas"], strict=True)
                outdated = {item: dict.fromkeys(metadata or {}) for item, metadata in rows}
                body = {
                    "ids": ids,
                    "embeddings": vectors[start : start + BATCH].copy(),
                    "documents": [plain_text(document.text) for document in batch],
                    "metadatas": [outdated.get(plain_text(item.id), {}) | _metadata(item) for item in batch],
                }
                await self._async_at(found, "upsert", body, collection)

    async def async_delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove documents; unknown ids are ignored."""
        async with self._watched(now=True):
            if not ids or (found := await self._async_own(collection)) is None:
                return
            for start in range(0, len(ids), PAGE):
                body = {"ids": [plain_text(item) for item in ids[start : start + PAGE]]}
                await self._async_at(found, "delete", body, collection)

    async def async_digests(self, collection: str, key: str) -> dict[str, str]:
        """Return the digests of all documents by id; empty if the collection is missing or of another key."""
        async with self._watched(now=True):
            found = await self._async_collection(collection, anew=True)
            if found is None or found.key != key:
                return {}
            return {
                item: str(metadata.get(DIGEST, ""))
                async for item, metadata, _ in self._async_pages(found, collection, "metadatas")
            }

    async def async_documents(self, collection: str) -> list[Document]:
        """Return all documents of a collection; empty if it is missing."""
        async with self._watched(now=True):
            if (found := await self._async_collection(collection, anew=True)) is None:
                return []
            pages = self._async_pages(found, collection, "metadatas", "documents")
            return [
                Document(id=item, text=text or "", metadata=_without_digest(metadata), digest=metadata.get(DIGEST, ""))
                async for item, metadata, text in pages
            ]

    async def async_query(self, collection: str, vector: Sequence[float], limit: int) -> list[DocumentMatch] | None:
        """Return the nearest documents, nearest first; None if the collection is missing."""
        include, wanted = ["documents", "metadatas", "distances"], [float(value) for value in vector]
        body = {"query_embeddings": [wanted], "n_results": limit, "include": include}
        async with self._watched():
            for _ in range(2):
                if (found := await self._async_collection(collection)) is None:
                    return None
                if found.dimension is None or limit <= 0:
                    return []
                if found.dimension != len(vector):
                    raise self._refused("store_dimension", collection, f"{found.dimension}, {len(vector)}")
                answer = await self._api.async_request("POST", "collections", found.id, "query", body=body)
                if answer is not None:
                    return _matches(answer, found.space)
                self._known.pop(collection, None)  # it was created again, with another id
            return None

    async def async_collections(self) -> dict[str, int]:
        """Return the number of documents by collection."""
        async with self._watched():
            listed = await self._api.async_request("GET", "collections", limit=PAGE) or []
            counts = {
                row["name"]: await self._api.async_request("GET", "collections", row["id"], "count") for row in listed
            }
            return {name: int(count or 0) for name, count in sorted(counts.items())}

    async def async_drop(self, collection: str) -> None:
        """Delete a collection of ours, if it exists."""
        async with self._watched(now=True):
            if await self._async_own(collection) is not None:
                await self._async_drop(collection)

    @asynccontextmanager
    async def _watched(self, *, now: bool = False) -> AsyncGenerator[None]:
        """Watch a request; an answer unlike Chroma's is a `StoreError` as well."""
        async with self.health.watched(now=now):
            try:
                yield
            except (KeyError, TypeError, AttributeError, IndexError, ValueError) as err:
                raise StoreError("store_answer", store=self._api.title, detail=type(err).__name__) from err

    async def _async_drop(self, collection: str) -> None:
        self._known.pop(collection, None)
        await self._api.async_request("DELETE", "collections", collection, patient=True)

    async def _async_own(self, name: str) -> _Collection | None:
        """Return a collection of ours, None if it is missing. Raises `StoreRefusedError` if it is another program's."""
        found = await self._async_collection(name, anew=True)
        if found is not None and found.key is None:
            refusal = self._refused("store_foreign", name, "")
            await self._reporter.async_failing(COLLECTION, self._api.title, refusal)
            self._is_foreign = True
            raise refusal
        if self._is_foreign:
            self._is_foreign = False
            self._reporter.async_recovered(COLLECTION)
        return found

    async def _async_collection(self, name: str, *, anew: bool = False) -> _Collection | None:
        """Return a collection, from the server if it is unknown, empty, or to be read `anew`."""
        known = None if anew else self._known.get(name)
        if known is None and (answer := await self._api.async_request("GET", "collections", name)) is not None:
            known = _Collection.of(answer)
        if known is None or known.dimension is None:
            self._known.pop(name, None)
        else:
            self._known[name] = known
        return known

    async def _async_at(self, found: _Collection, what: str, body: Mapping[str, Any], name: str) -> Any:
        """Return the answer of a collection's endpoint. Raises `StoreError` if the collection is gone."""
        answer = await self._api.async_request("POST", "collections", found.id, what, body=body, patient=True)
        if answer is None:
            self._known.pop(name, None)
            raise StoreError("store_answer", store=self._api.title, detail=name)
        return answer

    async def _async_pages(
        self, found: _Collection, name: str, *include: str
    ) -> AsyncGenerator[tuple[str, Mapping[str, Any], str | None]]:
        """Yield id, metadata and text of all documents; empty metadata and None if they are not in `include`."""
        offset = 0
        while True:
            page = await self._async_at(found, "get", {"limit": PAGE, "offset": offset, "include": include}, name)
            ids = page["ids"]
            nothing = [None] * len(ids)
            rows = zip(ids, page.get("metadatas") or nothing, page.get("documents") or nothing, strict=True)
            for item, metadata, text in rows:
                yield item, metadata or {}, text
            offset += len(ids)
            if len(ids) < PAGE:
                return

    def _refused(self, key: str, collection: str, detail: str) -> StoreRefusedError:
        return StoreRefusedError(key, store=self._api.title, collection=collection, detail=detail)


def _matches(answer: Mapping[str, Any], space: str) -> list[DocumentMatch]:
    """Return the matches of a query; with a similarity in the cosine space only."""
    rows = (answer[key][0] for key in ("ids", "documents", "metadatas", "distances"))
    return [
        DocumentMatch(
            id=item,
            text=text or "",
            metadata=_without_digest(metadata or {}),
            distance=float(distance),
            similarity=min(1.0, 1.0 - distance) if space == COSINE else None,
        )
        for item, text, metadata, distance in zip(*rows, strict=True)
    ]


def _metadata(document: Document) -> dict[str, Any]:
    known = document.metadata.items()
    metadata = {plain_text(key): plain_text(value) if isinstance(value, str) else value for key, value in known}
    return {**metadata, DIGEST: document.digest}


def _without_digest(metadata: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in metadata.items() if key != DIGEST}
