"""Automations, written so that nothing is lost: one item of the file is changed, reloaded and seen to be there, or put back."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
import errno
from glob import escape
import os
from pathlib import Path
import stat
import tempfile
import time
from typing import Any

from homeassistant.components.automation import DOMAIN as AUTOMATION
from homeassistant.config import AUTOMATION_CONFIG_PATH
from homeassistant.const import (
    ATTR_ENTITY_ID,
    CONF_ID,
    SERVICE_RELOAD,
    SERVICE_TURN_OFF,
    SERVICE_TURN_ON,
    STATE_OFF,
    STATE_ON,
    STATE_UNAVAILABLE,
)
from homeassistant.core import Context, HomeAssistant
from homeassistant.helpers import entity_registry as er, issue_registry as ir
from homeassistant.helpers.entity import Entity
from homeassistant.helpers.entity_component import DATA_INSTANCES
from homeassistant.util.hass_dict import HassKey

from ..support.const import DOMAIN, LOGGER
from ..support.errors import ToolError, ToolRefusal
from ..support.quoting import one_line
from .file import MAX_BYTES, MAX_DETAIL, AutomationFile, AutomationItem, read_text
from .included import Inclusion, inclusion
from .known import Known, SecretNames, Seen, known_automations

PATIENCE = 60  # seconds that a reload may take; a thousand automations take two
TOO_BIG = f"{MAX_BYTES // 1_000_000} MB"
_SERVICES = {STATE_ON: SERVICE_TURN_ON, STATE_OFF: SERVICE_TURN_OFF}
_BESIDE = f".{DOMAIN}"  # the end of the name of what is being written beside the file
_SURELY = 2_000_000_000  # nanoseconds after which a file that is written again has another time
_NEW_MODE = 0o644  # as Home Assistant makes it
_EDITOR = f"/api/config/{AUTOMATION}/config/"
_STORE: HassKey[AutomationStore] = HassKey(f"{DOMAIN}_automation_store")


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenAutomation:
    """One automation as it was and as it is in the file."""

    id: str
    before: AutomationItem | None
    """None if it was not in the file."""
    after: AutomationItem | None
    """None if it is not in the file any more."""
    entity_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """What is to be written."""

    id: str
    config: Mapping[str, Any] | None
    text: str | None
    place: int | None
    within: str | None
    expected: str | None
    enabled: bool
    context: Context | None
    then: Callable[[], None] | None

    def check_name(self, file: AutomationFile, seen: Iterable[Seen]) -> None:
        """Raise `ToolRefusal` where a name is new and another automation has it by now: two conversations may have asked for it."""
        name = str((self.config or {}).get("alias") or "").casefold()
        old = file.item(self.id)
        if not name or (old is not None and str(old.config.get("alias") or "").casefold() == name):
            return
        in_file = {str(one.config.get("alias") or "").casefold() for one in file.items if one.id != self.id}
        if name in in_file | {one.name.casefold() for one in seen if one.id != self.id}:
            raise ToolRefusal(name_taken(str((self.config or {}).get("alias"))))

    def applied(self, file: AutomationFile, *, is_elsewhere: bool) -> AutomationFile:
        """Return the file as it is to be. Raises `ToolError`."""
        old = file.item(self.id)
        if self.expected is None and (old is not None or is_elsewhere):
            raise ToolError("automation_file_exists", id=self.id)
        if self.expected is not None and old is None:
            raise ToolError("automation_file_gone")
        if old is not None and old.fingerprint != self.expected:
            raise ToolError("automation_file_changed")
        if self.text is not None:
            changed = file.with_text(self.id, self.text, self.place, self.within)
            restored, meant = changed.item(self.id), read_text(self.text.encode()).item(self.id)
            if restored is None or meant is None or restored.config != meant.config:
                raise ToolError(
                    "automation_file_not_plain", name=self.id
                )  # what stands around it would become a part of its last text
        elif self.config is not None:
            changed = file.with_config(self.id, self.config)
        else:
            changed = file.without(self.id)
        if len(changed.data) > MAX_BYTES:
            raise ToolError("automation_file_too_big", most=TOO_BIG)
        return changed


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """What one write does to the file."""

    id: str
    before: bytes | None
    """None if there was no file."""
    old: AutomationFile
    new: AutomationFile

    @property
    def was(self) -> AutomationItem | None:
        """The automation before."""
        return self.old.item(self.id)

    @property
    def now(self) -> AutomationItem | None:
        """The automation afterwards."""
        return self.new.item(self.id)

    def is_in(self, file: AutomationFile) -> bool:
        """Return whether the automation is in a file as it was written."""
        return _mark(file.item(self.id)) == _mark(self.now)

    def taken_back(self, file: AutomationFile) -> AutomationFile:
        """Return a file that others changed meanwhile, with this automation as it was. Raises `ToolError`."""
        if (was := self.was) is None:
            return file.without(self.id)
        return file.with_text(self.id, was.text, was.place, was.within)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Earlier:
    """The entity of an automation at one moment."""

    entity_id: str | None
    """In the registry, where it stays without the automation."""
    state: str | None
    """None if Home Assistant does not have the automation."""

    @classmethod
    def of(cls, hass: HomeAssistant, automation_id: str) -> _Earlier:
        """Return what it is now."""
        entity_id = er.async_get(hass).async_get_entity_id(AUTOMATION, AUTOMATION, automation_id)
        entity = _entity(hass, automation_id)
        state = hass.states.get(entity.entity_id) if entity is not None else None
        return cls(entity_id=entity_id, state=state.state if state is not None else None)


def name_taken(name: str) -> str:
    """Return the sentence for a name that another automation has."""
    return f"An automation is called '{name}' already. Choose another name, or update that one."


def automation_store(hass: HomeAssistant) -> AutomationStore:
    """Return the store of automations; there is one."""
    if (store := hass.data.get(_STORE)) is None:
        store = hass.data[_STORE] = AutomationStore(hass)
    return store


class AutomationStore:
    """The automations of Home Assistant, and the file of those that can be changed."""

    def __init__(self, hass: HomeAssistant) -> None:
        """Take Home Assistant."""
        self._hass = hass
        self._config_dir = Path(hass.config.config_dir)
        self._path = Path(hass.config.path(AUTOMATION_CONFIG_PATH))
        self._lock = asyncio.Lock()
        self._secrets = SecretNames(self._config_dir)
        self._known: tuple[tuple[int, int, int], AutomationFile] | None = None
        """The file as it was read last, with what tells that it is still the same."""
        self._last: dict[str, AutomationItem] = {}

    @property
    def is_writing(self) -> bool:
        """Whether something is being written, and may still be put back."""
        return self._lock.locked()

    def cached(self, automation_id: str) -> AutomationItem | None:
        """Return an automation as it stood in the file when that was read or written last; None if it was not in it."""
        return self._last.get(automation_id)

    async def async_items(self) -> list[AutomationItem]:
        """Return the automations of the file. Raises `ToolError` if it cannot be read."""
        return list((await self._async_read()).items)

    async def async_item(self, automation_id: str) -> AutomationItem | None:
        """Return an automation of the file; None if it is not in it. Raises `ToolError` if the file cannot be read, or has it twice."""
        return (await self._async_read()).item(automation_id)

    async def async_config(self, automation_id: str) -> Mapping[str, Any] | None:
        """Return how an automation is written, wherever it is, with its secrets: for judging, not for telling. None if it is gone."""
        if (item := await self.async_item(automation_id)) is not None:
            return item.config
        entity = _entity(self._hass, automation_id)
        return None if entity is None else getattr(entity, "raw_config", None) or {}

    async def _async_read(self) -> AutomationFile:
        file = await self._hass.async_add_executor_job(self._read)
        self._last = {item.id: item for item in file.items if item.id is not None}
        return file

    async def async_automations(self) -> list[Known]:
        """Return all automations, wherever they are written, without secrets. Never raises."""
        try:
            items = await self.async_items()
        except ToolError as err:
            LOGGER.debug("The file of automations cannot be read: %s", err.translation_key)
            items = []
        seen = [Seen.of(self._hass, entity) for entity in _entities(self._hass)]
        return await self._hass.async_add_executor_job(known_automations, seen, items, self._secrets)

    async def async_check_writable(self) -> None:
        """Raises `ToolError`, with what to do, if an automation cannot be written."""
        await self._async_check_read()
        await self._hass.async_add_executor_job(self._read)
        await self._hass.async_add_executor_job(_check_access, self._path)

    async def async_put(
        self,
        automation_id: str,
        config: Mapping[str, Any] | None,
        *,
        expected: str | None,
        text: str | None = None,
        place: int | None = None,
        within: str | None = None,
        enabled: bool = True,
        context: Context | None = None,
        then: Callable[[], None] | None = None,
    ) -> WrittenAutomation:
        """Write an automation anew (`config`), put its exact text back (`text`) or delete it (neither), and return what changed.

        A text is put back at a `place`; `within` is the fingerprint of the file it stood in.

        `expected` is the fingerprint with which it was read; None if it must not exist. Raises `ToolError` if it was changed
        meanwhile, cannot be written, or is not there and `enabled` afterwards; then the file is as before. A cancelled write
        is put back, too. `then` is called at once when it is written for good: what is kept of it and the file go together.
        """
        order = _Order(
            id=automation_id,
            config=config,
            text=text,
            place=place,
            within=within,
            expected=expected,
            enabled=enabled,
            context=context,
            then=then,
        )
        task = self._hass.async_create_task(self._async_write(order), f"{DOMAIN} automation {automation_id}")
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.cancel()  # once: it still puts back what it wrote
            raise

    async def _async_write(self, order: _Order) -> WrittenAutomation:
        async with self._async_locked():
            await self._async_check_read()
            seen = [Seen.of(self._hass, one) for one in _entities(self._hass)]
            change = await self._hass.async_add_executor_job(
                self._change, order, _entity(self._hass, order.id) is not None, seen
            )
            earlier = _Earlier.of(self._hass, order.id)
            writing = self._hass.async_add_executor_job(_replace, self._path, change.before, change.new.data)
            try:
                await asyncio.shield(writing)
                entity_id = await self._async_seen(change.now, order) if change.now else await self._async_gone(order)
                await self._hass.async_add_executor_job(self._check_kept, change)
            except BaseException:
                back = self._async_put_back(change, writing, earlier)
                await asyncio.shield(self._hass.async_create_task(back, f"{DOMAIN} automation {order.id} put back"))
                raise
            if change.now is None and entity_id is not None:
                # Last: what its entity is called, and where, cannot be put back
                er.async_get(self._hass).async_remove(entity_id)
            self._last.pop(order.id, None)
            if change.now is not None:
                self._last[order.id] = change.now
            if order.then is not None:  # nothing is awaited in between
                order.then()
        return WrittenAutomation(id=order.id, before=change.was, after=change.now, entity_id=entity_id)

    @asynccontextmanager
    async def _async_locked(self) -> AsyncGenerator[None]:
        """Hold our lock, and the one of Home Assistant's editor where it can be found."""
        async with AsyncExitStack() as locks:
            await locks.enter_async_context(self._lock)
            if (editor := _editor_lock(self._hass)) is not None:
                await locks.enter_async_context(editor)
            yield

    async def _async_check_read(self) -> None:
        """Raises `ToolError`, with what to do, if Home Assistant does not read the file."""
        if not (self._hass.config.safe_mode or self._hass.config.recovery_mode):
            found, folder = await self._hass.async_add_executor_job(inclusion, self._config_dir, self._path)
            if found is Inclusion.FOLDER:
                raise ToolError("automation_file_folder", folder=folder)
            if found is Inclusion.NO:
                raise ToolError("automation_file_not_included")
        if not self._hass.services.has_service(AUTOMATION, SERVICE_RELOAD):
            raise ToolError("automation_file_not_loaded")

    def _read(self) -> AutomationFile:
        """Return the file, which is read anew only if it is another one. Blocks."""
        with suppress(OSError):
            status = self._path.stat()
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._known is not None and self._known[0] == stamp:
                return self._known[1]
            found = read_text(_bytes_of(self._path) or b"")
            if time.time_ns() - status.st_mtime_ns > _SURELY:
                self._known = stamp, found
            return found
        return read_text(_bytes_of(self._path) or b"")

    def _change(self, order: _Order, is_loaded: bool, seen: Iterable[Seen]) -> _Change:
        """Return what is to be written. Raises `ToolError` if it is not as it was read, has another one's name, or cannot be written."""
        _check_access(self._path)
        before = _bytes_of(self._path)
        old = read_text(before or b"")
        order.check_name(old, seen)
        new = order.applied(old, is_elsewhere=is_loaded and old.item(order.id) is None)
        return _Change(id=order.id, before=before, old=old, new=new)

    def _check_kept(self, change: _Change) -> None:
        """Raises `ToolError` if the automation was written otherwise meanwhile, by a program that knows no lock."""
        now = _bytes_of(self._path)
        if now != change.new.data and not change.is_in(read_text(now or b"")):
            raise ToolError("automation_file_changed")

    async def _async_seen(self, item: AutomationItem, order: _Order) -> str:
        """Return the entity that runs an automation, once it is there and enabled. Raises `ToolError`."""
        await self._async_reload(order)
        entity = _entity(self._hass, order.id)
        state = self._hass.states.get(entity.entity_id) if entity is not None else None
        if entity is None or state is None:
            raise ToolError("automation_file_not_seen")
        if state.state == STATE_UNAVAILABLE:
            if reason := _reason(self._hass, entity.entity_id):
                raise ToolError("automation_file_invalid", detail=await self._async_detail(reason))
            raise ToolError("automation_file_not_seen")
        raw = getattr(entity, "raw_config", None)
        if item.is_plain and "use_blueprint" not in item.config and raw is not None and raw != item.config:
            raise ToolError("automation_file_not_seen")
        wanted = STATE_ON if order.enabled else STATE_OFF
        if state.state != wanted:
            await self._async_call(_SERVICES[wanted], {ATTR_ENTITY_ID: entity.entity_id}, order.context)
        if not self._hass.states.is_state(entity.entity_id, wanted):
            raise ToolError("automation_file_not_switched")
        return entity.entity_id

    async def _async_gone(self, order: _Order) -> str | None:
        """Return the entity that is left in the registry, once the automation is gone. Raises `ToolError`."""
        await self._async_reload(order)
        if _entity(self._hass, order.id) is not None:
            raise ToolError("automation_file_still_there")
        return _Earlier.of(self._hass, order.id).entity_id

    async def _async_reload(self, order: _Order) -> None:
        await self._async_call(SERVICE_RELOAD, {CONF_ID: order.id}, order.context)

    async def _async_call(self, service: str, data: Mapping[str, Any], context: Context | None) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._hass.services.async_call(AUTOMATION, service, dict(data), blocking=True, context=context)
        except TimeoutError:
            raise ToolError("automation_file_slow", seconds=str(PATIENCE)) from None
        except Exception as err:
            raise ToolError(
                "automation_file_reload_failed", detail=await self._async_detail(str(err) or type(err).__name__)
            ) from err

    async def _async_detail(self, said: str) -> str:
        """Return what Home Assistant says on one line, without secrets."""
        hide = await self._hass.async_add_executor_job(self._secrets.hiding)
        return one_line(str(hide(said)), MAX_DETAIL)

    async def _async_put_back(self, change: _Change, writing: asyncio.Future[None], earlier: _Earlier) -> None:
        """Make the file what it was, or where others changed it meanwhile, the automation. Raises `ToolError` if that fails."""
        if not await _is_done(writing):
            return
        try:
            await self._hass.async_add_executor_job(self._put_back, change)
        except ToolError as err:
            LOGGER.error("The automation %s could not be put back: %s", change.id, err.translation_key)
            raise ToolError("automation_file_not_put_back", id=change.id) from err
        finally:
            with suppress(ToolError):
                await self._async_call(SERVICE_RELOAD, {CONF_ID: change.id}, None)
                await self._async_as_earlier(change.id, earlier)

    async def _async_as_earlier(self, automation_id: str, earlier: _Earlier) -> None:
        """Switch an automation that was put back as it was, and remove the entity of one that was not there."""
        now = _Earlier.of(self._hass, automation_id)
        if now.entity_id is not None and earlier.entity_id is None and now.state is None:
            er.async_get(self._hass).async_remove(now.entity_id)
        elif now.entity_id is not None and earlier.state in _SERVICES and now.state != earlier.state:
            await self._async_call(_SERVICES[earlier.state], {ATTR_ENTITY_ID: now.entity_id}, None)

    def _put_back(self, change: _Change) -> None:
        if (now := _bytes_of(self._path)) == change.new.data:
            _replace(self._path, now, change.before)
        elif change.is_in(file := read_text(now or b"")):
            _replace(self._path, now, change.taken_back(file).data)


async def _is_done(writing: asyncio.Future[None]) -> bool:
    """Return whether the file was written, once that has ended."""
    try:
        await writing
    except ToolError:
        return False
    return True


def _mark(item: AutomationItem | None) -> str | None:
    return item.fingerprint if item is not None else None


def _entities(hass: HomeAssistant) -> list[Entity]:
    """Return all automations that Home Assistant has."""
    component = hass.data.get(DATA_INSTANCES, {}).get(AUTOMATION)
    return list(component.entities) if component is not None else []


def _entity(hass: HomeAssistant, automation_id: str) -> Entity | None:
    return next((entity for entity in _entities(hass) if entity.unique_id == automation_id), None)


def _reason(hass: HomeAssistant, entity_id: str) -> str:
    """Return why Home Assistant does not run an automation, from the Repairs issue that it makes of it."""
    told = [
        issue.translation_placeholders or {}
        for issue in ir.async_get(hass).issues.values()
        if issue.domain == AUTOMATION
    ]
    return next((str(one.get("error", "")) for one in told if one.get("entity_id") == entity_id), "")


def _editor_lock(hass: HomeAssistant) -> asyncio.Lock | None:
    """Return the lock that Home Assistant's own editor holds while it writes the file; None where it has none.

    It belongs to a view, which only the routes of the web server know.
    """
    app = getattr(getattr(hass, "http", None), "app", None)
    for route in app.router.routes() if app is not None else ():
        if route.resource is None or not route.resource.canonical.startswith(_EDITOR):
            continue
        for cell in getattr(route.handler, "__closure__", None) or ():
            view = cell.cell_contents
            lock = getattr(view, "mutation_lock", None)
            if isinstance(lock, asyncio.Lock) and getattr(view, "path", None) == AUTOMATION_CONFIG_PATH:
                return lock
    return None


def _bytes_of(path: Path) -> bytes | None:
    """Return what is in a file, one byte more than may be in it at most; None if there is none. Raises `ToolError`."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as err:
        raise ToolError("automation_file_broken", detail=err.strerror or "") from err


def _check_access(path: Path) -> None:
    """Raises `ToolError` if a file may not be written, or its folder."""
    target = path.resolve()
    for place in (target, target.parent):
        if place.exists() and not os.access(place, os.W_OK):
            raise ToolError("automation_file_read_only", detail=os.strerror(errno.EACCES))


def _replace(path: Path, before: bytes | None, after: bytes | None) -> None:
    """Write a file whole, or remove it (None), if it is still as it was. Raises `ToolError`."""
    target = path.resolve()  # a link stays one
    temporary = None
    try:
        if after is not None:
            temporary = _written_beside(target, after)
        if _bytes_of(target) != before:
            raise ToolError("automation_file_changed")
        if temporary is not None:
            temporary.replace(target)
        else:
            target.unlink(missing_ok=True)
        _keep_folder(target.parent)
        _clear_beside(target)
    except OSError as err:
        raise ToolError("automation_file_read_only", detail=err.strerror or "") from err
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def _clear_beside(target: Path) -> None:
    """Remove what was being written beside a file when the power went."""
    for left in target.parent.glob(f".{escape(target.name)}.*{_BESIDE}"):
        with suppress(OSError):
            left.unlink()


def _written_beside(target: Path, data: bytes) -> Path:
    """Return a new file with the data, on the disk, with the mode and the owner of the target."""
    with tempfile.NamedTemporaryFile(
        dir=target.parent, prefix=f".{target.name}.", suffix=_BESIDE, delete=False
    ) as file:
        try:
            mode, owner = _NEW_MODE, None
            with suppress(FileNotFoundError):
                status = target.stat()
                mode, owner = stat.S_IMODE(status.st_mode), (status.st_uid, status.st_gid)
            if owner is not None:
                with suppress(PermissionError):  # only an administrator of the system can give files away
                    os.fchown(file.fileno(), *owner)
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        except OSError:
            Path(file.name).unlink(missing_ok=True)
            raise
    return Path(file.name)


def _keep_folder(folder: Path) -> None:
    """Make the disk keep that a file was replaced, where it can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
