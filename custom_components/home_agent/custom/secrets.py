"""The owner's secrets, which no result, error, event or log may show (C-31)."""

from collections.abc import Mapping

from ..outside.mask import Mask


class Secrets:
    """The owner's secrets by name."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Take them as they are read from the configuration."""
        self.values = dict(values or {})
        self.mask = Mask(self.values.values())
