"""YAML: a list of memories with Memory Engine's keys; what they cannot hold rides in `meta.memglot`."""

from collections.abc import Iterable, Iterator

from memglot.errors import BadRecord, empty_input, rest_lost
from memglot.formats._memory_engine.dialects import is_pack, pack_memories
from memglot.formats._memory_engine.wire import HOMES, TOOL, careful_items, to_wire
from memglot.formats._yaml.reading import Broken, YamlReader
from memglot.formats._yaml.writing import dump
from memglot.formats.carry import bundles
from memglot.formats.format import Format, Options
from memglot.formats.proof import Prover
from memglot.formats.source import Source
from memglot.formats.target import Target
from memglot.model import Item
from memglot.report import Report


def read(source: Source, report: Report, options: Options) -> Iterator[Item]:
    """Yield the memories of a list, or the one of a single mapping."""
    values = YamlReader(source.stream, start=source.start, size=source.size)
    item = 0
    try:
        for value in values.values():
            item += 1
            report.item, report.line = item, values.line
            try:
                if isinstance(value, BadRecord):
                    raise value
                for memory in pack_memories(value) if options.lenient and is_pack(value) else [value]:
                    yield from careful_items(memory, report, options, json=False)
            except BadRecord as error:
                report.failed_record(error)
        if not item and not values.is_list:
            report.fault(empty_input(source.name))
    except Broken as error:
        report.failed_record(rest_lost(error.error), item=item + 1, line=error.line)


def write(items: Iterable[Item], target: Target, report: Report, options: Options) -> None:
    """Write a list, one memory after the other."""
    prover = Prover()
    with target.file() as out:
        for bundle in bundles(items, target, report):
            record, riders, last = bundle
            prover.add(record, riders)
            end = prover.end(target.beside_count) if last else None
            out.write(dump([to_wire(bundle, report, options, end, json=False)]).encode("utf-8"))
        if not prover.count:
            out.write(b"[]\n")
    report.written(prover.end())


FORMAT = Format(
    name="yaml",
    title="YAML 1.2, a list of memories",
    tool=TOOL,
    family="yaml",
    extensions=(".yaml", ".yml"),
    aliases=("yml",),
    homes=HOMES,
    carry="meta.memglot",
    read=read,
    write=write,
)
