"""Edits of JSON and TOML configurations: one entry changes, and every other byte is kept."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memglot.clients.document import ConfigDocument, apply_edit, parse_document
from memglot.clients.json_document import JsonDocument, JsonPairs, load_json, to_dicts
from memglot.clients.text_edit import TextEdit, unified_diff
from memglot.clients.toml_document import TomlDocument
from memglot.errors import Unreadable, UsageError

KEYS = ("mcpServers", "memglot")
ENTRY = {"type": "stdio", "command": "/opt/bin/memglot", "args": ["mcp", "--store", "/home/zoë/store.db"]}
OTHER = {**ENTRY, "args": ["mcp", "--read-only"]}
TABLE = ("mcp_servers", "memglot")
TABLE_ENTRY = {"command": 'C:\\bin\\"x"\\memglot.exe', "args": ["mcp", "--root", "/ä\x7f"]}

newlines = st.sampled_from(["\n", "\r\n", "\r"])
remarks = st.sampled_from(['/* } "memglot": { */', '// , "mcpServers": {}', "/**/", "// \\"])
scalars = st.sampled_from(['"a"', "1", "-0.5e+7", "true", "null", '"\\u00e9\\"}"', '"//"', '"/*"', "1" * 5000, '""'])
names = st.sampled_from(['"a"', '"b"', '"memglot2"', '"\\u0062"', '"ключ"', '"//"', '"mcpservers"'])


@st.composite
def trivia(draw: st.DrawFn) -> str:
    """Whitespace and comments; a line comment includes its line break."""
    parts = []
    for part in draw(st.lists(st.one_of(st.sampled_from(["", " ", "\t", "    "]), newlines, remarks), max_size=3)):
        parts.append(part + draw(newlines) if part.startswith("//") else part)
    return "".join(parts)


@st.composite
def objects(draw: st.DrawFn, members: list[str], depth: int = 0) -> str:
    """An object of these members and some others, in any layout."""
    members = list(members)
    for _ in range(draw(st.integers(0, 2))):
        members.insert(draw(st.integers(0, len(members))), draw(other_members(depth)))
    text = "{" + draw(trivia())
    for number, member in enumerate(members):
        text += member + draw(trivia())
        if number + 1 < len(members) or draw(st.booleans()) and draw(st.booleans()):
            text += "," + draw(trivia())
    return text + "}"


@st.composite
def other_members(draw: st.DrawFn, depth: int) -> str:
    value = draw(objects([], depth + 1)) if depth < 2 and draw(st.booleans()) else draw(scalars)
    if draw(st.booleans()):
        value = f"[{draw(trivia())}{value}{draw(trivia())}]"
    return draw(names) + draw(trivia()) + ":" + draw(trivia()) + value


@st.composite
def laid_out(draw: st.DrawFn) -> str:
    """JSON as programs write it: with one indentation, or on one line."""
    indent = draw(st.sampled_from([None, 0, 2, 4, "\t"]))
    value: dict[str, Any] = draw(st.dictionaries(st.sampled_from(["$schema", "b", "ä"]), st.sampled_from([1, {}, [2]])))
    if draw(st.booleans()):
        servers = st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from([{}, {"command": "x", "args": ["y"]}]))
        value["mcpServers"] = draw(servers)
    separators = draw(st.sampled_from([None, (",", ":")])) if indent is None else None
    text = json.dumps(value, indent=indent, separators=separators, ensure_ascii=False)
    return text.replace("\n", draw(newlines)) + draw(st.sampled_from(["", "\n", "\r\n"]))


@st.composite
def wild(draw: st.DrawFn) -> str:
    """Any JSON with comments."""
    key = draw(st.sampled_from(['"mcpServers"', '"mcpServer\\u0073"']))
    container = f"{key}{draw(trivia())}:{draw(trivia())}{draw(objects([], 1))}"
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return mark + draw(trivia()) + draw(objects(draw(st.sampled_from([[], [container]])))) + draw(trivia())


documents = (
    laid_out() | wild() | st.sampled_from(["", " \n", "\ufeff", "{}", "{ }", "{\r\n}\r\n", "\ufeff{}", "\t{\n\t}"])
)


def value_of(text: str) -> Any:
    return to_dicts(load_json(text)) if text.strip("\ufeff \t\r\n") else {}


@given(documents)
def test_adding_an_entry_changes_nothing_else(text: str) -> None:
    document = JsonDocument(text, "x.json")
    edit, marks = document.add(KEYS, ENTRY)
    after = apply_edit(document, edit, KEYS)
    assert edit.start == edit.end
    expected = value_of(text)
    expected["mcpServers"] = {**expected.get("mcpServers", {}), "memglot": ENTRY}
    assert value_of(after.text) == expected
    assert JsonDocument(after.text, "x.json").remove(KEYS, marks).apply(after.text) == document.text


@given(documents)
def test_strict_json_stays_strict(text: str) -> None:
    document = JsonDocument(text, "x.json")
    try:
        json.loads(document.text.removeprefix("\ufeff"))
    except ValueError:
        return
    edit, _ = document.add(KEYS, ENTRY)
    after = edit.apply(document.text).removeprefix("\ufeff")
    assert json.loads(after)["mcpServers"]["memglot"] == ENTRY
    taken = JsonDocument(after, "x.json").remove(KEYS).apply(after)
    assert "memglot" not in json.loads(taken)["mcpServers"]


@given(documents)
def test_an_entry_is_updated_in_place(text: str) -> None:
    before = JsonDocument(text, "x.json")
    edit, marks = before.add(KEYS, ENTRY)
    added = apply_edit(before, edit, KEYS)
    changed = apply_edit(added, added.update(KEYS, OTHER), KEYS)
    assert changed.entry(KEYS) == OTHER
    assert changed.remove(KEYS, marks).apply(changed.text) == before.text
    back = apply_edit(changed, changed.update(KEYS, ENTRY), KEYS)
    assert back.text == added.text
    assert back.update(KEYS, ENTRY).apply(back.text) == back.text


@given(documents)
def test_a_replaced_entry_is_restored(text: str) -> None:
    before = JsonDocument(text, "x.json")
    foreign = apply_edit(before, before.add(KEYS, {"command": "other", "env": {"KEY": "secret"}})[0], KEYS)
    edit, raw = foreign.replace(KEYS, ENTRY)
    ours = apply_edit(foreign, edit, KEYS)
    assert ours.entry(KEYS) == ENTRY
    assert ours.restore(KEYS, raw).apply(ours.text) == foreign.text


@given(documents, st.sampled_from([("mcpServers", "later"), ("later",)]), st.booleans())
def test_later_changes_by_others_are_kept(text: str, keys: tuple[str, ...], remembers: bool) -> None:
    before = JsonDocument(text, "x.json")
    edit, marks = before.add(KEYS, ENTRY)
    ours = apply_edit(before, edit, KEYS)
    theirs = apply_edit(ours, ours.add(keys, {"command": "z"})[0], keys)
    taken = apply_edit(theirs, theirs.remove(KEYS, marks if remembers else ()), KEYS)
    expected = value_of(text)
    inner = expected.setdefault("mcpServers", {}) if keys[0] == "mcpServers" else expected
    inner[keys[-1]] = {"command": "z"}
    found = value_of(taken.text)
    if keys == ("later",) and not remembers:
        expected.setdefault("mcpServers", {})
    assert found == expected


@st.composite
def with_ours(draw: st.DrawFn) -> str:
    """Any JSON with comments that contains our entry."""
    ours = f'"memglot"{draw(trivia())}:{draw(trivia())}' + '{"command": "memglot"}'
    container = f'"mcpServers"{draw(trivia())}:{draw(trivia())}{draw(objects([ours], 1))}'
    return draw(trivia()) + draw(objects([container])) + draw(trivia())


def remarks_of(text: str) -> list[str]:
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', text, re.DOTALL)
    return [token.rstrip(" \t") for token in tokens if token[0] == "/"]


@given(with_ours())
def test_removing_an_entry_keeps_every_comment(text: str) -> None:
    document = JsonDocument(text, "x.json")
    taken = apply_edit(document, document.remove(KEYS), KEYS)
    assert not taken.has(KEYS) and taken.has(KEYS[:1])
    member = document.text[document._member(KEYS).start : document._member(KEYS).value.end]
    assert remarks_of(taken.text) == remarks_of(text.replace(member, "", 1))


@given(with_ours(), st.sampled_from(["", "\n", "\n    "]), st.sampled_from(["", "\n", "\n  ", ","]))
def test_a_receipt_that_matches_by_chance_is_harmless(text: str, lead: str, tail: str) -> None:
    document = JsonDocument(text, "x.json")
    for marks in ([(lead, tail)], [("," + lead, "")], [(lead, tail), ("\n", "\n")]):
        assert not apply_edit(document, document.remove(KEYS, marks), KEYS).has(KEYS)


def test_later_comments_by_others_are_kept() -> None:
    document = JsonDocument("{}", "x.json")
    edit, marks = document.add(KEYS, {"x": "y"})
    remarked = edit.apply("{}").replace('"memglot"', '// mine\n    "memglot"')
    taken = JsonDocument(remarked, "x.json").remove(KEYS, marks).apply(remarked)
    assert taken == '{\n  "mcpServers": {\n    // mine\n  }\n}'


@given(wild())
def test_scanner_and_parser_agree(text: str) -> None:
    document = JsonDocument(text, "x.json")

    def spans(start: int, end: int) -> Any:
        return load_json(document.text[start:end])

    assert JsonPairs(
        (one.key, spans(one.value.start, one.value.end)) for one in document.root.members or ()
    ) == load_json(text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a":1}\n', '{"a":1,"mcpServers":{"memglot":{"x":"y"}}}\n'),
        ('{"a": 1}', '{"a": 1, "mcpServers": {"memglot": {"x": "y"}}}'),
        ('{\n\t"a": 1\n}', '{\n\t"a": 1,\n\t"mcpServers": {\n\t\t"memglot": {\n\t\t\t"x": "y"\n\t\t}\n\t}\n}'),
        ('{\r\n "mcpServers": {}\r\n}', '{\r\n "mcpServers": {\r\n  "memglot": {\r\n   "x": "y"\r\n  }\r\n }\r\n}'),
        (
            '{\n  "mcpServers": {\n    "a": {}, // mine\n  },\n}\n',
            '{\n  "mcpServers": {\n    "a": {}, // mine\n    "memglot": {\n      "x": "y"\n    },\n  },\n}\n',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {} // mine\n  }\n}\n',
            '{\n  "mcpServers": {\n    "memglot": {\n      "x": "y"\n    },\n    "a": {} // mine\n  }\n}\n',
        ),
        (
            '{\n  "mcpServers": { // none\n  }\n}',
            '{\n  "mcpServers": { // none\n    "memglot": {\n      "x": "y"\n    }\n  }\n}',
        ),
        (
            '{\n  "mcpServers": { // all\n    "a": {} // mine\n  }\n}\n',
            '{\n  "mcpServers": { // all\n    "memglot": {\n      "x": "y"\n    },\n    "a": {} // mine\n  }\n}\n',
        ),
        ("", '{\n  "mcpServers": {\n    "memglot": {\n      "x": "y"\n    }\n  }\n}\n'),
    ],
)
def test_an_entry_is_written_in_the_style_of_its_neighbours(before: str, after: str) -> None:
    document = JsonDocument(before, "x.json")
    edit, _ = document.add(KEYS, {"x": "y"})
    assert edit.apply(document.text) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"mcpServers": {"memglot": {}, "a": 1}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {"a": 1, "memglot": {}}}', '{"mcpServers": {"a": 1}}'),
        ('{"mcpServers": {"memglot": {}}}', '{"mcpServers": {}}'),
        ('{"mcpServers": {\n  "a": 1, // one\n  "memglot": {}\n}}', '{"mcpServers": {\n  "a": 1 // one\n}}'),
        ('{"mcpServers": {\n  "memglot": {},\n  "a": 1\n}}', '{"mcpServers": {\n  "a": 1\n}}'),
        ('{"mcpServers": {\n  // keep\n  "memglot": {}\n}}', '{"mcpServers": {\n  // keep\n}}'),
    ],
)
def test_an_entry_without_marks_is_removed(before: str, after: str) -> None:
    document = JsonDocument(before, "x.json")
    assert document.remove(KEYS).apply(before) == after


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "line 1: the top-level value is not an object"),
        ('{\n"mcpServers": []}', "line 2: `mcpServers` is not an object"),
        ('{"mcpServers": null}', "`mcpServers` is not an object"),
        ('{"a": 1\n"b": 2}', "line 2: expected `,` or `}`"),
        ('{"a": [1 2]}', "expected `,` or `]`"),
        ("{'a': 1}", "expected a key in quotes"),
        ('{"a" 1}', "expected `:`"),
        ('{"a": NaN}', "expected a value"),
        ('{"a": 01}', "expected `,` or `}`"),
        ('{"a": "\t"}', "expected a value"),
        ('{"a": "\\x"}', "expected a value"),
        ('{"a": 1', "expected `,` or `}`"),
        ("{} {}", "expected the end of the file"),
        ("{} /* open", "expected the end of the file"),
        ("// nothing but this", "expected a value"),
        ('{"mcpServers": {},\n\n"mcpServers": {}}', "line 3: the key `mcpServers` is a duplicate"),
        ('{"mcpServers": {"memglot": 1, "memglot": 2}}', "the key `memglot` is a duplicate"),
        ("[" * 100_000, "nested more than 100 levels deep"),
    ],
)
def test_invalid_json_is_reported_with_its_line(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=".") as caught:
        JsonDocument(text, "x.json").entry(KEYS)
    assert said in str(caught.value) and "x.json" in str(caught.value)
    assert "nothing was changed" in (caught.value.hint or "")


def test_another_encoding_is_an_error() -> None:
    with pytest.raises(Unreadable, match="line 2: it is not valid UTF-8"):
        parse_document(b'{\n"a": "\xff"}', "x.json", "json")
    with pytest.raises(Unreadable, match="UTF-8"):
        parse_document("{}".encode("utf-16"), "x.toml", "toml")


def test_an_edit_of_more_than_the_entry_is_rejected() -> None:
    document = JsonDocument('{"a": 1, "mcpServers": {}}', "x.json")
    for edit in (TextEdit(6, 7, "2"), TextEdit(0, 0, "x"), TextEdit(0, len(document.text), "[1]")):
        with pytest.raises(UsageError, match="nothing was changed"):
            apply_edit(document, edit, KEYS)


# TOML

tables = st.sampled_from(
    [
        "[a]\nx = 1 # [mcp_servers.memglot]\n",
        '["mcp_servers".other]\ncommand = "x"\nenv = { KEY = "secret", B = "}" }\n',
        "[mcp_servers.other2]\nargs = [ # ]\n  \"]\", '''\n[mcp_servers.memglot]\n''',\n]\n",
        "[[many]]\nx = 1\n[[many]]\n",
        '[ q . "a.b" ]\ntext = """\n[mcp_servers.memglot]\ncommand = "x"\\" "" """"\n',
        "[mcp_servers.memglot2.env]\nx = nan\n",
        "# a remark\n\n",
        "[later]\nwhen = 1979-05-27T07:32:00Z\n\n\n",
    ]
)


@st.composite
def tomls(draw: st.DrawFn) -> str:
    head = draw(
        st.sampled_from(["", " ", "\t\n  ", "# c\n", 'model = "m"\n', 'a.b = 1\n"c\\u0064" = [[1], {x = 2}]\n', "\n\n"])
    )
    text = head.replace("a.b", "top.b") + "".join(draw(st.lists(tables, unique=True, max_size=5)))
    if draw(st.booleans()):
        text = text.rstrip("\n")
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return mark + (text.replace("\n", "\r\n") if draw(st.booleans()) else text)


def toml_of(text: str) -> dict[str, Any]:
    return tomllib.loads(text.removeprefix("\ufeff"), parse_float=str)


@given(tomls())
def test_adding_a_table_changes_nothing_else(text: str) -> None:
    document = TomlDocument(text, "x.toml")
    edit, marks = document.add(TABLE, TABLE_ENTRY)
    after = apply_edit(document, edit, TABLE)
    assert after.text.startswith(text)
    expected = toml_of(text)
    expected.setdefault("mcp_servers", {})["memglot"] = TABLE_ENTRY
    assert toml_of(after.text) == expected
    assert after.remove(TABLE, marks).apply(after.text) == text


@given(tomls(), st.sampled_from(["[z]\ny = 1\n", "# end", '[mcp_servers.memglot.env]\nA = "b"\n']), st.booleans())
def test_a_table_is_updated_and_removed_later(text: str, more: str, remembers: bool) -> None:
    before = TomlDocument(text, "x.toml")
    edit, marks = before.add(TABLE, TABLE_ENTRY)
    later = TomlDocument(edit.apply(text) + more, "x.toml")
    values = {"command": "memglot", "args": ["mcp"], "cwd": "/"}
    changed = apply_edit(later, later.update(TABLE, values), TABLE)
    assert {key: changed.entry(TABLE)[key] for key in values} == values
    assert changed.text.endswith(more)
    taken = apply_edit(changed, changed.remove(TABLE, marks if remembers else ()), TABLE)
    assert taken.entry(TABLE) is None
    rest = "" if "memglot" in more else more
    assert toml_of(taken.text) == toml_of(text + "\n" + rest)
    assert taken.text.endswith(rest)
    if remembers:
        assert taken.text.startswith(text)


@given(tomls(), st.sampled_from(["", "[z]\ny = 1\n"]))
def test_a_replaced_table_is_restored(text: str, more: str) -> None:
    theirs = '[mcp_servers . "memglot"] # theirs\n# why\ncommand="x"\n[mcp_servers.memglot.env]\nA="b"'
    foreign = TomlDocument(f"{text}\n{theirs}{chr(10) * bool(more)}{more}", "x.toml")
    edit, raw = foreign.replace(TABLE, TABLE_ENTRY)
    ours = apply_edit(foreign, edit, TABLE)
    assert ours.entry(TABLE) == TABLE_ENTRY
    assert ours.restore(TABLE, raw).apply(ours.text) == foreign.text


@pytest.mark.parametrize(
    "text",
    [
        # tomlkit.dumps(tomlkit.parse(text)) puts `[mcp_servers.b]` before `[[hooks]]`.
        '[mcp_servers.a]\ncommand = "x"\n[[hooks]]\nrun = "y"\n[mcp_servers.b]\ncommand = "z"\n',
        # tomlkit adds a server between `[projects]` and its comment, and leaves a blank line when it is deleted.
        '[mcp_servers.a]\ncommand = "x"\n\n# trusted\n[projects]\nx = 1\n\n[mcp_servers.b]\ncommand = "z"\n',
    ],
)
def test_bytes_that_tomlkit_changes_are_kept(text: str) -> None:
    document = TomlDocument(text, "x.toml")
    edit, marks = document.add(TABLE, TABLE_ENTRY)
    after = apply_edit(document, edit, TABLE)
    assert after.text.startswith(text)
    assert after.remove(TABLE, marks).apply(after.text) == text


def test_tables_between_two_of_ours_are_kept() -> None:
    text = "[mcp_servers.memglot]\ncommand = 'memglot'\n\n[a]\nb = 1\n\n[mcp_servers.memglot.env]\nC = 'd'\n# end\n"
    document = TomlDocument(text, "x.toml")
    assert apply_edit(document, document.remove(TABLE), TABLE).text == "\n[a]\nb = 1\n\n# end\n"
    with pytest.raises(UsageError, match="cannot be edited safely"):
        document.replace(TABLE, TABLE_ENTRY)


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = { memglot = { command = "memglot" } }',
        'mcp_servers.memglot.command = "memglot"',
        '[mcp_servers]\nmemglot = { command = "memglot" }',
        '[mcp_servers]\nmemglot.command = "memglot"',
    ],
)
def test_an_inline_or_dotted_table_is_not_edited(text: str) -> None:
    document = TomlDocument(text, "x.toml")
    for deed in (lambda: document.update(TABLE, TABLE_ENTRY), lambda: document.replace(TABLE, TABLE_ENTRY)):
        with pytest.raises(UsageError, match="cannot be edited safely") as caught:
            deed()
        assert "memglot = { command = " in (caught.value.hint or "")
    with pytest.raises(UsageError, match="cannot be edited safely"):
        document.remove(TABLE)


@pytest.mark.parametrize("text", ["mcp_servers = {}", "mcp_servers = { a = { command = 'x' } }\n"])
def test_nothing_is_added_to_an_inline_table(text: str) -> None:
    document = TomlDocument(text, "x.toml")
    assert document.entry(TABLE) is None
    with pytest.raises(UsageError, match="cannot be edited safely") as caught:
        document.add(TABLE, {"command": "memglot", "args": ["mcp"]})
    assert caught.value.hint is not None
    assert caught.value.hint.endswith('memglot = { command = "memglot", args = ["mcp"] }')


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a", "not valid TOML"),
        ("a = 1\na = 2", "not valid TOML"),
        ("mcp_servers = 1", "`mcp_servers` is not a table"),
        ("[[mcp_servers]]\nx = 1\n", "`mcp_servers` is not a table"),
        ("a = " + "[" * 100_000, "nested more than"),
        ("a = " + "1" * 5000, "not valid TOML"),
    ],
)
def test_invalid_toml_is_an_error(text: str, said: str) -> None:
    with pytest.raises(Unreadable) as caught:
        TomlDocument(text, "x.toml").entry(TABLE)
    assert said in str(caught.value)


# Diffs


def shown(document: ConfigDocument, edit: TextEdit) -> list[str]:
    return unified_diff("x", document.text, edit).splitlines()[2:]


def test_a_diff_shows_only_our_lines() -> None:
    document = JsonDocument('{\n  "mcpServers": {\n    "a": {"env": {"KEY": "secret"}}\n  }\n}\n', "x.json")
    edit, _ = document.add(KEYS, {"x": "y"})
    assert shown(document, edit) == [
        "@@ -3,1 +3,4 @@",
        "-    …",
        "+    …,",
        '+    "memglot": {',
        '+      "x": "y"',
        "+    }",
    ]


@given(documents.filter(lambda text: text.strip("\ufeff \t\r\n") != ""))
def test_no_secret_of_another_entry_is_shown(text: str) -> None:
    before = JsonDocument(text, "x.json")
    secret = apply_edit(
        before, before.add(("mcpServers", "other"), {"env": {"KEY": "s3cret"}})[0], ("mcpServers", "other")
    )
    edit, marks = secret.add(KEYS, ENTRY)
    ours = apply_edit(secret, edit, KEYS)
    assert "s3cret" not in unified_diff("x", secret.text, edit)
    assert "s3cret" not in unified_diff("x", ours.text, ours.remove(KEYS, marks))
    assert "s3cret" not in unified_diff("x", ours.text, ours.update(KEYS, OTHER))
    replaced, raw = secret.replace(("mcpServers", "other"), ENTRY)
    assert "s3cret" not in unified_diff("x", secret.text, replaced, hide=["old"])
    other = apply_edit(secret, replaced, ("mcpServers", "other"))
    back = other.restore(("mcpServers", "other"), raw)
    assert "s3cret" not in unified_diff("x", other.text, back, hide=["new"])


def test_members_of_the_user_are_not_shown() -> None:
    entry = '{\n  "command": "memglot",\n  "env": {\n    "KEY": "s3cret"\n  },\n  "args": [],\n  "type": "stdio"\n}'
    document = JsonDocument('{"mcpServers": {\n"memglot": ' + entry + "}}", "x.json")
    assert shown(document, document.update(KEYS, ENTRY)) == [
        "@@ -3,1 +3,1 @@",
        '-  "command": "memglot",',
        '+  "command": "/opt/bin/memglot",',
        "@@ -7,1 +7,5 @@",
        '-  "args": [],',
        '+  "args": [',
        '+    "mcp",',
        '+    "--store",',
        '+    "/home/zoë/store.db"',
        "+  ],",
    ]


@given(tomls())
def test_a_diff_counts_added_and_removed_lines(text: str) -> None:
    document = TomlDocument(text, "x.toml")
    edit, _ = document.add(TABLE, TABLE_ENTRY)
    place, *lines = shown(document, edit)
    added = [line[1:] for line in lines if line[0] == "+"]
    removed = [line for line in lines if line[0] == "-"]
    assert added[-3] == "[mcp_servers.memglot]"
    assert place.split()[1].split(",")[1] == str(len(removed)) and place.split()[2].split(",")[1] == str(len(added))
