"""The demo house: Home Assistant's demo devices, put into rooms, some more of them shown to assistants; and Home Agent."""

from typing import Any

from .harness import Flow, Hass

# The demo's locks, fans and media players have no unique id, hence no room.
ROOMS = {
    "Living Room": ("light.living_room_rgbww_lights", "cover.living_room_window", "climate.ecobee"),
    "Kitchen": ("light.kitchen_lights", "cover.kitchen_window"),
    "Bedroom": ("light.bed_light", "climate.hvac"),
    "Office": ("light.office_rgbw_lights", "light.ceiling_lights"),
    "Hallway": ("light.entrance_color_white_lights", "cover.hall_window"),
    "Garage": ("cover.garage_door",),
    "Garden": ("binary_sensor.movement_backyard", "valve.front_garden", "valve.back_garden"),
}
ALSO_CALLED = {
    "Living Room": "Wohnzimmer", "Kitchen": "Küche", "Bedroom": "Schlafzimmer", "Office": "Büro", "Hallway": "Flur",
    "Garden": "Garten",
}  # fmt: skip
"""Other names of rooms, so that German sentences find them."""
ALSO_EXPOSED = ("lock.front_door", "lock.kitchen_door", "valve.front_garden")
SHOPPING_LIST = "todo.shopping_list"
MILK = "milk"
START = {"light.kitchen_lights": "off", "light.bed_light": "on", "light.ceiling_lights": "off"}


async def furnish(hass: Hass) -> None:
    """Give the rooms their devices, expose the house, and reset it."""
    areas = {area["name"]: area["area_id"] for area in await hass.command("config/area_registry/list")}
    entities = {item["entity_id"]: item for item in await hass.command("config/entity_registry/list")}
    for room, entity_ids in ROOMS.items():
        if room not in areas:
            areas[room] = (await hass.command("config/area_registry/create", name=room))["area_id"]
        if alias := ALSO_CALLED.get(room):
            await hass.command("config/area_registry/update", area_id=areas[room], aliases=[alias])
        for entity_id in entity_ids:
            await place(hass, entities[entity_id], areas[room])
    await add_shopping_list(hass)
    await reset(hass)


async def reset(hass: Hass) -> None:
    """Bring the house into the state that every conversation starts from."""
    await hass.expose(*ALSO_EXPOSED, *START)
    for entity_id, state in START.items():
        await hass.call(f"light.turn_{state}", entity_id)
    await hass.call("lock.lock", "lock.front_door")
    for item in await shopping_list(hass):
        if item.casefold() == MILK:
            await hass.call("todo.remove_item", SHOPPING_LIST, item=item)


async def add_shopping_list(hass: Hass) -> None:
    """Add the one kind of list that needs nothing installed; it shows itself to assistants."""
    path = "/api/config/config_entries/flow"
    step = await hass.post(path, handler="shopping_list")
    if step["type"] == "form":  # there can be only one
        await hass.post(f"{path}/{step['flow_id']}")
    await hass.wait_for(SHOPPING_LIST, "0")


async def shopping_list(hass: Hass) -> list[str]:
    answer = await hass.call_for_response("todo.get_items", entity_id=SHOPPING_LIST, status="needs_action")
    return [item["summary"] for item in answer[SHOPPING_LIST]["items"]]


async def place(hass: Hass, entity: dict[str, Any], area_id: str) -> None:
    """Put a device into an area; an entity without a device goes by itself."""
    if device_id := entity["device_id"]:
        await hass.command("config/device_registry/update", device_id=device_id, area_id=area_id)
    else:
        await hass.command("config/entity_registry/update", entity_id=entity["entity_id"], area_id=area_id)


async def add_home_agent(hass: Hass, *, url: str = "", model: str = "", key: str = "", model_first: bool = True) -> str:
    """Add Home Agent through its forms, with an endpoint or without; return the entity id of its assistant.

    A model is asked first, unless not `model_first`: then the home does simple commands, as it is from the start.
    """
    flow = await (await hass.config_flow()).submit(preset="custom" if url else "no_model")
    if url:
        await fill_endpoint(flow, url=url, model=model, key=key)
    assert flow.kind == "create_entry", flow.step
    await flow.skip_check()
    [entry] = await hass.entries()
    assert entry["state"] == "loaded", f"Home Agent is in the state {entry['state']}, see the log"
    [agent] = await hass.agents()
    if url and model_first:
        await ask_the_model_first(hass)
    return agent


async def ask_the_model_first(hass: Hass) -> None:
    """Let the only agent ask its model whatever is said."""
    [profile] = await hass.subentries("profile")
    form = await hass.subentry_flow(await hass.entry_id(), "profile", subentry_id=profile["subentry_id"])
    await form.submit_well(name=profile["title"], local_first=False)


async def fill_endpoint(flow: Flow, *, url: str, model: str, key: str = "") -> None:
    """Fill in the two forms of an endpoint; raises `FlowRefusedError`."""
    await flow.submit_well(base_url=url, **({"api_key": key} if key else {}))
    await flow.submit_well(model=model)
