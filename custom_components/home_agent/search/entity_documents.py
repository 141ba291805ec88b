"""Entities as documents of the index: from the registries and their abilities, never from their states."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDocument:
    """An exposed entity in the index."""

    entity_id: str
    names: tuple[str, ...]  # name, then aliases; never empty
    area_id: str | None = None
    area_names: tuple[str, ...] = ()  # area with its aliases; empty without an area
    floor_names: tuple[str, ...] = ()
    device_name: str = ""
    product: tuple[str, ...] = ()  # known manufacturer and model of the device
    device_class: str = ""
    unit: str = ""
    labels: tuple[str, ...] = ()
    abilities: tuple[str, ...] = ()  # english words for abilities: `brightness`, `color`, `temperature`, ..
    is_primary: bool = True  # whether it is neither a configuration nor a diagnostic entity

    @property
    def domain(self) -> str:
        """Return the domain."""
        return self.entity_id.partition(".")[0]

    @property
    def text(self) -> str:
        """Return the line to embed; what people are likely to say comes first."""
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
        """Return the document for a store, with a digest of its content."""
        text = self.text
        digest = blake2b(f"{self.entity_id}\n{text}\n{self.is_primary}".encode(), digest_size=16)
        metadata = {"domain": self.domain, "area_id": self.area_id or ""}
        return Document(id=self.entity_id, text=text, metadata=metadata, digest=digest.hexdigest())


async def async_entity_documents(hass: HomeAssistant, home: HomeSnapshot) -> dict[str, EntityDocument]:
    """Return the documents of all entities of the home by entity id; works in slices."""
    entities = in_slices(home.entities.values())
    return {entity.entity_id: entity_document(hass, entity, home.areas) async for entity in entities}


@callback
def entity_document(hass: HomeAssistant, entity: HomeEntity, areas: Mapping[str, HomeArea]) -> EntityDocument:
    """Return the document of one entity, from the current registries."""
    entry = er.async_get(hass).async_get(entity.entity_id)
    devices, labels = dr.async_get(hass), lr.async_get(hass)
    device = main = devices.async_get(entry.device_id) if entry and entry.device_id else None
    if isinstance(main, dr.ChildDeviceEntry):  # manufacturer and model are those of the whole device
        main = devices.async_get(main.parent_device_id, include_child_devices=False)
    label_ids = (entry.labels if entry else set()) | (device.labels if device else set())
    label_names = [_text(label.name) for item in label_ids if (label := labels.async_get_label(item))]
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
        labels=tuple(sorted(label_names)[:MAX_LABELS]),
        abilities=tuple(search_words(attributes)) if search_words is not None else (),
        is_primary=entry is None or entry.entity_category is None,
    )


def _text(value: object) -> str:
    return str(value)[:MAX_NAME] if value is not None else ""
