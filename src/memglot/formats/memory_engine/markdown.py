"""Markdown: one memory per file, with YAML front matter; other fields are in the carry slot `meta.memglot`."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from memglot.errors import BadRecord, NeedsFolder
from memglot.formats.base import Format, MergeSupport, ReadOptions, WriteOptions, WriteSupport
from memglot.formats.core.carry import KEY, Bundle, bundles, take_slot
from memglot.formats.core.file_names import safe_name
from memglot.formats.core.note_folder import open_note_folder
from memglot.formats.core.proof import Prover, bundle_digest, file_digest
from memglot.formats.core.source import Source
from memglot.formats.core.target import Target
from memglot.formats.memory_engine.wire import FIELDS, TOOL, items_of_object, to_object
from memglot.formats.syntax.markdown_frame import OPENING, decode_note, split_note
from memglot.formats.syntax.yaml_reader import BrokenYaml
from memglot.formats.syntax.yaml_writer import dump
from memglot.model import Item, Record, check_value, format_time
from memglot.model.record_errors import empty_content
from memglot.report import Proof, Report, SourceReport

_RESERVED = FIELDS | {"created_at", KEY}


def read(source: Source, report: SourceReport, options: ReadOptions) -> Iterator[Item]:
    """Yield the memory of a file, and its attached items."""
    report.item, report.line = 1, None
    raw = source.whole()
    try:
        text = decode_note(raw, source.start)
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
    items = list(items_of_object({**known, "content": content}, report, options, json=False))
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
    with open_note_folder(target, _digest_of, plain=options.plain) as notes:
        for bundle in bundles(items, notes, report):
            text = to_text(bundle, report, options, None)
            notes.put(_path(bundle[0], options.layout), text, bundle_digest(bundle[0], bundle[1]))
        report.proof = notes.finish("markdown", report)


def _digest_of(path: Path) -> str | None:
    """Return the digest of a note that has exactly the bytes this format writes; `None` for any other."""

    def as_written(source: Source) -> list[Item]:
        text = source.whole()
        items = list(read(Source.text(text), SourceReport(), ReadOptions()))
        if not items or not isinstance(items[0], Record):
            return []
        attached = [item for item in items[1:] if not isinstance(item, Record)]
        dated = [
            to_text((items[0], attached, False), Report(), WriteOptions(created_at=way), None) for way in (True, False)
        ]
        return items if text in dated else []

    return file_digest(path, as_written)


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


def to_text(bundle: Bundle, report: Report, options: WriteOptions, end: Proof | None) -> bytes:
    """Return a memory as the text of a Markdown file."""
    data = to_object(bundle, report, options, end, json=False, reserved=_RESERVED, surrogates=False)
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
    writing=WriteSupport(makes_folder=True),
    merging=MergeSupport(has_clocks=True),
)
