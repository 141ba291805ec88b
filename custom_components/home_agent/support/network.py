"""Which computers a tool may reach: the host that the owner wrote, at an address that fits it.

A name on the internet that resolves to an address at home is refused where the connection is made, so that no redirect and no
changed answer of a name server leads there. A host that is plainly at home was meant so.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
import socket
from typing import Self, override

from aiohttp.abc import AbstractResolver, ResolveResult
from homeassistant.core import HomeAssistant
from homeassistant.helpers.aiohttp_client import HomeAssistantTCPConnector, async_get_clientsession

from .const import CONF_ALLOW_PRIVATE_HOSTS, CONF_ALLOWED_HOSTS
from .errors import ToolRefusal

type Resolve = Callable[[str], Awaitable[Sequence[ResolveResult]]]
"""Asks for the addresses of a name."""

_AT_HOME = ("local", "localhost", "lan", "home", "internal", "intranet", "private", "home.arpa")
_NAT64 = IPv6Network("64:ff9b::/96")
_INTERNET = IPv6Network("2000::/3")
"""All addresses that are given out on the internet; others are private, or carry one of it in an old form."""


class AddressRefused(OSError):
    """A name leads to an address where it may not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressPolicy:
    """What requests to other computers may reach."""

    allowed_hosts: tuple[str, ...] = ()
    """Names, or `*.` and a domain; empty: any that a tool names."""
    allow_private_hosts: bool = False
    """Let names on the internet lead to addresses at home."""

    @classmethod
    def from_options(cls, options: Mapping[str, object]) -> Self:
        """Return what the owner set."""
        listed = options.get(CONF_ALLOWED_HOSTS)
        return cls(
            allowed_hosts=tuple(str(host) for host in listed) if isinstance(listed, list) else (),
            allow_private_hosts=bool(options.get(CONF_ALLOW_PRIVATE_HOSTS)),
        )

    def check(self, host: str) -> None:
        """Raise `ToolRefusal` for a host that is not on the owner's list."""
        if not self.allows(host):
            raise ToolRefusal(f"{host} is not among the hosts that the owner allows.")

    def allows(self, host: str) -> bool:
        """Return whether a host is on the owner's list, or there is none."""
        return not self.allowed_hosts or any(_matches(normalized(host), item) for item in self.allowed_hosts)

    def fits(self, host: str, address: str) -> bool:
        """Return whether a host may be reached at an address."""
        return self.allow_private_hosts or is_at_home(host) or is_public(address)


def normalized(host: str) -> str:
    """Return a host as it is compared."""
    return host.strip().casefold().rstrip(".")


def is_at_home(host: str) -> bool:
    """Return whether a host is at home by its very form: a private address, `nas`, `nas.local`."""
    host = normalized(host)
    try:
        return not is_public(str(ip_address(host.strip("[]"))))
    except ValueError:
        return "." not in host or host.endswith(tuple(f".{suffix}" for suffix in _AT_HOME))


def is_public(address: str) -> bool:
    """Return whether an address is on the internet; one that carries another counts as that."""
    ip = ip_address(address.partition("%")[0])
    inner: IPv4Address | None = None
    if isinstance(ip, IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour or (IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
        if inner is None and ip not in _INTERNET:
            return False
    found: IPv4Address | IPv6Address = inner or ip
    return found.is_global and not found.is_multicast


def _matches(host: str, allowed: str) -> bool:
    allowed = normalized(allowed)
    if allowed.startswith("*."):
        return host.endswith(allowed[1:])
    return host == allowed


def resolve_by(hass: HomeAssistant) -> Resolve:
    """Return how Home Assistant itself finds the addresses of a name."""

    async def resolve(host: str) -> Sequence[ResolveResult]:
        connector = async_get_clientsession(hass).connector
        assert isinstance(connector, HomeAssistantTCPConnector)
        return await connector.async_resolve_host(host)

    return resolve


class GuardedResolver(AbstractResolver):
    """Gives a connection only addresses where the name may lead."""

    def __init__(self, egress: EgressPolicy, resolve: Resolve) -> None:
        """Take the rules and who is asked."""
        self._egress = egress
        self._resolve = resolve

    @override
    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._resolve(host)
        fitting = [{**result, "port": port} for result in found if self._egress.fits(host, result["host"])]
        if found and not fitting:
            raise AddressRefused(host)
        return fitting  # type: ignore[return-value]  # a copy with another port

    @override
    async def close(self) -> None:
        """Nothing is held."""
