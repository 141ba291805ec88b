"""What a template can read, from its syntax tree: entities by their ids, and nothing that is worked out or listed while it runs.

A template that lists things (`states.light`, `area_entities`, `expand`) would show all that comes to the home later, hidden or not. So
it is refused, with what to write instead.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from homeassistant.core import HomeAssistant, valid_entity_id
from homeassistant.helpers.template import Template, TemplateEnvironment
from jinja2 import TemplateSyntaxError, meta, nodes

from ..support.quoting import one_line
from .listed_entities import lists_others
from .problems import near_words, nearest
from .template_costs import MAX_TEMPLATE
from .template_tests import always, is_decided, never_a_test

MAX_TEXTS = 64  # that one expression may come to
_MAX_FOLLOWED = 8  # variables that stand for one another

_ATTRIBUTES_SENTENCE = (
    "It reads all attributes of something, or one that lists other entities. Name each entity, and each attribute as text: "
    "{{ is_state('person.one', 'home') }}."
)
STATE_READERS = frozenset(
    {"has_value", "is_state", "is_state_attr", "state_attr", "state_attr_translated", "state_translated", "states"}
)
ENTITY_READERS = STATE_READERS | {"config_entry_id", "device_id", "entity_name", "is_hidden_entity"}
"""Functions whose first argument is an entity id."""
PLACE_READERS = {
    "area_id": "area", "area_name": "area", "device_attr": "device", "device_name": "device", "floor_id": "floor", "floor_name": "floor",
    "is_device_attr": "device", "label_description": "label", "label_id": "label", "label_name": "label",
}  # fmt: skip
"""Functions whose first argument is a place, or what is in it."""
LISTING = frozenset(
    {
        "area_devices", "area_entities", "areas", "closest", "config_entry_attr", "device_entities", "expand", "floor_areas", "floor_entities",
        "floors", "integration_entities", "issue", "issues", "label_areas", "label_devices", "label_entities", "labels",
    }
)  # fmt: skip
"""Functions that list what is in the home, or tell of what is no entity."""
READERS = ENTITY_READERS | PLACE_READERS.keys() | LISTING | {"distance"}
_CHANGING = frozenset({"now", "random", "relative_time", "shuffle", "time_since", "time_until", "today_at", "utcnow"})
"""Functions that come to another result each time."""
GIVEN = frozenset({"context", "repeat", "this", "trigger", "wait"})
"""Variables that Home Assistant gives an automation."""
_BY_NAME = frozenset({"map", "reject", "rejectattr", "select", "selectattr", "apply"})
"""Filters that apply a filter or test that is named in their arguments."""
_KEEPING = frozenset(
    {
        "first", "last", "list", "lower", "random", "reject", "rejectattr", "reverse", "select", "selectattr", "shuffle", "sort", "string",
        "trim", "unique",
    }
)  # fmt: skip
"""Filters that add nothing to what they are given."""
_LIST_SENTENCE = (
    "It lists entities while it runs. Name each entity instead: "
    "{{ is_state('light.one', 'on') or is_state('light.two', 'on') }}."
)
_PERSONS_SENTENCE = (
    "It lists people while it runs. zone.home has how many are home: {{ states('zone.home') | int(0) == 0 }}."
)
_COMPUTED_SENTENCE = "Which entity it reads is worked out while it runs. Write the entity id as text, or trigger.entity_id: states('sensor.one')."
_NONE = nodes.Const(None)


@dataclass(slots=True, kw_only=True)
class TemplateReads:
    """What one template reads, and what is wrong with it."""

    entities: dict[str, None] = field(default_factory=dict)
    places: list[tuple[str, str]] = field(default_factory=list)
    """Kind and id of devices, areas, floors and labels."""
    states: list[tuple[str, str]] = field(default_factory=list)
    """Entity ids and the states that they are compared with."""
    names: set[str] = field(default_factory=set)
    """Variables that it does not set itself."""
    faults: list[str] = field(default_factory=list)
    never_a_test: str | None = None
    """Why a condition of it is never true."""
    is_constant: bool = False
    """It comes to the same whenever it runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateScope:
    """What a template finds where it stands."""

    environment: TemplateEnvironment
    variables: Mapping[str, Sequence[object]] = field(default_factory=dict)
    """Variables of the automation, with the values that are written for each."""
    has_known_trigger: bool = True
    """`trigger.entity_id` is an entity that a trigger names."""
    items: Sequence[object] | None = None
    """What `repeat.item` may be; None if that is not known."""


def environment_of(hass: HomeAssistant | None) -> TemplateEnvironment:
    """Return Home Assistant's own environment, which knows the filters, tests and functions of this release."""
    return TemplateEnvironment(hass)


def reads_of(text: str, scope: TemplateScope) -> TemplateReads:
    """Return what a template reads and what is wrong with it."""
    found = TemplateReads()
    if len(text) > MAX_TEMPLATE:
        found.faults.append(f"The template is too long: at most {MAX_TEMPLATE} characters.")
        return found
    try:
        tree = scope.environment.parse(text)
    except TemplateSyntaxError as err:
        found.faults.append(f"The template has an error in its syntax: {one_line(str(err.message), 200)}.")
        return found
    except RecursionError:
        found.faults.append("The template is nested too deeply.")
        return found
    _Walk(scope, tree, found).run()
    return found


def texts_of(text: str, scope: TemplateScope, depth: int = _MAX_FOLLOWED) -> tuple[str, ...] | None:
    """Return all texts that a template may come to; None if that is not known before it runs. Raises nothing."""
    try:
        tree = scope.environment.parse(text)
    except TemplateSyntaxError, RecursionError:
        return None
    parts: list[Sequence[str]] = []
    for node in tree.body:
        if not isinstance(node, nodes.Output):
            return None
        for item in node.nodes:
            if isinstance(item, nodes.TemplateData):
                parts.append((item.data,))
            elif (found := _Values(scope, depth).of(item)) is not None:
                parts.append(found)
            else:
                return None
    count = 1
    for part in parts:
        count *= max(1, len(part))
    if count > MAX_TEXTS:
        return None
    return tuple(dict.fromkeys("".join(chosen).strip() for chosen in product(*parts)))


class _Values:
    """Which texts an expression may come to."""

    def __init__(
        self, scope: TemplateScope, depth: int, local: Mapping[str, Sequence[nodes.Expr]] | None = None
    ) -> None:
        self._scope = scope
        self._depth = depth
        self._local = local or {}

    def of(self, node: nodes.Node) -> tuple[str, ...] | None:
        """Return the texts; none for the entity of a trigger, which is known; None if they are not known."""
        match node:
            case nodes.Const(value=str() as text):
                return (text,)
            case nodes.List() | nodes.Tuple():
                return self.all_of(node.items)
            case nodes.CondExpr():
                return self.all_of([node.expr1, node.expr2 or _NONE])
            case nodes.Const(value=None):
                return ()
            case nodes.Const(value=list() | tuple() as several) if all(isinstance(one, str) for one in several):
                return tuple(several)
            case nodes.Getitem(node=nodes.Const(value=dict() as table)):
                return self.of(nodes.Const([*table.values()]))
            case nodes.Getitem(node=nodes.Dict() as table):
                return self.all_of([pair.value for pair in table.items])
            case nodes.Filter() if node.node:
                return self._of_filter(node, node.node)
            case nodes.Call(node=nodes.Name(name="iif")):
                return self.all_of(node.args[1:])
            case nodes.Name():
                return self._of_name(node.name)
            case nodes.Getattr() | nodes.Getitem():
                return self._of_path(_path_of(node))
        return None

    def all_of(self, items: Iterable[nodes.Node]) -> tuple[str, ...] | None:
        """Return the texts of several expressions together."""
        found: dict[str, None] = {}
        for item in items:
            if (texts := self.of(item)) is None:
                return None
            found |= dict.fromkeys(texts)
        return tuple(found)

    def _of_filter(self, node: nodes.Filter, given: nodes.Expr) -> tuple[str, ...] | None:
        if node.name in _KEEPING:
            return self.of(given)
        if node.name == "iif" and node.args:
            return self.all_of(node.args)
        return self.all_of([given, *node.args]) if node.name in ("default", "d") and node.args else None

    def _of_name(self, name: str) -> tuple[str, ...] | None:
        if self._depth <= 0:
            return None
        values = self._scope.variables.get(name)
        given = None if values is None else self.of_written(values)
        if name not in self._local:
            return given
        own = _Values(self._scope, self._depth - 1, self._local).all_of(self._local[name])
        if own is None or (values is not None and given is None):
            return None
        return (*own, *(given or ()))

    def of_written(self, values: Iterable[object]) -> tuple[str, ...] | None:
        """Return the texts that written values may come to."""
        found: dict[str, None] = {}
        for value in values:
            texts: Sequence[str] | None = None
            match value:
                case Template():
                    texts = texts_of(value.template, self._scope, self._depth - 1)
                case str():
                    texts = (value,)
                case list() | tuple() if self._depth > 0:
                    texts = _Values(self._scope, self._depth - 1).of_written(value)
            if texts is None:
                return None
            found |= dict.fromkeys(texts)
        return tuple(found)

    def _of_path(self, path: tuple[str, ...]) -> tuple[str, ...] | None:
        match path:
            case ("trigger", "entity_id") | ("trigger", "to_state" | "from_state", "entity_id"):
                return () if self._scope.has_known_trigger else None
            case ("wait", "trigger", *_):
                return () if path[-1] == "entity_id" and self._scope.has_known_trigger else None
            case ("this", "entity_id"):
                return ()
            case ("repeat", "item", *fields) if self._scope.items is not None and self._depth > 0:
                return _Values(self._scope, self._depth - 1).of_written(fields_of(self._scope.items, fields))
            case (name, _) if name in self._scope.variables:
                return self._of_fields(name, path[1])
        return None

    def _of_fields(self, name: str, key: str) -> tuple[str, ...] | None:
        tables = self._scope.variables[name]
        if self._depth > 0 and all(isinstance(one, Mapping) and key in one for one in tables):
            return _Values(self._scope, self._depth - 1).of_written(
                one[key] for one in tables if isinstance(one, Mapping)
            )
        return None


def fields_of(items: Sequence[object], names: Sequence[str]) -> Sequence[object]:
    """Return what stands under some names in each item; None for one that has it not."""
    for name in names:
        items = [one.get(name) if isinstance(one, Mapping) else None for one in items]
    return items


def _path_of(node: nodes.Node) -> tuple[str, ...]:
    """Return the names of `a.b['c']`; empty for anything else."""
    names: list[str] = []
    while True:
        match node:
            case nodes.Getattr():
                names.append(node.attr)
                node = node.node
            case nodes.Getitem(arg=nodes.Const(value=str() as key)):
                names.append(key)
                node = node.node
            case nodes.Name():
                return (node.name, *reversed(names))
            case _:
                return ()


class _Walk:
    """One template, walked once."""

    def __init__(self, scope: TemplateScope, tree: nodes.Template, found: TemplateReads) -> None:
        self._scope = scope
        self._tree = tree
        self._found = found
        self._local = _assigned(tree)
        self._values = _Values(scope, _MAX_FOLLOWED, self._local)
        chained: list[nodes.Getattr | nodes.Getitem] = [*tree.find_all(nodes.Getattr), *tree.find_all(nodes.Getitem)]
        self._parents = {id(node.node): node for node in chained}
        self._called: set[int] = set()
        """Names of functions that stand where they are called."""
        self._changes = False

    def run(self) -> None:
        """Fill in what was found."""
        self._find_unknown()
        for node in _nodes(self._tree):
            self._look_at(node)
        found = self._found
        if lists_others(self._tree):
            found.faults.append(_ATTRIBUTES_SENTENCE)
        found.never_a_test = never_a_test(self._tree)
        found.faults = list(dict.fromkeys(found.faults))
        is_still = not (self._changes or found.entities or found.names or found.places)
        found.is_constant = not found.faults and (is_still or is_decided(self._tree))

    def _find_unknown(self) -> None:
        environment, found = self._scope.environment, self._found
        for kind, known, node_type in (
            ("filter", environment.filters, nodes.Filter),
            ("test", environment.tests, nodes.Test),
        ):
            for node in self._tree.find_all(node_type):
                if node.name is not None and node.name not in known:
                    found.faults.append(f"There is no {kind} '{node.name}'.{_near(node.name, known)}")
        for name in sorted(READERS & self._local.keys()):
            found.faults.append(f"'{name}' is a function: give the variable another name.")
        try:
            names = meta.find_undeclared_variables(self._tree)
        except TemplateSyntaxError as err:  # an unknown filter or test
            found.faults.append(f"The template does not work: {one_line(str(err.message), 200)}.")
            return
        found.names = {name for name in names if name not in environment.globals}
        safe = self._checked_for_being_there()
        for name in sorted(found.names - self._scope.variables.keys() - GIVEN - safe):
            is_called = any(
                isinstance(node.node, nodes.Name) and node.node.name == name for node in self._tree.find_all(nodes.Call)
            )
            word = "function" if is_called else "variable"
            known_names = (*self._scope.variables, *GIVEN, *environment.globals)
            found.faults.append(f"There is no {word} '{name}'.{_near(name, known_names)}")

    def _checked_for_being_there(self) -> set[str]:
        """Return the names that the template itself expects not to be there."""
        tested = [node.node for node in self._tree.find_all(nodes.Test) if node.name in ("defined", "undefined")]
        tested += [
            node.node for node in self._tree.find_all(nodes.Filter) if node.name in ("default", "d") and node.node
        ]
        return {node.name for node in tested if isinstance(node, nodes.Name)}

    def _look_at(self, node: nodes.Node) -> None:
        match node:
            case nodes.Import() | nodes.FromImport() | nodes.Include() | nodes.Extends():
                self._found.faults.append(
                    "It imports another template, whose text may change. Write out what it needs."
                )
            case nodes.Call(node=nodes.Name() as function):
                self._called.add(id(function))
                self._look_at_use(function.name, node.args)
            case nodes.Filter() if node.name in _BY_NAME:
                self._look_at_named(node)
            case nodes.Filter() | nodes.Test() if node.name and node.node is not None:
                self._look_at_use(node.name, [node.node, *(node.args or ())])
            case nodes.Getattr() | nodes.Getitem():
                self._look_at_path(node)
            case nodes.Name(ctx="load") if node.name in READERS and id(node) not in self._called:
                self._found.faults.append(_LIST_SENTENCE if node.name in LISTING | {"states"} else _COMPUTED_SENTENCE)
            case nodes.Compare():
                self._look_at_comparison(node)
                return
        if isinstance(node, nodes.Test) and (sentence := always(node)) is not None:
            self._found.faults.append(sentence)

    def _look_at_named(self, node: nodes.Filter) -> None:
        """Look at `['light.a'] | select('is_state', 'on')`."""
        texts = [one.value for one in node.args if isinstance(one, nodes.Const) and isinstance(one.value, str)]
        named = next((text for text in texts if text in READERS), None)
        if named is None and node.args and not isinstance(node.args[0], nodes.Const) and node.name != "apply":
            self._found.faults.append(f"Which filter '{node.name}' applies is not written as text.")
        if named is not None and node.node is not None:
            self._look_at_use(named, [node.node])

    def _look_at_use(self, name: str, args: Sequence[nodes.Node]) -> None:
        if name in _CHANGING:
            self._changes = True
        if name in LISTING:
            self._found.faults.append(f"'{name}' is not possible here. {_LIST_SENTENCE}")
        elif name == "distance":
            for place in args:
                if not (isinstance(place, nodes.Const) and isinstance(place.value, (int, float))):
                    self._read_entities([place])
        elif name in ENTITY_READERS:
            self._read_entities(args)
            if name == "is_state" and len(args) > 1:
                self._compare(args[0], args[1])
        elif name in PLACE_READERS:
            self._read_place(PLACE_READERS[name], args)

    def _read_entities(self, args: Sequence[nodes.Node]) -> None:
        self._changes = True
        if not args:
            self._found.faults.append(_LIST_SENTENCE)
        elif (texts := self._values.of(args[0])) is None:
            self._found.faults.append(_COMPUTED_SENTENCE)
        else:
            self._found.entities |= dict.fromkeys(text.strip().lower() for text in texts)

    def _read_place(self, kind: str, args: Sequence[nodes.Node]) -> None:
        self._changes = True
        texts = self._values.of(args[0]) if args else None
        if texts is None:
            if not (
                args and isinstance(args[0], nodes.Call)
            ):  # area_name(area_id('light.one')): that is looked at by itself
                self._found.faults.append(
                    "Of which device or place it tells is worked out while it runs. Write its id as text."
                )
        for text in texts or ():
            if valid_entity_id(text.lower()):
                self._found.entities[text.lower()] = None
            else:
                self._found.places.append((kind, text))

    def _look_at_path(self, node: nodes.Getattr | nodes.Getitem) -> None:
        """Look at `states.light.kitchen.state` and `states['light.kitchen']`."""
        root = node.node
        if not (isinstance(root, nodes.Name) and root.name == "states"):
            return
        self._called.add(id(root))
        self._changes = True
        key = node.attr if isinstance(node, nodes.Getattr) else None
        if key is None:
            texts = self._values.of(node.arg) if isinstance(node, nodes.Getitem) else None
            if texts is not None and texts and all("." in text for text in texts):
                self._found.entities |= dict.fromkeys(text.lower() for text in texts)
                return
            key = texts[0] if texts and len(texts) == 1 else None
        parent = self._parents.get(id(node))
        object_id = (_path_of(parent)[-1:] or ("",))[0] if parent is not None else ""
        if key is None or not valid_entity_id(f"{key}.{object_id}".lower()):
            sentence = (
                _PERSONS_SENTENCE if key == "person" else _LIST_SENTENCE if key is not None else _COMPUTED_SENTENCE
            )
            self._found.faults.append(sentence)
            return
        self._found.entities[f"{key}.{object_id}".lower()] = None

    def _look_at_comparison(self, node: nodes.Compare) -> None:
        for operand in node.ops:
            for one, other in ((node.expr, operand.expr), (operand.expr, node.expr)):
                if (entity := self._state_of(one)) is None or not isinstance(other, nodes.Const):
                    continue
                if isinstance(other.value, (int, float)) and not isinstance(other.value, bool):
                    self._found.faults.append(
                        f"The state of {entity} is text and is compared with the number {other.value}: that never works. "
                        f"Write states('{entity}') | float(0)."
                    )
                elif isinstance(other.value, str) and operand.op in ("eq", "ne"):
                    self._found.states.append((entity, other.value))

    def _state_of(self, node: nodes.Node) -> str | None:
        """Return the entity whose state as text an expression is."""
        match node:
            case nodes.Call(node=nodes.Name(name="states"), args=[nodes.Const(value=str() as entity), *_]):
                return entity if valid_entity_id(entity) else None
        path = _path_of(node)
        return f"{path[1]}.{path[2]}" if len(path) == 4 and path[0] == "states" and path[3] == "state" else None

    def _compare(self, entity: nodes.Node, state: nodes.Node) -> None:
        for entity_id in self._values.of(entity) or ():
            for text in self._values.of(state) or ():
                self._found.states.append((entity_id, text))


def _nodes(tree: nodes.Node) -> Iterator[nodes.Node]:
    """Yield all nodes, what stands outside before what stands in it."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed([*node.iter_child_nodes()])


def _assigned(tree: nodes.Template) -> dict[str, list[Any]]:
    """Return the names that a template sets itself, with the expressions that each may be."""
    found: dict[str, list[Any]] = {}
    for node in tree.find_all((nodes.Assign, nodes.For, nodes.Macro, nodes.AssignBlock, nodes.With)):
        match node:
            case nodes.Assign(target=nodes.Name() as target):
                found.setdefault(target.name, []).append(node.node)
            case nodes.For(target=nodes.Name() as target):
                found.setdefault(target.name, []).append(node.iter)
            case nodes.Assign() | nodes.For():
                for name in node.target.find_all(nodes.Name):
                    found.setdefault(name.name, []).append(nodes.Name("", "load"))
            case nodes.Macro():
                for argument in node.args:
                    found.setdefault(argument.name, []).append(nodes.Name("", "load"))
            case nodes.AssignBlock(target=nodes.Name() as target):
                found.setdefault(target.name, []).append(nodes.Name("", "load"))
            case nodes.With():
                for named, value in zip(node.targets, node.values, strict=False):
                    if isinstance(named, nodes.Name):
                        found.setdefault(named.name, []).append(value)
    return found


def _near(name: str, known: Iterable[str]) -> str:
    return near_words(nearest(name, known))
