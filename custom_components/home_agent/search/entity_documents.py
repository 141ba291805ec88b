"""What is known about an entity when it is looked for: from the registries and its abilities, never its state."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b

from homeassistant.const import ATTR_DEVICE_CLASS, ATTR_UNIT_OF_MEASUREMENT
from homeassistant.core import HomeAssistant, callback
from homeassistant.helpers import device_registry as dr, entity_registry as er, label_registry as lr

from ..home.domains import DOMAINS, UNKNOWN
from ..home.snapshot import HomeArea, HomeEntity, HomeSnapshot
from ..support.bounds import in_slices
from .model import Document

MAX_NAME = 200  # characters of a name from a registry
MAX_LABELS = 16

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDocument:
    """An exposed entity as it can be found."""

    entity_id: str
    names: tuple[str, ...]
    """Name and aliases; the first is its name. Never empty."""
    area_id: str | None = None
    area_names: tuple[str, ...] = ()
    """The area with its aliases; empty without an area."""
    floor_names: tuple[str, ...] = ()
    device_name: str = ""
    product: tuple[str, ...] = ()
    """Manufacturer and model of the device, as far as known."""
    device_class: str = ""
    unit: str = ""
    labels: tuple[str, ...] = ()
    abilities: tuple[str, ...] = ()
    """What it can do, in English words: `brightness`, `color`, `temperature`, ..."""
    is_primary: bool = True
    """Whether it is what its device is for, not a setting or a diagnosis of it."""

    @property
    def domain(self) -> str:
        """The part before the dot."""
        return self.entity_id.partition(".")[0]

    @property
    def text(self) -> str:
        """All of it in one line, as it is embedded: what people say first."""
        place = ", ".join((*self.area_names, *self.floor_names))
        kind = " ".join(filter(None, (self.device_class, self.domain, f"({self.unit})" if self.unit else "")))
        parts = (
            " / ".join(self.names),
            place,
            kind.replace("_", " "),
            self.device_name if self.device_name != self.names[0] else "",
            " ".join(self.product),
            ", ".join(self.labels),
            ", ".join(self.abilities),
        )
        return "; ".join(part for part in parts if part)

    def document(self) -> Document:
        """Return it as a store keeps it, with the digest of everything that it says."""
        text = self.text
        digest = blake2b(f"{self.entity_id}\n{text}\n{self.is_primary}".encode(), digest_size=_DIGEST_BYTES)
        metadata = {"domain": self.domain, "area_id": self.area_id or ""}
        return Document(id=self.entity_id, text=text, metadata=metadata, digest=digest.hexdigest())


async def async_entity_documents(hass: HomeAssistant, home: HomeSnapshot) -> dict[str, EntityDocument]:
    """Return the document of every entity of the home, by entity id; reads in slices that let the event loop run."""
    documents: dict[str, EntityDocument] = {}
    async for entity in in_slices(home.entities.values()):
        documents[entity.entity_id] = entity_document(hass, entity, home.areas)
    return documents


@callback
def entity_document(hass: HomeAssistant, entity: HomeEntity, areas: Mapping[str, HomeArea]) -> EntityDocument:
    """Return the document of one entity, from the registries as they are now."""
    entry = er.async_get(hass).async_get(entity.entity_id)
    device = dr.async_get(hass).async_get(entry.device_id) if entry and entry.device_id else None
    main = _main_device(hass, device)
    state = hass.states.get(entity.entity_id)
    attributes = state.attributes if state else {}
    search_words = DOMAINS.get(entity.domain, UNKNOWN).search_words
    area = areas.get(entity.area_id) if entity.area_id else None
    return EntityDocument(
        entity_id=entity.entity_id,
        names=entity.names,
        area_id=entity.area_id,
        area_names=area.names if area else (),
        floor_names=area.floor_names if area else (),
        device_name=_text(device and (device.name_by_user or device.name)),
        product=tuple(filter(None, (_text(main.manufacturer), _text(main.model)))) if main else (),
        device_class=_text(attributes.get(ATTR_DEVICE_CLASS)),
        unit=_text(attributes.get(ATTR_UNIT_OF_MEASUREMENT)),
        labels=_labels(hass, entry, device),
        abilities=tuple(search_words(attributes)) if search_words is not None else (),
        is_primary=entry is None or entry.entity_category is None,
    )


def _main_device(hass: HomeAssistant, device: dr.AnyDeviceEntry | None) -> dr.DeviceEntry | None:
    """Return the device that a maker and a model are known of: a part of a device has none of its own."""
    if isinstance(device, dr.ChildDeviceEntry):
        return dr.async_get(hass).async_get(device.parent_device_id, include_child_devices=False)
    return device


def _labels(hass: HomeAssistant, entry: er.RegistryEntry | None, device: dr.AnyDeviceEntry | None) -> tuple[str, ...]:
    ids = (entry.labels if entry else set()) | (device.labels if device else set())
    if not ids:
        return ()
    registry = lr.async_get(hass)
    labels = (registry.async_get_label(label_id) for label_id in ids)
    return tuple(sorted(_text(label.name) for label in labels if label)[:MAX_LABELS])


def _text(value: object) -> str:
    """Return a text of a registry; integrations sometimes leave numbers there."""
    return str(value)[:MAX_NAME] if value is not None else ""
