"""What a template always comes to, although it reads a state: a state is always a text, and a condition is true at `True` only."""

from collections.abc import Mapping

from jinja2 import nodes

_OF_TEXT: Mapping[str, bool] = {
    "boolean": False, "defined": True, "false": False, "float": False, "integer": False, "mapping": False, "none": False, "number": False,
    "string": True, "true": False, "undefined": False,
}  # fmt: skip
"""What these tests always come to of a state."""
_NUMBERS = frozenset({"abs", "count", "float", "int", "length", "round"})


def is_state_text(node: nodes.Node | None) -> bool:
    """Return whether an expression is the state of an entity: `states('light.one')`, `states.light.one.state`."""
    match node:
        case nodes.Call(node=nodes.Name(name="states"), args=[_, *_]):
            return True
        case nodes.Getattr(attr="state", node=nodes.Getattr(node=nodes.Getattr(node=nodes.Name(name="states")))):
            return True
        case nodes.Getattr(attr="state", node=nodes.Getitem(node=nodes.Name(name="states"))):
            return True
    return False


def always(node: nodes.Test) -> str | None:
    """Return the sentence for a test of a state that always comes to the same; None for any other."""
    if node.name not in _OF_TEXT or not is_state_text(node.node):
        return None
    word = "true" if _OF_TEXT[node.name] else "false"
    return f"A state is always text: 'is {node.name}' of it is always {word}. Compare it: states('sensor.one') | float(0) < 5."


def never_a_test(tree: nodes.Template) -> str | None:
    """Return why a condition of this template is never true; None if it may be: only the result True is."""
    parts = [part for item in tree.body for part in (item.nodes if isinstance(item, nodes.Output) else [item])]
    parts = [part for part in parts if not (isinstance(part, nodes.TemplateData) and not part.data.strip())]
    if len(parts) != 1:
        return None
    match parts[0]:
        case node if is_state_text(node):
            return "A state alone is no condition: only True is true. Compare it: {{ is_state('light.one', 'on') }}."
        case nodes.Filter(name=name) if name in _NUMBERS:
            return "A number alone is no condition: only True is true. Compare it: {{ states('sensor.one') | float(0) > 5 }}."
        case nodes.Or() as node if _has_text(node):
            return "A text behind 'or' is no condition. Write: {{ states('sensor.one') in ['a', 'b'] }}."
    return None


def _has_text(node: nodes.Or) -> bool:
    sides = (node.left, node.right)
    return any(
        (isinstance(one, nodes.Const) and isinstance(one.value, str)) or (isinstance(one, nodes.Or) and _has_text(one))
        for one in sides
    )


def is_decided(tree: nodes.Template) -> bool:
    """Return whether a part of it decides alone what it comes to: `True or …`, `… and false`."""
    parts = [part for item in tree.body for part in (item.nodes if isinstance(item, nodes.Output) else [item])]
    parts = [part for part in parts if not (isinstance(part, nodes.TemplateData) and not part.data.strip())]
    return len(parts) == 1 and _decided(parts[0]) is not None


def _decided(node: nodes.Node) -> bool | None:
    match node:
        case nodes.Const(value=bool() | int() | float() | None as value):
            return bool(value)
        case nodes.Not():
            found = _decided(node.node)
            return None if found is None else not found
        case nodes.Or() | nodes.And():
            wins = isinstance(node, nodes.Or)
            sides = (_decided(node.left), _decided(node.right))
            return wins if wins in sides else None if None in sides else not wins
    return None
