"""Globs over paths, by the rules of the tool's matcher, in time that grows with the path and never explodes.

`*`, `?` and `[...]` stay within a segment, `**` as a whole segment spans any number of them, `{a,b}` and `{1..3}`
choose, and `!() ?() *() +() @()` are the extended groups. Names that begin with a dot are matched like all others,
and case counts.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache

from memglot.project.glob_matcher import Machine
from memglot.project.glob_syntax import (
    MOST_CHARACTERS,
    MOST_SIGNS,
    Class,
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
    """A compiled glob. Raises `GlobTooLarge` where it is longer, or stands for more patterns, than anybody means."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST_CHARACTERS:
            raise GlobTooLarge
        self.negated = text.startswith("!") and not text.startswith("!(") and is_glob(text[1:])
        self.text = text[1:] if self.negated else text
        self.prefix = "" if self.negated else literal_prefix(self.text)
        """The folders, each with its slash, that every match begins with."""
        self._rest = _rest_of(self.text[len(self.prefix) :])
        self._machine = Machine(self._rest.repeating) if self._rest.repeating else None
        self.names = None if self.negated else self._rest.names
        """The last segments that a match may have, where the glob names them; else `None`."""

    def matches(self, path: str) -> bool:
        """Tell whether a path is meant."""
        return (path == self.text or self._means(path)) is not self.negated

    def _means(self, path: str) -> bool:
        if not path.startswith(self.prefix):
            # `src/**` also means `src` itself.
            return self._rest.is_everything and path + "/" == self.prefix
        inner = path[len(self.prefix) :]
        return self._rest.matches(inner) or (self._machine is not None and self._machine.matches(inner))


class _Rest:
    """What of a glob comes after its plain folders; many globs of a memory differ in nothing else."""

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
        # Made when it is first asked for: most globs of a large memory have no path to try.
        return re.compile("|".join(map(_pattern_of, self._flat)) if self._flat else r"(?!)", re.DOTALL)


@lru_cache(maxsize=4_096)
def _rest_of(text: str) -> _Rest:
    return _Rest(text)


@lru_cache(maxsize=4_096)
def compile_glob(text: str) -> Glob | None:
    """A glob, or `None` where it is too large to be one."""
    try:
        return Glob(text)
    except GlobTooLarge:
        return None


def is_glob(text: str) -> bool:
    """Tell whether a text has anything that stands for something other than itself."""
    if "*" in text or "?" in text:
        return True
    if _MAGIC.search(text) is None:
        return False
    try:
        return not all(isinstance(token, str) for token in parse(text))
    except GlobTooLarge:
        return True


def literal_prefix(text: str) -> str:
    """The folders before the first segment of a glob that is no plain name: `src/api/` of `src/api/*.py`."""
    found = _MAGIC.search(text)
    return text if found is None else text[: text.rfind("/", 0, found.start()) + 1]


def _rows(text: str) -> list[Row]:
    try:
        rows = expand(parse(text))
    except GlobTooLarge:
        # Each bracket that may also be a name doubles the patterns; where that is too much, it is no name.
        rows = expand(parse(text, with_names=False))
    if sum(map(len, rows)) > MOST_SIGNS:
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
    """A row as a regular expression.

    Between two wildcards, what lies between is taken where it is found first, and never tried elsewhere: all of it has
    one length, so that a later place could only leave less to match. That keeps hostile globs from exploding.
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
    # `a/**/**/b` says no more than `a/**/b`.
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
            chunks[-1] += _sign_pattern(token)
    first, *middle = chunks
    if not middle:
        return first
    last = middle.pop()
    found = first + "".join(f"(?>[^/]*?{chunk})" for chunk in middle if chunk)
    return found + (f"[^/]*{last}(?=/|\\Z)" if last else "[^/]*+")


def _sign_pattern(token: Token) -> str:
    if isinstance(token, Class):
        return token.pattern
    return "[^/]" if token is Wild.ANY else re.escape(str(token))
