"""Errors about one record that several readers and rules share."""

from memglot.display import in_bytes, shorten
from memglot.errors import BadRecord
from memglot.settings import MAX_DEPTH


def not_an_object(found: str) -> BadRecord:
    """Return the error for a memory that is not an object."""
    return BadRecord(f"a memory must be an object, not {found}")


def not_a_slot() -> BadRecord:
    """Return the error for a `memglot` key that memglot cannot have written."""
    return BadRecord("it has none of the carry slot's fields")


def empty_content() -> BadRecord:
    """Return the error for empty content."""
    return empty_text("content")


def missing_content() -> BadRecord:
    """Return the error for missing content."""
    return BadRecord("`content` is missing")


def empty_text(field: str) -> BadRecord:
    """Return the error for a text field that must not be empty."""
    return BadRecord(f"`{field}` is empty")


def wrong_type(field: str, wanted: str, found: str) -> BadRecord:
    """Return the error for a field of the wrong type."""
    hint = f"omit `{field}` instead of setting it to null" if found == "null" else None
    return BadRecord(f"`{field}` must be {wanted}, not {found}", hint)


def wrong_types(reason: str) -> BadRecord:
    """Return the error for a record with fields of wrong types."""
    return BadRecord(f"not a valid memory: {reason[:1].lower()}{reason[1:]}")


def bad_tree(text: str) -> BadRecord:
    """Return the error for an invalid tree path."""
    return BadRecord(
        f"`tree` must be labels of letters, digits and `_` joined by dots, not `{shorten(text)}`",
        "`import --lenient` also accepts `-` in labels",
    )


def bad_time(text: str) -> BadRecord:
    """Return the error for an invalid timestamp."""
    return BadRecord(f"`{shorten(text)}` is not an ISO 8601 timestamp with an offset, such as `2024-01-15T10:30:00Z`")


def time_out_of_range(value: int) -> BadRecord:
    """Return the error for microseconds outside the calendar."""
    return BadRecord(f"`{shorten(str(value))}` microseconds since 1970 is outside the years 1 to 9999")


def bad_temporal(found: str) -> BadRecord:
    """Return the error for an invalid `temporal`."""
    return BadRecord(f"`temporal` must be a timestamp, or a list of one or two timestamps, not {found}")


def bad_text(field: str, what: str, offset: int) -> BadRecord:
    """Return the error for text that no store can hold."""
    return BadRecord(f"{_quoted(field)} contains {what} at character {offset}")


def bad_bytes(offset: int, what: str = "invalid UTF-8") -> BadRecord:
    """Return the error for bytes that are not valid text."""
    return BadRecord(f"{what} at byte {offset}")


def bad_number(field: str, value: float) -> BadRecord:
    """Return the error for NaN, an infinity, or a number of more than 308 digits."""
    return BadRecord(f"{_quoted(field)} contains `{shorten(str(value))}`, which JSON cannot represent")


def bad_vector(size: int, dimensions: int) -> BadRecord:
    """Return the error for a vector that does not have as many numbers as it says."""
    return BadRecord(f"`vector` has {size:,} bytes, not those of {dimensions:,} numbers")


def too_deep(field: str) -> BadRecord:
    """Return the error for nesting beyond the limit."""
    return BadRecord(f"{_quoted(field)} is nested deeper than {MAX_DEPTH} levels", "flatten it before importing")


def too_large(limit: int) -> BadRecord:
    """Return the error for a memory that is larger than the limit."""
    return BadRecord(
        f"the memory is larger than {in_bytes(limit)}", "split it, or allow larger ones with `--max-record`"
    )


def too_many_values(limit: int) -> BadRecord:
    """Return the error for a memory whose fields have too many values in them."""
    return BadRecord(f"the memory has more than {limit:,} values", "split it")


def bad_syntax(language: str, reason: str) -> BadRecord:
    """Return the error for a syntax error."""
    return BadRecord(f"not valid {language}: {reason}")


def bad_item(name: str, reason: str) -> BadRecord:
    """Return the error for a row, a line or another item of a file that cannot be decoded."""
    return BadRecord(f"not a valid {name}: {reason}")


def altered_row(place: str) -> BadRecord:
    """Return the error for a row of a store that does not match its digest."""
    return BadRecord(
        f"{place} does not match its digest: it was changed outside memglot",
        "to import it as it is now, export the store to NDJSON and import that",
    )


def _quoted(field: str) -> str:
    """Return a field name in backticks; a phrase as it is."""
    return field if " " in field else f"`{field}`"
