"""Ids of nodes and relations, and the slugs that they and their files are named by."""

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
"""How long the name of a file may be: file systems end at 255 bytes, and an ending must fit too."""


def slugify(text: str, fallback: str = "untitled") -> str:
    """A title as the second part of an id."""
    plain = _MARKS.sub("", unicodedata.normalize("NFKD", text)).lower()
    slug = _OTHER.sub("-", _QUOTES.sub("", plain))
    return slug.removeprefix("-").removesuffix("-") or fallback


def is_id(text: object) -> bool:
    """Tell whether a value is the id of a node."""
    return isinstance(text, str) and _ID.fullmatch(text) is not None


def kind_of(id: str) -> str:
    """The kind in an id."""
    return id.partition(".")[0]


def slug_of(id: str) -> str:
    """The slug in an id."""
    return id.partition(".")[2]


def node_id(kind: str, title: str, taken: Callable[[str], bool]) -> str:
    """A new id for a node; a taken one gets a number."""
    return free(f"{kind}.{slugify(title)}", taken)


def link_id(subject: str, predicate: str, object: str, taken: Callable[[str], bool]) -> str:
    """A new id for a relation; a taken one gets a number."""
    ends = f"{subject.replace('.', '-', 1)}-{predicate}-{object.replace('.', '-', 1)}"
    return free("rel." + ends.replace("_", "-"), taken)


def free(wanted: str, taken: Callable[[str], bool]) -> str:
    """A name, or the first of it with `-2`, `-3`… that is not taken."""
    found, number = wanted, 1
    while taken(found):
        number += 1
        found = f"{wanted}-{number}"
    return found


def file_slug(text: str) -> str:
    """The name of a file without its ending, cut where a file system could not hold it."""
    slug = slugify(text)
    if len(slug) <= MAX_FILE_SLUG:
        return slug
    # What is cut off is stood for by its hash, so that two cut names differ.
    return f"{slug[: MAX_FILE_SLUG - 9].rstrip('-')}-{sha256(slug.encode()).hexdigest()[:8]}"


def project_slug(folder: str) -> str:
    """The slug of a project, by the name of its folder."""
    return slugify(folder, "project")


def project_name(slug: str) -> str:
    """The name of a project, by its slug."""
    return " ".join(word[:1].upper() + word[1:] for word in slug.split("-") if word)
