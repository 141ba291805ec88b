"""Whether a template reads an attribute that lists other entities: who is in a zone, the members of a group, hidden ones among them."""

from collections.abc import Iterator

from jinja2 import nodes

_LISTING = frozenset(
    {
        "devices",
        "entities",
        "entity_id",
        "entity_ids",
        "group_members",
        "lights",
        "members",
        "persons",
        "source_entities",
    }
)
"""Attributes of Home Assistant's integrations that hold ids of other entities."""
_READERS = frozenset({"is_state_attr", "state_attr", "state_attr_translated"})
_WRITERS = frozenset({"items", "list", "pprint", "string", "to_json", "tojson", "urlencode", "values"})
"""Filters and methods that write a whole state, or all of its attributes."""
_STATES = frozenset({"from_state", "to_state"})

type _Chained = nodes.Getattr | nodes.Getitem


def lists_others(tree: nodes.Template) -> bool:
    """Return whether a template reads such an attribute, one that it works out, or all of them at once."""
    if any(map(_reads_listing, tree.find_all(nodes.Call))) or any(map(_maps_listing, tree.find_all(nodes.Filter))):
        return True
    chained: list[_Chained] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
    if any(_name(node.node) == "attributes" and _name(node) in (*_LISTING, None) for node in chained):
        return True
    below = {id(node.node): node for node in chained}
    return any(_is_whole(node, below) for node in chained) or any(_is_state(one) for one in _written(tree))


def _name(node: nodes.Node) -> str | None:
    """Return the last name of `a.b` or `a['b']`; None where it is worked out, "" for anything else."""
    match node:
        case nodes.Getattr():
            return node.attr
        case nodes.Getitem(arg=nodes.Const(value=str() as key)):
            return key
        case nodes.Getitem():
            return None
    return ""


def _reads_listing(call: nodes.Call) -> bool:
    if not (isinstance(call.node, nodes.Name) and call.node.name in _READERS):
        return False
    named = call.args[1] if len(call.args) > 1 else next((one.value for one in call.kwargs if one.key == "name"), None)
    if not isinstance(named, nodes.Const):
        return True
    return str(named.value).split(".", maxsplit=1)[0] in _LISTING


def _maps_listing(node: nodes.Filter) -> bool:
    """Return whether a filter reads such an attribute: `| state_attr('persons')`, `map(attribute='attributes.persons')`."""
    given = [*node.args, *(one.value for one in node.kwargs)]
    texts = [str(one.value) for one in given if isinstance(one, nodes.Const)]
    if node.name in _READERS or any(text in _READERS for text in texts):
        named = texts if node.name in _READERS else texts[1:]
        return not named or any(text in _LISTING for text in named)
    paths = [text.split(".") for text in texts]
    return any("attributes" in path and (path[-1] == "attributes" or not _LISTING.isdisjoint(path)) for path in paths)


def _is_whole(node: _Chained, below: dict[int, _Chained]) -> bool:
    """Return whether all attributes are taken together."""
    return _name(node) == "attributes" and (
        (further := below.get(id(node))) is None or (_name(further) in _WRITERS or _name(further) is None)
    )


def _is_state(node: nodes.Node) -> bool:
    """Return whether an expression is a whole state: `trigger.to_state`, `states.light.one`, `states['light.one']`."""
    match node:
        case nodes.Getattr(attr=attr) if attr in _STATES:
            return True
        case nodes.Getitem(arg=nodes.Const(value=str() as key)) if key in _STATES:
            return True
        case nodes.Getattr(node=nodes.Getattr(node=nodes.Name(name="states"))):
            return True
        case nodes.Getitem(node=nodes.Name(name="states")):
            return True
    return False


def _written(tree: nodes.Template) -> Iterator[nodes.Node]:
    """Yield what is written as text."""
    for output in tree.find_all(nodes.Output):
        yield from output.nodes
    for join in tree.find_all(nodes.Concat):
        yield from join.nodes
    for node in tree.find_all(nodes.Filter):
        if node.name in _WRITERS and node.node is not None:
            yield node.node
