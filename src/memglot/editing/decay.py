"""Decay of strength by AgentOS's formula, from the time when a memory was imported or last used."""

from __future__ import annotations

from math import exp
from typing import Any

from memglot.merging.registers import clock_of
from memglot.model import Record, id_time, is_id
from memglot.model.paths import DECAY_KEY
from memglot.store.contract import Store

FADED = 0.05
"""Strength below which a memory counts as faded."""
_MATERIAL = 0.01
_STABILITY = 86_400_000
_DIGITS = 6


class DecayBase:
    """The strength from which decay starts, and since when."""

    def __init__(self, strength: float, since: int, stability: float) -> None:
        self.strength, self.since, self._stability = strength, since, stability

    def at(self, moment: int) -> float:
        """Return the strength at a time: S(t) = S0 · e^(-Δt / stability)."""
        milliseconds = max(0, moment - self.since) / 1_000
        return round(self.strength * exp(-milliseconds / self._stability), _DIGITS)

    def rank(self, moment: int) -> tuple[float, float]:
        """Return the sort key: strength now, then original strength."""
        return self.at(moment), self.strength


class StrengthClock:
    """Computes the strengths of a store's records at one time."""

    def __init__(self, store: Store, moment: int) -> None:
        self._store, self.moment = store, moment
        self._imports = {entry.id: entry.at for entry in store.history.imports()}

    def base(self, record: Record) -> DecayBase | None:
        """Return the base of a record's decay; `None` if it has no strength.

        A strength written by consolidation keeps its original base, so decay is never applied twice; a strength that
        was edited since is a new base.
        """
        if record.strength is None:
            return None
        kept = _kept(record)
        if kept is not None and kept["written"] == record.strength:
            since = max(kept["since"], record.last_accessed or 0)
            return DecayBase(kept["base"], since, _stability(record))
        since = max(self._arrival(record), record.last_accessed or 0, clock_of(record, "strength"))
        return DecayBase(record.strength, min(since, self.moment), _stability(record))

    def strength(self, record: Record) -> float | None:
        """Return the present strength of a record."""
        base = self.base(record)
        return base.at(self.moment) if base is not None else None

    def age(self, record: Record) -> None:
        """Set the present strength of a record, if it differs noticeably."""
        base = self.base(record)
        if base is not None and differs(base.at(self.moment), record.strength):
            record.strength = base.at(self.moment)
            record.clocks = {**record.clocks, "strength": self.moment}
            remember_base(record, base)

    def _arrival(self, record: Record) -> int:
        """Return when a record was imported, else when it was created."""
        brought = self._store.history.import_of(record.id)
        if brought is None:
            return record.created_at
        # An import that is not shown here has its time in its id.
        return self._imports.get(brought) or (id_time(brought) * 1000 if is_id(brought) else record.created_at)


def differs(present: float | None, written: float | None) -> bool:
    """Return True if a strength has changed enough to be written."""
    return present is not None and written is not None and abs(present - written) >= _MATERIAL


def remember_base(record: Record, base: DecayBase) -> None:
    """Store the base of a record's decay."""
    found = {"base": base.strength, "since": base.since, "written": record.strength}
    record.extra = {**record.extra, DECAY_KEY: found}


def _kept(record: Record) -> dict[str, Any] | None:
    """Return the base stored by an earlier consolidation, if valid; an import may contain anything here."""
    found = record.extra.get(DECAY_KEY)
    if not isinstance(found, dict):
        return None
    numbers = [found.get(name) for name in ("base", "since", "written")]
    return found if all(isinstance(number, (int, float)) for number in numbers) else None


def _stability(record: Record) -> float:
    own = record.extra.get("agentos")
    decay = own.get("decay") if isinstance(own, dict) else None
    found = decay.get("stability") if isinstance(decay, dict) else None
    return float(found) if isinstance(found, (int, float)) and found > 0 else _STABILITY
