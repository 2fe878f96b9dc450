"""The noun Settings: a value for some knobs."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from becalm.nouns.codec import Json


class Settings(msgspec.Struct, frozen=True):
    """Values of some knobs, ordered by name. Empty settings leave the machine as it is."""

    values: tuple[tuple[str, str | int | bool], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, str | int | bool] | Settings | None = None) -> Settings:
        """Return the settings of a mapping from knob names to values."""
        if isinstance(values, Settings):
            return values
        return cls(tuple(sorted((values or {}).items())))

    def to_json(self) -> dict[str, Json]:
        """Return the values by the names of knobs."""
        return dict(self.values)

    @classmethod
    def from_json(cls, value: Mapping[str, Json]) -> Settings:
        """Return the settings that `to_json` wrote."""
        return cls.of(value)
