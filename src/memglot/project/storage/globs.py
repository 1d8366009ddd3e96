"""Match globs against paths, by the rules of the original tool, in time linear in the path even for hostile globs.

`*`, `?` and `[...]` stay within a segment, `**` as a segment spans any number of segments, `{a,b}` and `{1..3}` are
alternatives, and `!() ?() *() +() @()` are extended groups. Names that begin with a dot match like all others, and
case matters.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from memglot.project.storage.glob_matcher import RepeatMatcher
from memglot.project.storage.glob_syntax import (
    MAX_CHARACTERS,
    MAX_TOKENS,
    CharacterClass,
    GlobTooLarge,
    Repeat,
    Row,
    Token,
    Wild,
    expand,
    parse,
)

_MAGIC = re.compile(r"[*?\[{(]|[!+@]\(")


class Glob:
    """A compiled glob. Raise `GlobTooLarge` if it is too long or expands to too many patterns."""

    def __init__(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise GlobTooLarge
        self.negated = text.startswith("!") and not text.startswith("!(") and is_glob(text[1:])
        self.text = text[1:] if self.negated else text
        self.prefix = "" if self.negated else literal_prefix(self.text)
        """The folders, each with its slash, that every match begins with."""
        self._rest = _rest_of(self.text[len(self.prefix) :])
        self._machine = RepeatMatcher(self._rest.repeating) if self._rest.repeating else None
        self.names = None if self.negated else self._rest.names
        """The last segments that a match may have; None if the glob does not determine them."""

    def matches(self, path: str) -> bool:
        """Return True if a path matches."""
        return (path == self.text or self._matches_pattern(path)) is not self.negated

    def _matches_pattern(self, path: str) -> bool:
        if not path.startswith(self.prefix):
            # `src/**` also matches `src` itself.
            return self._rest.is_everything and path + "/" == self.prefix
        inner = path[len(self.prefix) :]
        return self._rest.matches(inner) or (self._machine is not None and self._machine.matches(inner))


class _Rest:
    """The part of a glob after its literal folders, which many globs of a store share."""

    def __init__(self, text: str) -> None:
        rows = _rows(text)
        self.repeating = [row for row in rows if any(isinstance(token, Repeat) for token in row)]
        self.names = _names_of(rows)
        self.is_everything = any(all(token in (Wild.STARS, "/") for token in row) for row in rows)
        self._flat = [row for row in rows if not any(isinstance(token, Repeat) for token in row)]
        self._anywhere = self.names is not None and all(
            row[:2] == (Wild.STARS, "/") and "/" not in row[2:] for row in rows
        )

    def matches(self, path: str) -> bool:
        if self._anywhere and self.names is not None:
            return path.rpartition("/")[2] in self.names
        return self._pattern.fullmatch(path) is not None

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        # Compiled when first needed: most globs of a large store have no candidate paths.
        return re.compile("|".join(map(_pattern_of, self._flat)) if self._flat else r"(?!)", re.DOTALL)


@lru_cache(maxsize=4_096)
def _rest_of(text: str) -> _Rest:
    return _Rest(text)


@lru_cache(maxsize=4_096)
def compile_glob(text: str) -> Glob | None:
    """Return a compiled glob, or None if it is too large."""
    try:
        return Glob(text)
    except GlobTooLarge:
        return None


def is_glob(text: str) -> bool:
    """Return True if a text contains wildcards or groups."""
    if "*" in text or "?" in text:
        return True
    if _MAGIC.search(text) is None:
        return False
    try:
        return not all(isinstance(token, str) for token in parse(text))
    except GlobTooLarge:
        return True


def literal_prefix(text: str) -> str:
    """Return the folders before the first segment with a wildcard: `src/api/` of `src/api/*.py`."""
    found = _MAGIC.search(text)
    return text if found is None else text[: text.rfind("/", 0, found.start()) + 1]


def _rows(text: str) -> list[Row]:
    try:
        rows = expand(parse(text))
    except GlobTooLarge:
        # Each bracket that may also be a name doubles the patterns; if these are too many, brackets are no names.
        rows = expand(parse(text, with_names=False))
    if sum(map(len, rows)) > MAX_TOKENS:
        raise GlobTooLarge
    return rows


def _names_of(rows: list[Row]) -> frozenset[str] | None:
    names = set()
    for row in rows:
        last: list[str] = []
        for token in reversed(row):
            if token == "/":
                break
            if not isinstance(token, str):
                return None
            last.append(token)
        names.add("".join(reversed(last)))
    return frozenset(names)


def _segments(row: Row) -> list[list[Token]]:
    found: list[list[Token]] = [[]]
    for token in row:
        if token == "/":
            found.append([])
        else:
            found[-1].append(token)
    return found


def _pattern_of(row: Row) -> str:
    """Return a row as a regular expression.

    The text between two wildcards is matched at its first occurrence, and never tried elsewhere: it has a fixed length,
    so that a later occurrence could only leave less to match. This prevents exponential backtracking.
    """
    groups: list[list[str]] = [[]]
    for segment in _segments(row):
        if segment == [Wild.STARS]:
            groups.append([])
        else:
            groups[-1].append(_segment_pattern(segment))
    first, *others = groups
    if not others:
        return "/".join(first)
    # `a/**/**/b` is the same as `a/**/b`.
    others = [group for group in others[:-1] if group] + [others[-1]]
    found = "/".join(first)
    for number, group in enumerate(others):
        lead = f"{'/' if found else ''}(?:[^/]++/)*?"
        if number < len(others) - 1:
            found += f"(?>{lead}{'/'.join(group)}(?=/|\\Z))"
        elif group:
            found += lead + "/".join(group)
        else:
            found += "(?:/.*)?" if found else ".+"
    return found


def _segment_pattern(segment: list[Token]) -> str:
    chunks = [""]
    for token in segment:
        if token in (Wild.STAR, Wild.STARS):
            chunks.append("")
        else:
            chunks[-1] += _token_pattern(token)
    first, *middle = chunks
    if not middle:
        return first
    last = middle.pop()
    found = first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle if chunk)
    return found + (f"[^/]*{last}(?=/|\\Z)" if last else "[^/]*+")


def _token_pattern(token: Token) -> str:
    if isinstance(token, CharacterClass):
        return token.pattern
    return "[^/]" if token is Wild.ANY else re.escape(str(token))
