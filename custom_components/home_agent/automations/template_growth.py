"""How much a template makes of what it is given, told from its syntax: how long each value may become, and how many steps it takes.

Jinja works out what is constant in a template as soon as it is compiled, so a chain of filters that each double a text would stop
Home Assistant before anybody has agreed to anything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jinja2 import nodes

from .template_filters import PATTERN, formatted, made
from .template_values import (
    ANY,
    FLAG,
    MOST_CHARACTERS,
    NUMBER,
    STATE_CHARACTERS,
    TOO_LONG,
    UNKNOWN_CHARACTERS,
    GrowsTooMuch,
    TemplateValue,
    of_constant,
    of_items,
    of_range,
    part_of,
    product_of,
    sum_of,
    together,
)

MOST_WORK = 1_000_000
"""Steps of one configuration; about a second."""
MOST_PARTS = 12_000
"""Of all templates of one configuration; they are compiled where nothing else happens meanwhile."""
MAX_LEVELS = 60
"""Of an expression."""
MAX_NODES = 4_000
_PARTS_OF_EACH = 30.0
_CHARACTERS_A_STEP = 50
_MOST_VISITED = 50_000
_ROUNDS = 3  # of a loop that are looked at

TOO_MANY = "too many steps"
TOO_DEEP = f"an expression with more than {MAX_LEVELS} levels or {MAX_NODES} parts"
CALLS = "a macro that calls itself, or what it is given"

_BY_NAME = {"map": 0, "select": 0, "reject": 0, "selectattr": 1, "rejectattr": 1}
"""Filters that apply another one, and the place of its name."""
_OF_STATES = frozenset({"states", "state_translated"})
_OF_SEPARATORS = frozenset({"join"})
"""Methods of a text that stands between others."""


def work_of(tree: nodes.Template) -> float:
    """Return how many steps a template takes at most. Raises `GrowsTooMuch`."""
    parts_of(tree)
    walk = _Growth(tree)
    try:
        walk.body(tree.body)
    except RecursionError as err:
        raise GrowsTooMuch(TOO_DEEP) from err
    return walk.work


def has_loops(tree: nodes.Template) -> bool:
    """Return whether a template goes through something step by step, or has macros."""
    return next(tree.find_all((nodes.For, nodes.Macro, nodes.CallBlock)), None) is not None


def parts_of(tree: nodes.Template) -> float:
    """Return for how long a template is compiled, in hundredths of a millisecond. Raises `GrowsTooMuch`.

    At each part of an expression, Jinja tries whether what is in it is constant.
    """
    order: list[tuple[nodes.Node, int]] = [(tree, -1)]
    levels = [0]
    for place, (node, _) in enumerate(order):
        for child in node.iter_child_nodes():
            order.append((child, place))
            levels.append(levels[place] + 1)
        if levels[-1] > MAX_LEVELS or len(order) > MAX_NODES:
            raise GrowsTooMuch(TOO_DEEP)
    heights = [1.0] * len(order)
    for place in range(len(order) - 1, 0, -1):
        node, above = order[place]
        if isinstance(node, nodes.Expr):
            heights[above] = max(heights[above], heights[place] + 1)
    return _PARTS_OF_EACH + sum(heights)


class _Growth:
    """One walk through a template, in the order in which it runs."""

    def __init__(self, tree: nodes.Template) -> None:
        self.work = 0.0
        self._visited = 0
        self._times = 1.0
        self._is_counting = True
        self._is_sure = True
        self._known: dict[str, TemplateValue] = {}
        self._macros: dict[str, nodes.Macro] = {node.name: node for node in tree.find_all(nodes.Macro)}
        self._running: list[str] = []
        self._caller: list[float] = []
        called = {id(node.node) for node in tree.find_all(nodes.Call)}
        self._passes_macros = any(
            node.name in self._macros and node.ctx == "load" and id(node) not in called
            for node in tree.find_all(nodes.Name)
        )

    def _step(self, size: float = 0.0) -> None:
        self._visited += 1
        if size > MOST_CHARACTERS:
            raise GrowsTooMuch(TOO_LONG)
        if self._is_counting:
            self.work += self._times * (1.0 + size / _CHARACTERS_A_STEP)
        if self._visited > _MOST_VISITED or self.work > MOST_WORK:
            raise GrowsTooMuch(TOO_MANY)

    # Statements: how many characters they write.

    def body(self, several: Iterable[nodes.Node]) -> float:
        """Return how many characters statements write."""
        return sum(map(self._statement, several), 0.0)

    def _statement(self, node: nodes.Node) -> float:
        self._step()
        match node:
            case nodes.Output():
                return sum((self._written(item) for item in node.nodes), 0.0)
            case nodes.Assign():
                self._assign(node.target, self.of(node.node))
                return 0.0
            case nodes.AssignBlock():
                written = TemplateValue(self.body(node.body), "text", is_live=True)
                self._assign(node.target, self._filtered(node.filter, written) if node.filter else written)
                return 0.0
            case nodes.If():
                return self._branches(node)
            case nodes.For():
                return self._loop(node)
            case nodes.FilterBlock():
                found = self._filtered(node.filter, TemplateValue(self.body(node.body), "text", is_live=True)).size
                self._step(found)
                return found
            case nodes.Block():
                raise GrowsTooMuch(CALLS)
        return self._other_statement(node)

    def _other_statement(self, node: nodes.Node) -> float:
        match node:
            case nodes.CallBlock():
                self._caller.append(self.body(node.body))
                found = self.of(node.call).size
                self._caller.pop()
                return found
            case nodes.Macro():
                self._known.pop(node.name, None)  # what is in it counts where it is called
            case nodes.With():
                for target, value in zip(node.targets, node.values, strict=True):
                    self._assign(target, self.of(value))
                return self.body(node.body)
            case nodes.ExprStmt():
                self.of(node.node)
            case nodes.Scope() | nodes.ScopedEvalContextModifier():
                return self.body(node.body)
            case _:
                for child in node.iter_child_nodes():
                    if isinstance(child, nodes.Expr):
                        self.of(child)
        return 0.0

    def _written(self, node: nodes.Node) -> float:
        if isinstance(node, nodes.TemplateData):
            self._step(len(node.data))
            return float(len(node.data))
        return self.of(node).size

    def _branches(self, node: nodes.If) -> float:
        was, self._is_sure = self._is_sure, False
        self.of(node.test)
        found = [self.body(node.body)]
        found += [self._branches(other) for other in node.elif_]
        found.append(self.body(node.else_))
        self._is_sure = was
        return max(found)

    def _loop(self, node: nodes.For) -> float:
        """Return how much a loop writes: a few rounds are looked at, and what grows there grows further."""
        given = self.of(node.iter)
        count = given.items
        was_times, was_counting, was_sure = self._times, self._is_counting, self._is_sure
        names = {key: value for key, value in self._known.items() if "." not in key}
        self._is_sure = False
        sizes: list[dict[str, float]] = []
        written = 0.0
        for number in range(_ROUNDS + 1):
            is_last = number == _ROUNDS
            if is_last:
                self._extrapolate(sizes, count)
            self._is_counting = was_counting and is_last
            self._times = was_times * max(1.0, count)
            self._step()
            fields = {key: value for key, value in self._known.items() if "." in key}
            self._known = {**names, **fields}
            number_of = given.number if given.kind == "list" else None
            kind = "number" if number_of is not None else ""
            self._assign(node.target, TemplateValue(given.item, kind, number_of, is_live=given.is_live))
            if node.test is not None:
                self.of(node.test)
            written = self.body(node.body)
            sizes.append({key: value.size for key, value in self._known.items() if "." in key})
        fields = {key: value for key, value in self._known.items() if "." in key}
        self._known = {**names, **fields}
        self._times, self._is_counting, self._is_sure = was_times, was_counting, was_sure
        written = max(written * count, self.body(node.else_))
        self._step(written)
        return written

    def _extrapolate(self, sizes: Sequence[Mapping[str, float]], count: float) -> None:
        for key, last in sizes[-1].items():
            first, second = (sizes[place].get(key, last) for place in (-3, -2))
            growth, before = last - second, second - first
            value = self._known[key]
            if growth <= 0:
                continue
            size = last + growth * count
            if growth > before * 1.01 + 1 and count > _ROUNDS:
                size = MOST_CHARACTERS + 1.0 if count > 20 else last * (last / max(second, 1.0)) ** count
            if size > MOST_CHARACTERS:
                raise GrowsTooMuch(TOO_LONG)
            items = value.items + count * max(1.0, growth)
            self._known[key] = replace(value, size=size, items=min(items, size), number=None, texts=None)

    def _assign(self, target: nodes.Node, value: TemplateValue) -> None:
        match target:
            case nodes.Name():
                key = target.name
            case nodes.NSRef():
                key = f".{target.attr}"  # of whichever namespace: it may have several names
            case nodes.Tuple():
                for item in target.items:
                    self._assign(item, replace(ANY, size=max(value.size, value.item)))
                return
            case _:
                return
        earlier = self._known.get(key)
        is_other = self._is_sure and "." not in key
        self._known[key] = value if is_other or earlier is None else earlier.joined(value)

    def _field(self, inner: TemplateValue, name: str | None) -> TemplateValue:
        """Return what a namespace has under a name, or any of it; of what is none, a part."""
        fields = {key: value for key, value in self._known.items() if "." in key}
        if inner.kind or not fields:
            return part_of(inner)
        if name is not None:
            return fields.get(f".{name}", part_of(inner))
        found = part_of(inner)
        for value in fields.values():
            found = found.joined(value)
        return found

    # Expressions: what may come out of them.

    def of(self, node: nodes.Node | None) -> TemplateValue:
        """Return what is known of the value of an expression. Raises `GrowsTooMuch`."""
        if node is None:
            return FLAG
        found = self._of(node)
        self._step(found.size)
        return found

    def _of(self, node: nodes.Node) -> TemplateValue:
        match node:
            case nodes.Const():
                return of_constant(node.value)
            case nodes.TemplateData():
                return of_constant(node.data)
            case nodes.List() | nodes.Tuple():
                return of_items([self.of(item) for item in node.items])
            case nodes.Dict():
                return of_items([self.of(part) for pair in node.items for part in (pair.key, pair.value)])
            case nodes.Name():
                return self._known.get(node.name, ANY)
            case nodes.Getattr():
                return self._field(self.of(node.node), node.attr)
            case nodes.Getitem():
                inner, arg = self.of(node.node), self.of(node.arg)
                if isinstance(node.arg, nodes.Slice) or inner.kind == "text":
                    return replace(inner, texts=None)
                return self._field(inner, next(iter(arg.texts)) if arg.texts and len(arg.texts) == 1 else None)
            case nodes.CondExpr():
                self.of(node.test)
                return self.of(node.expr1).joined(self.of(node.expr2))
            case nodes.And() | nodes.Or():
                return self.of(node.left).joined(self.of(node.right))
        return self._of_operator(node)

    def _of_operator(self, node: nodes.Node) -> TemplateValue:
        match node:
            case nodes.Concat():
                return together([self.of(item) for item in node.nodes])
            case nodes.Add():
                return sum_of(self.of(node.left), self.of(node.right))
            case nodes.Mul():
                return product_of(self.of(node.left), self.of(node.right))
            case nodes.Mod():
                left, right = self.of(node.left), self.of(node.right)
                return formatted("%", left, [right]) if left.kind == "text" else replace(NUMBER, is_live=True)
            case nodes.Pow():
                left, right = self.of(node.left), self.of(node.right)
                return replace(NUMBER, size=left.size * max(1.0, min(right.number or 4.0, 64.0)))
            case nodes.Sub() | nodes.Div() | nodes.FloorDiv():
                left, right = self.of(node.left), self.of(node.right)
                kind = "float" if isinstance(node, nodes.Div) or "float" in (left.kind, right.kind) else "number"
                return TemplateValue(
                    max(left.size, right.size) + 1, kind, left.number, is_live=left.is_live or right.is_live
                )
            case nodes.Neg() | nodes.Pos():
                return self.of(node.node)
        return self._of_call(node)

    def _of_call(self, node: nodes.Node) -> TemplateValue:
        match node:
            case nodes.Filter():
                return self._filtered(node, None)
            case nodes.Test():
                self._applied(node.name, self.of(node.node), node.args, node.kwargs)
                return FLAG
            case nodes.Call():
                return self._called(node)
        for child in node.iter_child_nodes():
            self.of(child)
        return FLAG if isinstance(node, (nodes.Compare, nodes.Not)) else ANY

    def _filtered(self, node: nodes.Filter, given: TemplateValue | None) -> TemplateValue:
        """Return what a filter makes of what stands before it; `given` is what a block has written."""
        value = self.of(node.node) if node.node is not None else given or ANY
        return self._applied(node.name, value, node.args, node.kwargs)

    def _applied(
        self, name: str, value: TemplateValue, args: Sequence[nodes.Node], kwargs: Sequence[Any]
    ) -> TemplateValue:
        """Return what a filter, a test or a method makes of a value."""
        given = [self.of(one) for one in args]
        named = {one.key: self.of(one.value) for one in kwargs}
        if (place := _BY_NAME.get(name)) is not None and len(given) > place:
            return self._applied_to_items(name, value, given[place], given[place + 1 :], named)
        return self._made(name, value, given, named)

    def _applied_to_items(
        self,
        name: str,
        value: TemplateValue,
        called: TemplateValue,
        given: Sequence[TemplateValue],
        named: Mapping[str, TemplateValue],
    ) -> TemplateValue:
        if called.texts is None:
            raise GrowsTooMuch(PATTERN)
        found = [self._made(one, replace(value, texts=None), given, named) for one in sorted(called.texts)]
        if name != "map" or not found:
            return value
        size = max([value.size, *(one.size for one in found)])
        return replace(value, size=size, item=min(size, value.item * max(1.0, size / max(value.size, 1.0))))

    def _made(
        self, name: str, value: TemplateValue, given: Sequence[TemplateValue], named: Mapping[str, TemplateValue]
    ) -> TemplateValue:
        if name in ("apply", "as_function") and self._running:
            raise GrowsTooMuch(CALLS)
        return made(name, value, given, named)

    def _called(self, node: nodes.Call) -> TemplateValue:
        args, kwargs = node.args, node.kwargs
        rest = [self.of(one) for one in (node.dyn_args, node.dyn_kwargs) if one is not None]
        match node.node:
            case nodes.Name(name=name) if name in self._macros:
                return self._of_macro(self._macros[name], args, kwargs)
            case nodes.Name(name="caller"):
                return TemplateValue(self._caller[-1] if self._caller else UNKNOWN_CHARACTERS, "text", is_live=True)
            case nodes.Name(name=name) if self._running and name in self._known:
                raise GrowsTooMuch(CALLS)
            case nodes.Name(name=name):
                return self._of_function(name, args, kwargs)
            case nodes.Getattr(node=inner, attr=name):
                if self._running and self._passes_macros:
                    raise GrowsTooMuch(CALLS)
                if name in _OF_SEPARATORS:  # the text that it is called of stands between the others
                    return self._made("join", self.of(args[0]) if args else ANY, [self.of(inner)], {})
                return self._applied(name, self.of(inner), args, kwargs)
        if self._macros:
            raise GrowsTooMuch(CALLS)
        self.of(node.node)
        every = [*rest, *(self.of(one) for one in args), *(self.of(one.value) for one in kwargs)]
        return replace(ANY, size=UNKNOWN_CHARACTERS + sum(one.size for one in every))

    def _of_function(self, name: str, args: Sequence[nodes.Expr], kwargs: Sequence[nodes.Keyword]) -> TemplateValue:
        if name == "range":
            return of_range([self.of(one) for one in args])
        if name == "namespace":
            if args:
                raise GrowsTooMuch(TOO_LONG)
            for pair in kwargs:
                self._assign(nodes.NSRef("", pair.key), self.of(pair.value))
            return ANY
        if name in _OF_STATES:
            for one in args:
                self.of(one)
            return TemplateValue(STATE_CHARACTERS, "text", is_live=True)
        if name == "lipsum":
            raise GrowsTooMuch(TOO_LONG)
        given, others = [*args], [*kwargs]
        first = self.of(given.pop(0)) if given else ANY
        if not args and not kwargs:
            return ANY
        if name in ("dict", "combine", "zip", "set", "merge_response"):
            return of_items([first, *(self.of(one) for one in given), *(self.of(one.value) for one in others)])
        return self._applied(name, first, given, others)

    def _of_macro(
        self, macro: nodes.Macro, args: Sequence[nodes.Expr], kwargs: Sequence[nodes.Keyword]
    ) -> TemplateValue:
        if macro.name in self._running:
            raise GrowsTooMuch(CALLS)
        names = [one.name for one in macro.args]
        given = dict(zip(names, map(self.of, args), strict=False))
        given |= {one.key: self.of(one.value) for one in kwargs}
        defaults = dict(zip(names[len(names) - len(macro.defaults) :], macro.defaults, strict=True))
        was, was_sure = dict(self._known), self._is_sure
        for name in names:
            value = given.get(name)
            self._known[name] = value if value is not None else self.of(defaults.get(name)).joined(ANY)
        self._running.append(macro.name)
        self._is_sure = False
        size = self.body(macro.body)
        self._running.pop()
        self._is_sure = was_sure
        fields = {key: value for key, value in self._known.items() if "." in key}
        self._known = {**was, **fields}
        return TemplateValue(size, "text", is_live=True)
