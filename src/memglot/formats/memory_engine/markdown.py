"""Markdown: one memory per file, with YAML front matter; other fields are in the carry slot `meta.memglot`."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from memglot.errors import BadRecord, NeedsFolder
from memglot.formats.base import FolderSupport, Format, Glimpse, MergeSupport, ReadOptions, WriteOptions, WriteSupport
from memglot.formats.core.carry import KEY, Bundle, bundles, take_slot
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.note_folder import open_note_folder
from memglot.formats.core.proof import Prover, bundle_digest, file_digest
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.dialects import LATER, TOOL, AcceptsName, Names, is_name
from memglot.formats.memory_engine.wire import FIELDS, items_of_object, to_object
from memglot.formats.syntax.markdown_frame import OPENING, decode_note, split_note
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import Item, Record, check_value, format_time
from memglot.model.record_errors import empty_content
from memglot.report import Proof, Report, SourceReport

_RESERVED = FIELDS | {"created_at", KEY}
_ID = re.compile(rb"---\r?\nid: [\"']?[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}[\"']?\r?\n")
_KEY = re.compile(rb"(?:created_at|meta|tree|name|temporal):|[ -]|$")


def recognise_folder(glimpse: Glimpse) -> bool:
    """Return True if a folder contains nothing but exported notes; their texts may have wikilinks, like a vault's."""
    names = [PurePosixPath(name) for name in glimpse.names]
    visible = [name for name in names if not any(part.startswith(".") for part in name.parts)]
    if any(".obsidian" in name.parts for name in names) or any(
        name.suffix not in FORMAT.extensions for name in visible
    ):
        return False
    heads = [head for extension in FORMAT.extensions for head in glimpse.heads(extension)]
    return bool(heads) and all(map(_is_exported, heads))


def _is_exported(head: bytes) -> bool:
    """Return True for front matter that begins with an id and has only keys of Memory Engine's exports."""
    opening = _ID.match(head)
    if opening is None:
        return False
    front = re.split(rb"\n---\r?\n", head[opening.end() - 1 :])[0]
    return all(map(_KEY.match, front.splitlines()[1:]))


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memory of a file, and its attached items."""
    report.item, report.line = 1, None
    try:
        text = decode_note(source.whole(), source.start)
        frame = split_note(text, options.lenient, source.start)
        front, content = frame.front, text[frame.start : frame.end]
        if not front and not content.strip() and not OPENING.match(text):
            raise empty_content()
        yield from _items(front, content, report, options)
    except BrokenYaml as error:
        report.failed_record(error.error, line=error.line + 1)
    except BadRecord as error:
        report.failed_record(error)


def _items(front: dict[str, Any], content: str, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    # The body is the content, and `created_at` is only for people; a `content` key is an unknown key.
    kept = {key: front[key] for key in ("content", KEY) if key in front}
    known = {key: value for key, value in front.items() if key not in ("content", KEY, "created_at")}
    items = list(items_of_object({**known, "content": content}, report, options))
    record = items[0]
    assert isinstance(record, Record)
    if KEY in kept and (attached := take_slot({KEY: kept[KEY]}, record, report)) is not None:
        items += attached
        del kept[KEY]
    if kept:
        check_value(kept, "front matter")
        given = record.extra.get(TOOL)
        record.extra[TOOL] = {**(given if isinstance(given, dict) else {}), **kept}
    yield from items


def write(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    """Write `{id}.md` files into a folder; or one memory to a path that ends in `.md`, or to a stream."""
    if target.path is None or target.path.suffix.lower() == ".md":
        _write_file(items, target, report, options)
        return
    with open_note_folder(target, _digest_of, plain=options.plain) as notes, Names() as names:
        for bundle in bundles(items, notes, report):
            text = to_text(bundle, report, options, None, names.add)
            notes.put(_path(bundle[0], options.layout), text, bundle_digest(bundle[0], bundle[1]))
        report.proof = notes.finish("markdown", report)


def _digest_of(path: Path) -> str | None:
    """Return the digest of a note that has exactly the bytes this format writes; `None` for any other."""

    def as_written(source: Source) -> list[Item]:
        text = source.whole()
        again = Source.text(text)
        again.max_record = source.max_record
        items = list(read(again, SourceReport(), ReadOptions()))
        if not items or not isinstance(items[0], Record):
            return []
        attached = [item for item in items[1:] if not isinstance(item, Record)]
        return items if text in _written_forms((items[0], attached, False)) else []

    return file_digest(path, as_written)


def _written_forms(bundle: Bundle) -> Iterator[bytes]:
    """Yield the texts that a memory may have in a folder, by dialect, by options, and by whether its name is free."""
    for dialect, accepts_name in ((None, is_name), (LATER, is_name), (LATER, lambda path, name: False)):
        for created_at in (True, False):
            options = WriteOptions(created_at=created_at, dialect=dialect)
            yield to_text(bundle, Report(), options, None, accepts_name)


def _write_file(items: Iterable[Item], target: Target, report: Report, options: WriteOptions) -> None:
    target.check()
    found = bundles(items, target, report)
    first = next(found, None)
    if first is not None and not first[2]:
        target.discard()
        raise NeedsFolder("markdown", f"`{target.path}`" if target.path else "standard output")
    prover = Prover()
    with target.file() as out:
        if first is not None:
            prover.add(first[0], first[1])
            out.write(to_text(first, report, options, prover.end(target.sidecar_count)))
    report.proof = prover.end(target.sidecar_count)


def to_text(
    bundle: Bundle, report: Report, options: WriteOptions, end: Proof | None, accepts_name: AcceptsName = is_name
) -> bytes:
    """Return a memory as the text of a Markdown file."""
    data = to_object(bundle, report, options, end, accepts_name, json=False, reserved=_RESERVED, surrogates=False)
    content = data.pop("content")
    front = {"id": data.pop("id")} if "id" in data else {}
    record = bundle[0]
    if options.created_at and record.created_at:
        front["created_at"] = format_time(record.created_at)
    front.update(data)
    block = dump(front) if front else ""
    return f"---\n{block}---\n\n{content}\n".encode()


def _path(record: Record, layout: str) -> str:
    name = f"{record.id}.md"
    if layout == "kind":
        return f"{safe_name(record.kind)}/{name}"
    if layout == "tree" and record.tree:
        return "/".join(map(safe_name, record.tree.split("."))) + f"/{name}"
    return name


FORMAT = Format(
    name="markdown",
    title="Markdown, one memory a file",
    tool=TOOL,
    family="markdown",
    extensions=(".md", ".markdown"),
    aliases=("md",),
    fields=FIELDS,
    carry="meta.memglot",
    read=read,
    write=write,
    dialects=(LATER,),
    folder=FolderSupport(recognise=recognise_folder),
    writing=WriteSupport(makes_folder=True),
    merging=MergeSupport(has_clocks=True),
)
