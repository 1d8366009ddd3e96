"""Ids of nodes and relations, and the slugs in them and in file names."""

import re
import unicodedata
from collections.abc import Callable
from hashlib import sha256

from memglot.project.storage.vocabulary import ID

_MARKS = re.compile("[\u0300-\u036f]")
_QUOTES = re.compile("['\"`\u2019\u2018\u201c\u201d]")
_OTHER = re.compile("[^a-z0-9]+")
_ID = re.compile(ID)
MAX_FILE_SLUG = 240
"""Maximum length of a file name without its ending: file systems allow 255 bytes."""


def slugify(text: str, fallback: str = "untitled") -> str:
    """Return a title as the second part of an id."""
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text)).lower()
    slug = _OTHER.sub("-", _QUOTES.sub("", plain))
    return slug.removeprefix("-").removesuffix("-") or fallback


def is_id(text: object) -> bool:
    """Return True if a value is the id of a node."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def kind_of(id: str) -> str:
    """Return the kind in an id."""
    return id.partition(".")[0]


def slug_of(id: str) -> str:
    """Return the slug in an id."""
    return id.partition(".")[2]


def node_id(kind: str, title: str, taken: Callable[[str], bool]) -> str:
    """Return a new id for a node, with a number if it is taken."""
    return first_free(f"{kind}.{slugify(title)}", taken)


def link_id(subject: str, predicate: str, object: str, taken: Callable[[str], bool]) -> str:
    """Return a new id for a relation, with a number if it is taken."""
    ends = f"{subject.replace('.', '-', 1)}-{predicate}-{object.replace('.', '-', 1)}"
    return first_free("rel." + ends.replace("_", "-"), taken)


def first_free(wanted: str, taken: Callable[[str], bool]) -> str:
    """Return a name, with `-2`, `-3`… appended if it is taken."""
    found, number = wanted, 1
    while taken(found):
        number += 1
        found = f"{wanted}-{number}"
    return found


def file_slug(text: str) -> str:
    """Return a file name without its ending, shortened if it is too long for a file system."""
    slug = slugify(text)
    if len(slug) <= MAX_FILE_SLUG:
        return slug
    # A hash replaces the rest, so that two shortened names differ.
    return f"{slug[: MAX_FILE_SLUG - 9].rstrip('-')}-{sha256(slug.encode()).hexdigest()[:8]}"


def project_slug(folder: str) -> str:
    """Return the slug of a project from the name of its folder."""
    return slugify(folder, "project")


def project_name(slug: str) -> str:
    """Return the name of a project from its slug."""
    return " ".join(word[:1].upper() + word[1:] for word in slug.split("-") if word)
