"""ChatGPT's export: pairs on the current branch, other branches, and invalid trees."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from memglot import Memory
from memglot.formats.base import ReadOptions
from memglot.formats.chatgpt.format import FORMAT, is_conversations_file
from memglot.formats.core.read import read_source
from memglot.formats.core.source import Source
from memglot.formats.syntax.json_shape import first_keys
from memglot.model import Foreign, Record, check_record, derive_id
from memglot.report import Report

START = 1_700_000_000


def text(*parts: Any) -> dict[str, Any]:
    return {"content_type": "text", "parts": list(parts)}


class Chat:
    """Build a conversation message by message."""

    def __init__(self, id: str = "c1", title: str = "Paint") -> None:
        self.mapping: dict[str, Any] = {"root": {"id": "root", "message": None, "parent": None, "children": []}}
        self.last = "root"
        self.value: dict[str, Any] = {
            "title": title,
            "create_time": START,
            "mapping": self.mapping,
            "current_node": "root",
            "conversation_id": id,
        }

    def say(self, key: str, role: str, content: Any, after: str | None = None, **more: Any) -> Chat:
        """Add a message after the last one, or after another."""
        parent = self.last if after is None else after
        content = text(content) if isinstance(content, str) else content
        author = {"role": role, "name": more.pop("name", None), "metadata": {}}
        at = more.pop("at", START + len(self.mapping))
        message = {"id": key, "author": author, "create_time": at, "content": content, "recipient": "all", **more}
        self.mapping[key] = {"id": key, "message": message, "parent": parent, "children": []}
        self.mapping[parent]["children"].append(key)
        self.last = self.value["current_node"] = key
        return self

    def user(self, key: str, content: Any, after: str | None = None, **more: Any) -> Chat:
        return self.say(key, "user", content, after, **more)

    def bot(self, key: str, content: Any, after: str | None = None, **more: Any) -> Chat:
        return self.say(key, "assistant", content, after, **more)


def encoded(*chats: Chat) -> bytes:
    return msgspec.json.encode([chat.value for chat in chats])


def read(*chats: Chat | bytes) -> tuple[list[Record], Report]:
    """Return the validated records in chats or in the text of a file, and the report."""
    given = chats[0] if isinstance(chats[0], bytes) else encoded(*(chat for chat in chats if isinstance(chat, Chat)))
    report = Report()
    found = []
    for item, _ in read_source(Source.text(given), FORMAT, report, ReadOptions()):
        assert isinstance(item, Record)
        check_record(item)
        found.append(item)
    assert len({record.id for record in found}) == len(found)
    return found, report


def contents(*chats: Chat | bytes) -> list[str]:
    return [record.content for record in read(*chats)[0]]


def faults(report: Report) -> list[str]:
    return [str(fault) for fault in report.faults()]


def test_a_question_and_its_answer_are_one_memory() -> None:
    chat = Chat().user("u1", "Which colour?").bot("a1", "Red.", metadata={"model_slug": "gpt-x"})
    (record,), report = read(chat)
    assert record.content == "[user]: Which colour?\n[assistant]: Red."
    assert (record.kind, record.scope, record.tags) == ("episodic", "user", ["Paint"])
    assert (record.created_at, record.updated_at) == ((START + 1) * 10**6, (START + 2) * 10**6)
    assert record.meta == {"conversation_id": "c1", "message_ids": ["u1", "a1"], "model": "gpt-x"}
    assert record.source == {"tool": "chatgpt", "conversation": "c1"}
    assert record.id == derive_id("chatgpt", "", "c1/u1")
    assert record.foreign == [Foreign("chatgpt", "c1/u1")]
    assert (report.notes, faults(report), report.read, report.failed) == ([], [], 1, 0)


def test_what_tools_and_the_system_say_between_does_not_lose_the_answer() -> None:
    chat = Chat().say("s", "system", "").user("u1", "Add").bot("a1", "Let me see.")
    chat.bot("a2", {"content_type": "code", "language": "python", "text": "1 + 1"}, recipient="python")
    chat.say("t1", "tool", {"content_type": "execution_output", "text": "2\n"}, name="python")
    chat.say("t2", "tool", {"content_type": "tether_quote", "title": "Sums", "url": "x:y", "text": "…"}, name="web")
    chat.say("s2", "system", "be brief").bot("a3", "Two.").user("u2", "Thanks")
    found, report = read(chat)
    assert [record.content for record in found] == [
        "[user]: Add\n[assistant]: Let me see.\n\n```python\n1 + 1\n```\n\n```\n2\n```\n\nTwo.",
        "[user]: Thanks",
    ]
    assert found[0].extra["chatgpt"]["context"] == [
        {"role": "tool", "name": "web", "type": "tether_quote", "text": "Sums\nx:y\n…"},
        {"role": "system", "type": "text", "text": "be brief"},
    ]
    assert report.notes == []


def test_questions_without_an_answer_and_answers_without_a_question_are_kept() -> None:
    chat = Chat().bot("a0", "Hello!").user("u1", "one").user("u2", "two").bot("a2", "2")
    found, _ = read(chat)
    assert [record.content for record in found] == [
        "[assistant]: Hello!",
        "[user]: one",
        "[user]: two\n[assistant]: 2",
    ]
    assert found[0].id == derive_id("chatgpt", "", "c1/a0")


def test_branches_are_kept_and_marked_and_not_mixed_in() -> None:
    chat = Chat().user("u1", "Pick a colour").bot("a1", "Red").user("u2", "Why?", "a1").bot("a2", "Warm")
    chat.bot("b1", "Blue", "u1")  # the first answer regenerated
    chat.user("e1", "Pick a shade", "root").bot("f1", "Dark").user("u3", "And now?").bot("a3", "Light")
    found, report = read(chat)
    assert [(record.content, record.meta.get("branch")) for record in found] == [
        ("[user]: Pick a shade\n[assistant]: Dark", None),
        ("[user]: And now?\n[assistant]: Light", None),
        ("[user]: Pick a colour\n[assistant]: Red", True),
        ("[user]: Why?\n[assistant]: Warm", True),
        ("[user]: Pick a colour\n[assistant]: Blue", True),
    ]
    assert [record.foreign[0].id for record in found] == ["c1/e1", "c1/u3", "c1/u1", "c1/u2", "c1/u1/b1"]
    assert (report.notes, faults(report)) == ([], [])


def test_an_answer_that_forks_in_its_middle_repeats_only_the_question() -> None:
    chat = Chat().user("u", "q").bot("a", "start").bot("b", "old end").bot("c", "new end", "a")
    found, _ = read(chat)
    assert [(record.content, record.meta["message_ids"]) for record in found] == [
        ("[user]: q\n[assistant]: start\n\nnew end", ["u", "a", "c"]),
        ("[user]: q\n[assistant]: old end", ["u", "b"]),
    ]


def test_a_current_question_whose_answer_is_on_a_branch_is_reported_once() -> None:
    chat = Chat().user("u", "q").bot("a", "answer")
    chat.value["current_node"] = "u"
    (record,), report = read(chat)
    assert (record.content, record.meta["branch"], report.notes) == ("[user]: q\n[assistant]: answer", True, [])
    assert record.id == derive_id("chatgpt", "", "c1/u")


def test_a_question_is_not_repeated_for_every_branch() -> None:
    chat = Chat().user("u", "x" * 1_000_000)
    for number in range(50):
        chat.bot(f"a{number}", f"answer {number}", "u")
    found, _ = read(chat)
    assert len(found) == 50
    assert sum(len(record.content) for record in found) < 10_000_000
    assert found[-1].content == "[assistant]: answer 48"


def test_hidden_messages_are_marked() -> None:
    chat = Chat().user("u1", "seen").bot("a1", "yes")
    chat.user("u2", "not seen", metadata={"is_visually_hidden_from_conversation": True}).bot("a2", "yes")
    chat.user("u3", "weightless", weight=0.0)
    assert [record.meta.get("hidden") for record in read(chat)[0]] == [None, True, True]


def test_saved_memories_are_semantic_and_not_part_of_the_answer() -> None:
    chat = Chat().user("u1", "I paint").bot("m1", "User paints.", recipient="bio")
    chat.say("t", "tool", "Model set context updated.", name="bio").bot("a1", "Noted.")
    found, report = read(chat)
    assert [(record.kind, record.content) for record in found] == [
        ("episodic", "[user]: I paint\n[assistant]: Noted."),
        ("semantic", "User paints."),
    ]
    assert found[1].foreign == [Foreign("chatgpt", "c1/m1")]
    assert (found[1].tags, found[1].meta["saved"]) == (["Paint"], True)
    assert found[0].extra == {} and report.notes == []


def test_custom_instructions_are_one_memory_however_many_conversations_repeat_them() -> None:
    content = {"content_type": "user_editable_context", "user_profile": "I paint.", "user_instructions": "Be brief."}
    first = Chat("c1").user("i1", content, at=START + 50).user("u1", "a")
    second = Chat("c2").user("i2", content, at=START + 20).user("u2", "b")
    *_, record = read(first, second)[0]
    assert (record.content, record.tags) == ("I paint.\nBe brief.", ["custom instructions"])
    assert record.created_at == (START + 20) * 10**6
    assert read(second, first)[0][-1] == record


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (text("one", "two"), "one\ntwo"),
        (text("", {"content_type": "audio_transcription", "text": "said"}), "\nsaid"),
        (
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"},
                    {
                        "content_type": "real_time_user_audio_video_asset_pointer",
                        "audio_asset_pointer": {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://2"},
                    },
                    "look",
                ],
            },
            "[image: file-service://file-1]\n[audio: sediment://2]\nlook",
        ),
        ({"content_type": "code", "language": "unknown", "text": "a ```` b"}, "`````\na ```` b\n`````"),
        ({"content_type": "execution_output", "text": "3"}, "```\n3\n```"),
        ({"content_type": "tether_browsing_display", "result": "R", "summary": ""}, "R"),
        ({"content_type": "sonic_webpage", "title": "T", "url": "u:v", "text": "x"}, "T\nu:v\nx"),
        ({"content_type": "system_error", "name": "tool_error", "text": "no"}, "tool_error: no"),
        ({"content_type": "citable_code_output", "output_str": "4"}, "4"),
        (
            {"content_type": "computer_output", "screenshot": {"asset_pointer": "sediment://3"}},
            "[file: sediment://3]",
        ),
        ({"content_type": "new_thing", "text": "said"}, "said"),
        ({"content_type": "new_thing", "parts": ["said"]}, "said"),
        ({"content_type": "new_thing", "parts": "said"}, "said"),
    ],
)
def test_each_type_of_content_is_read_by_its_name(content: dict[str, Any], expected: str) -> None:
    (record,), report = read(Chat().user("u", "q").bot("a", content))
    assert record.content == f"[user]: q\n[assistant]: {expected}"
    assert report.notes == []


def test_thoughts_are_kept_apart_from_the_text() -> None:
    chat = Chat().user("u", "q")
    chat.bot("t", {"content_type": "thoughts", "thoughts": [{"summary": "Sum", "content": "one", "chunks": []}]})
    chat.bot("r", {"content_type": "reasoning_recap", "content": "Thought for 2s"}).bot("a", "answer")
    (record,), _ = read(chat)
    assert record.content == "[user]: q\n[assistant]: answer"
    assert record.extra["chatgpt"]["thoughts"] == [
        {"summary": "Sum", "content": "one"},
        {"summary": "Thought for 2s"},
    ]


def test_an_unknown_content_without_text_is_reported() -> None:
    (record,), report = read(Chat().user("u", "q").bot("a", {"content_type": "hologram", "beam": 1}))
    assert record.content == "[user]: q"
    assert report.notes == ["content: found no text in 1 of `hologram`"]


def test_images_of_tools_belong_to_the_answer_and_attachments_are_named() -> None:
    image = {"content_type": "image_asset_pointer", "asset_pointer": "sediment://9"}
    chat = Chat().user("u", "", metadata={"attachments": [{"id": "file-1", "name": "cat.png", "size": 3}]})
    chat.say("t", "tool", {"content_type": "multimodal_text", "parts": [image, "made it"]}, name="dalle.text2im")
    (record,), _ = read(chat)
    assert record.content == "[user]: [file: cat.png]\n[assistant]: [image: sediment://9]"
    assert record.meta["attachments"] == [{"id": "file-1", "name": "cat.png"}, {"id": "sediment://9"}]
    assert record.extra["chatgpt"]["context"][0]["text"] == "[image: sediment://9]\nmade it"


def test_metadata_of_a_conversation_is_kept_with_its_first_memory() -> None:
    chat = Chat().user("u1", "a").user("u2", "b")
    chat.value |= {"gizmo_id": "g-1", "is_archived": True, "voice": None, "plugin_ids": [], "safe_urls": ["x"]}
    first, second = read(chat)[0]
    assert (first.extra, first.meta["archived"]) == ({"chatgpt": {"gizmo_id": "g-1"}}, True)
    assert (second.extra, "archived" in second.meta) == ({}, False)


def test_a_cycle_is_reported_and_all_its_messages_are_read() -> None:
    chat = Chat().user("u1", "a").bot("a1", "b").user("u2", "c")
    chat.mapping["u1"]["parent"] = "u2"
    chat.mapping["lone"] = {"message": None, "parent": "lone", "children": []}
    found, report = read(Chat("c0").user("u", "before"), chat, Chat("c2").user("u", "after"))
    assert [record.content for record in found] == [
        "[user]: before",
        "[user]: a\n[assistant]: b",
        "[user]: c",
        "[user]: after",
    ]
    assert faults(report) == ["content:1: the messages of `Paint` form a cycle; each was read once"]
    assert [fault.item for fault in report.faults()] == [2]


def test_a_missing_parent_starts_a_separate_branch() -> None:
    chat = Chat().user("u1", "a").bot("a1", "b").user("u2", "c").bot("a2", "d")
    chat.mapping["u2"]["parent"] = "gone"
    assert contents(chat) == ["[user]: a\n[assistant]: b", "[user]: c\n[assistant]: d"]
    chat.mapping["a1"]["children"] = []
    found, report = read(chat)
    assert sorted(record.content for record in found) == ["[user]: a\n[assistant]: b", "[user]: c\n[assistant]: d"]
    (note,) = report.notes
    assert "1 conversation has messages whose parent is missing" in note and "`Paint`" in note


def test_null_messages_and_nodes_are_skipped() -> None:
    chat = Chat().user("u1", "a")
    chat.mapping["none"] = {"message": None, "parent": "u1", "children": ["a1"]}
    chat.bot("a1", "b", "none")
    chat.mapping["empty"] = None
    (record,), report = read(chat)
    assert (record.content, report.notes, faults(report)) == ("[user]: a\n[assistant]: b", [], [])


def test_without_a_current_node_the_newest_branch_is_used_with_a_note() -> None:
    chat = Chat().user("u", "q").bot("new", "new", at=START + 90).bot("old", "old", "u", at=START + 80)
    chat.value["current_node"] = "gone"
    found, report = read(chat)
    assert [(record.content[-3:], record.meta.get("branch")) for record in found] == [("new", None), ("old", True)]
    assert "1 conversation has no current message" in report.notes[0]
    # The older answer keeps the id it would have had alone.
    assert [record.foreign[0].id for record in found] == ["c1/u/new", "c1/u"]


def test_fields_of_an_unexpected_type_are_ignored() -> None:
    chat = Chat().user("u1", "a", at="1700000005.5").bot("a1", "b", metadata="none", weight="heavy")
    chat.user("u2", "c").bot("a2", "d")
    chat.mapping["a2"]["message"]["content"] = "bare text"
    chat.mapping["u2"]["message"]["author"] = "user"
    chat.mapping["x"] = 5
    chat.mapping["y"] = {"message": ["?"], "parent": "a2", "children": 7}
    chat.value["title"] = 12
    found, report = read(chat)
    assert [record.content for record in found] == ["[user]: a\n[assistant]: b", "[user]: c\n[assistant]: bare text"]
    assert (found[0].created_at, found[0].tags) == (1_700_000_005_500_000, [])
    assert len(faults(report)) == 2 and all(
        "left out a message that is not an object" in fault for fault in faults(report)
    )
    assert report.notes == ["content: ignored fields of an unexpected type in 4 messages; the other fields were read"]


def test_an_invalid_conversation_fails_alone() -> None:
    good = msgspec.json.encode(Chat().user("u", "fine").value)
    found, report = read(b'[{"title":"x"},{"mapping":[]},7,' + good + b',{"mapping":null}]')
    assert [record.content for record in found] == ["[user]: fine"]
    assert (report.read, report.failed) == (5, 4)
    assert [fault.item for fault in report.faults()] == [1, 2, 3, 5]


def test_conversations_without_messages_are_counted() -> None:
    _, report = read(Chat("a"), Chat("b").say("s", "system", ""), Chat("c").user("u", "x"))
    assert report.notes == ["content: 2 conversations have no messages"]


def test_what_only_tools_say_is_reported_as_left_out() -> None:
    found, report = read(Chat().say("t", "tool", "found", name="web"))
    assert found == []
    assert any("left out 1 message of tools or the system" in note for note in report.notes)


def test_characters_that_cannot_be_stored_are_replaced_with_a_note() -> None:
    whole = encoded(Chat().user("u", "AAA \\\\ud83d \U0001f600").bot("a", "nul BBB"))
    (record,), report = read(whole.replace(b"AAA", b"\\ud83d").replace(b"BBB", b"\\u0000 \\ud83d\\ude00 \\ude00"))
    assert record.content == "[user]: \ufffd \\\\ud83d \U0001f600\n[assistant]: nul \ufffd \U0001f600 \ufffd"
    assert report.notes == ["content: replaced 3 NUL characters or lone surrogates with U+FFFD"]


def test_a_file_that_is_cut_off_gives_what_comes_before() -> None:
    whole = encoded(Chat("c1").user("u", "kept"), Chat("c2").user("u", "cut"))
    found, report = read(whole[:-40])
    assert [record.content for record in found] == ["[user]: kept"]
    assert len(faults(report)) >= 1


def test_a_long_chain_and_many_branches_are_read_in_linear_time() -> None:
    chat = Chat()
    for number in range(5_000):
        chat.user(f"u{number}", f"q{number}").bot(f"a{number}", "yes")
    for number in range(5_000):
        chat.bot(f"b{number}", "no", "a4999")
    assert len(contents(chat)) == 9_999


def test_next_months_export_adds_only_what_is_new(memory: Memory) -> None:
    chat = Chat().user("u1", "Pick").bot("a1", "Red").user("u2", "Why?")
    first = memory.import_from(encoded(chat), format="chatgpt")
    assert (first.imported, first.merged, first.skipped) == (2, 0, 0)
    # The open question is answered, the first answer is regenerated, another conversation begins and comes first.
    chat.bot("a2", "Warm").user("u3", "Ok").bot("b1", "Blue", "u1")
    chat.value |= {"update_time": START + 99, "title": "Painting", "default_model_slug": "gpt-y"}
    text = encoded(Chat("c2", "New").user("n1", "Hi").bot("n2", "Hello"), chat)
    second = memory.import_from(text, format="chatgpt")
    assert (second.imported, second.merged, second.failed) == (3, 2, 0)
    assert not any("conflict" in note for note in second.notes)
    assert sorted(record.content for record in memory.list()) == [
        "[user]: Hi\n[assistant]: Hello",
        "[user]: Ok",
        "[user]: Pick\n[assistant]: Blue",
        "[user]: Pick\n[assistant]: Red",
        "[user]: Why?\n[assistant]: Warm",
    ]
    third = memory.import_from(text, format="chatgpt")
    assert (third.imported, third.merged, third.skipped, third.import_id) == (0, 0, 5, None)


def test_a_continued_conversation_does_not_change_earlier_pairs(memory: Memory) -> None:
    chat = Chat().user("u1", "one").bot("a1", "1")
    memory.import_from(encoded(chat), format="chatgpt")
    chat.user("u2", "two").bot("a2", "2")
    chat.value |= {"update_time": START + 99, "safe_urls": ["x:y"], "default_model_slug": "gpt-y"}
    result = memory.import_from(encoded(chat), format="chatgpt")
    assert (result.imported, result.merged, result.skipped) == (1, 0, 1)


def test_a_memory_that_changes_and_has_a_new_duplicate_keeps_its_change(memory: Memory) -> None:
    first, other = Chat("c1", "b").user("u", "Hi"), Chat("c2", "b").user("u", "Bye")
    memory.import_from(encoded(first, other), format="chatgpt")
    first.bot("a", "Hello!")
    other.value["title"] = "a"
    text = encoded(Chat("c3", "c").user("u", "Hi"), Chat("c4", "c").user("u", "Bye"), first, other)
    result = memory.import_from(text, format="chatgpt")
    assert (result.imported, result.merged, result.skipped) == (1, 2, 1)
    assert sorted((record.content, record.tags) for record in memory.list()) == [
        ("[user]: Bye", ["a", "b", "c"]),
        ("[user]: Hi", ["c"]),
        ("[user]: Hi\n[assistant]: Hello!", ["b"]),
    ]
    assert memory.import_from(text, format="chatgpt").import_id is None


def test_importing_again_says_that_nothing_changed(memory: Memory) -> None:
    # Equal pairs in several conversations are merged, and conversations without a time keep the assigned one.
    chats = [Chat(f"c{number}", title).user("u", "Hi").bot("a", "Hello!") for number, title in enumerate("zayb")]
    timeless = Chat("t").user("u", "When?", at=None).bot("a", "Never.", at=None)
    timeless.value["create_time"] = None
    text = encoded(*chats, timeless)
    first = memory.import_from(text, format="chatgpt")
    assert (first.imported, first.skipped) == (2, 3)
    before = [record for record in memory.list()]
    second = memory.import_from(text, format="chatgpt")
    assert (second.imported, second.merged, second.skipped, second.import_id) == (0, 0, 5, None)
    assert [record for record in memory.list()] == before


def test_the_zip_and_the_shards_of_an_export_are_read_as_one(memory: Memory, tmp_path: Path) -> None:
    files = {
        "conversations-000.json": encoded(Chat("c1").user("u", "one")),
        "conversations-001.json": encoded(Chat("c2").user("u", "two")),
        "user.json": b'{"id":"user-1"}',
        "chat.html": b"<html></html>",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    result = memory.import_from(tmp_path)
    assert (result.imported, result.failed) == (2, 0)
    assert any("chat.html, user.json" in note for note in result.notes)
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"export/{name}", content)
    again = memory.import_from(path)
    assert (again.imported, again.merged, again.skipped, again.failed) == (0, 0, 2, 0)
    assert memory.count() == 2


def test_a_single_conversation_and_one_a_line_are_read_too(memory: Memory, tmp_path: Path) -> None:
    values = [Chat("c1").user("u", "one").value, Chat("c2").user("u", "two").value]
    (tmp_path / "one.json").write_bytes(msgspec.json.format(msgspec.json.encode(values[0]), indent=2))
    (tmp_path / "lines.jsonl").write_bytes(msgspec.json.Encoder().encode_lines(values))
    assert memory.import_from(tmp_path / "one.json").imported == 1
    result = memory.import_from(tmp_path / "lines.jsonl")
    assert (result.imported, result.skipped) == (1, 1)


def test_the_files_of_an_export_are_detected_by_their_names() -> None:
    assert all(map(is_conversations_file, ["conversations.json", "a/conversations-012.json"]))
    others = ["shared_conversations.json", "conversations-x.json", "conversations.jsonl", "a.json"]
    assert not any(map(is_conversations_file, others))


@pytest.mark.parametrize(
    ("head", "keys"),
    [
        (b'{"a":1,"b":{"c":[{}]},"d":"}{,\\"","e":[', {"a": b"1", "b": b"{", "d": b'"', "e": b"["}),
        (b' \n[ {"a" : null , "b\\u0021" : true}, {"z":1}]', {"a": b"n", "b!": b"t"}),
        (b'{"a":{"mapping":{}},"cut', {"a": b"{"}),
        (b'{"a":"never ends, "b', {"a": b'"'}),
        (b'{"a":1}\n{"b":2}', {"a": b"1"}),
        (b'[[{"a":1}]]', {}),
        (b"[]", {}),
        (b"", {}),
        (b'{"\xff":1}', {}),
    ],
)
def test_the_keys_of_the_first_object_are_seen_in_its_first_bytes(head: bytes, keys: dict[str, bytes]) -> None:
    assert first_keys(head) == keys
