"""What every store does; the same tests for all of them."""

import pytest

from custom_components.home_agent.search.vectors import Store
from custom_components.home_agent.support.errors import StoreRefusedError

from .conftest import KEY, document, rows

KITCHEN = document("light.kitchen", "Kitchen lights", area="Kitchen", dimmable=True, floor=0, height=2.5)
BEDROOM = document("light.bed", "Bedroom light", area="Bedroom")
DOOR = document("lock.door", "Front door")


async def filled(store: Store, collection: str = "home_entities") -> None:
    vectors = rows([1, 0, 0], [1, 1, 0], [0, 0, 1])
    await store.async_upsert(collection, [KITCHEN, BEDROOM, DOOR], vectors, KEY)


async def test_nearest_come_first_with_everything_about_them(store: Store) -> None:
    await filled(store)
    matches = await store.async_query("home_entities", [1.0, 0.0, 0.0], 2)
    assert matches is not None
    assert [match.id for match in matches] == ["light.kitchen", "light.bed"]
    assert matches[0].text == "Kitchen lights"
    assert dict(matches[0].metadata) == {"area": "Kitchen", "dimmable": True, "floor": 0, "height": 2.5}
    assert [match.similarity for match in matches] == pytest.approx([1.0, 0.7071], abs=1e-3)
    assert [match.distance for match in matches] == pytest.approx([0.0, 0.2929], abs=1e-3)


async def test_more_is_asked_for_than_there_is(store: Store) -> None:
    await filled(store)
    assert len(await store.async_query("home_entities", [1.0, 0.0, 0.0], 40) or ()) == 3


async def test_same_id_is_the_same_document(store: Store) -> None:
    await filled(store)
    changed = document("light.bed", "Lamp beside the bed")
    await store.async_upsert("home_entities", [changed], rows([0, 1, 0]), KEY)
    matches = await store.async_query("home_entities", [0.0, 1.0, 0.0], 1) or []
    assert [(match.id, match.text, dict(match.metadata)) for match in matches] == [
        ("light.bed", "Lamp beside the bed", {})
    ]
    assert (await store.async_digests("home_entities", KEY))["light.bed"] == changed.digest
    assert await store.async_collections() == {"home_entities": 3}


async def test_document_is_added_and_removed_between_queries(store: Store) -> None:
    await filled(store)
    await store.async_query("home_entities", [0.0, 1.0, 0.0], 1)
    await store.async_upsert("home_entities", [document("fan.attic")], rows([0, 1, 0]), KEY)
    assert [match.id for match in await store.async_query("home_entities", [0.0, 1.0, 0.0], 1) or ()] == ["fan.attic"]
    await store.async_delete("home_entities", ["fan.attic", "not.there"])
    assert [match.id for match in await store.async_query("home_entities", [0.0, 1.0, 0.0], 1) or ()] == ["light.bed"]


async def test_digests_tell_what_is_there(store: Store) -> None:
    await filled(store)
    wanted = {item.id: item.digest for item in (KITCHEN, BEDROOM, DOOR)}
    assert await store.async_digests("home_entities", KEY) == wanted
    assert await store.async_digests("home_entities", "another model") == {}
    assert await store.async_digests("missing", KEY) == {}


async def test_documents_come_back_as_they_were(store: Store) -> None:
    odd = document("sensor.odd", "Wärme 🌡️ \u202eשלום\u202c 温度\n'\";--", note="ä")
    await store.async_upsert("notes", [KITCHEN, odd], rows([1, 0, 0], [0, 1, 0]), KEY)
    assert sorted(await store.async_documents("notes"), key=lambda item: item.id) == [KITCHEN, odd]
    assert await store.async_documents("missing") == []


async def test_other_model_begins_anew(store: Store) -> None:
    await filled(store)
    await store.async_upsert("home_entities", [DOOR], rows([1, 0]), "other 2")
    assert await store.async_digests("home_entities", "other 2") == {"lock.door": DOOR.digest}
    assert [match.id for match in await store.async_query("home_entities", [1.0, 0.0], 5) or ()] == ["lock.door"]


async def test_same_model_with_another_length_is_refused_as_a_whole(store: Store) -> None:
    await filled(store)
    with pytest.raises(StoreRefusedError) as refusal:
        await store.async_upsert("home_entities", [DOOR], rows([1, 0]), KEY)
    assert refusal.value.translation_key == "store_dimension"
    assert await store.async_collections() == {"home_entities": 3}


async def test_vector_of_another_length_is_refused(store: Store) -> None:
    await filled(store)
    with pytest.raises(StoreRefusedError) as refusal:
        await store.async_query("home_entities", [1.0, 0.0], 5)
    assert refusal.value.translation_key == "store_dimension"
    assert await store.async_query("home_entities", [1.0, 0.0, 0.0], 5)


async def test_missing_collection_is_no_error(store: Store) -> None:
    assert await store.async_query("missing", [1.0, 0.0, 0.0], 5) is None
    await store.async_delete("missing", ["a"])
    await store.async_drop("missing")


async def test_collections_are_apart(store: Store) -> None:
    await filled(store)
    await store.async_upsert("manuals", [document("page-1")], rows([0, 0, 0, 1]), KEY)
    assert await store.async_collections() == {"home_entities": 3, "manuals": 1}
    await store.async_drop("home_entities")
    assert await store.async_collections() == {"manuals": 1}
    assert await store.async_query("home_entities", [1.0, 0.0, 0.0], 5) is None


async def test_many_documents_in_one_go(store: Store) -> None:
    many = [document(f"sensor.s{number}") for number in range(1200)]
    await store.async_upsert("home_entities", many, rows(*([1, number, 0] for number in range(1200))), KEY)
    assert await store.async_collections() == {"home_entities": 1200}
    assert len(await store.async_digests("home_entities", KEY)) == 1200
    assert len(await store.async_documents("home_entities")) == 1200
    assert [match.id for match in await store.async_query("home_entities", [1.0, 0.0, 0.0], 1) or ()] == ["sensor.s0"]
