"""What a caller may ask of an import."""

from dataclasses import dataclass, field

from memglot.formats.base import ReadOptions


@dataclass(frozen=True)
class ImportOptions:
    """What a caller may ask of an import."""

    format: str | None = None
    dedup: str | None = None
    conflict: str | None = None
    tree: str = ""
    tags: tuple[str, ...] = ()
    fail_fast: bool = False
    restore_deleted: bool = False
    dry_run: bool = False
    isolate: bool = False
    """Whether a batch that the store refuses costs only itself: it is reported, and the others land."""
    reading: ReadOptions = field(default_factory=ReadOptions)
