"""The product map equals the original tool's, fits its budget, and changes nothing around it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot.project.storage.markers import (
    GUIDANCE,
    MAP,
    Markers,
    apply_section,
    extract_section,
    strip_entries,
    strip_sections,
)
from memglot.project.storage.node import Node
from memglot.project.storage.product_map import MAX_TOKENS, render_map, write_map
from memglot.project.storage.tokens import first_sentence, tokens_of

VECTORS = SHARED / "fixtures" / "repo" / "vectors"
HEADER = "## Product map (generated — do not edit; refresh with memory save or memory sync)"


def node(id: str, **fields: object) -> Node:
    kind, slug = id.split(".")
    status = "open" if kind == "question" else "active"
    known = {"kind": kind, "status": status, "title": slug, "path": f"memory/{slug}.json", "body_path": "x.md"}
    return Node(id, **{**known, **fields})  # type: ignore[arg-type]


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not there")
def test_maps_equal_those_of_the_tool() -> None:
    for case in json.loads((VECTORS / "product_map.json").read_text()):
        nodes = [
            node(
                sidecar["id"],
                status=sidecar["status"],
                title=sidecar["title"],
                updated_at=sidecar["updated_at"],
                stage=sidecar.get("stage"),
                anchors=tuple(sidecar.get("anchors", ())),
                intent=first_sentence(found["body"]),
            )
            for found in case["objects"]
            for sidecar in [found["sidecar"]]
        ]
        dead = [(found["id"], found["orphaned_anchors"]) for found in case.get("anchorFindings", ())]
        assert render_map(nodes, dead) == case["map"], case["name"]


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not there")
def test_sections_equal_those_of_the_tool() -> None:
    for case in json.loads((VECTORS / "marked_section.json").read_text()):
        assert apply_section(case["contents"], MAP, "NEW") == case["applied"].get("contents")
        assert extract_section(case["contents"], MAP) == case["extracted"]


def test_a_map_lists_live_nodes_in_order() -> None:
    nodes = [
        node("project.shop", title="Shop", intent="Sells things"),
        node("feature.cart", stage="shipped", intent="Holds things.", anchors=("src/cart/", "x"), updated_at="2"),
        node("feature.gift", intent="Wraps things.", updated_at="1"),
        node("feature.wish", updated_at="3"),
        node("feature.fax", stage="dead"),
        node("feature.old", status="stale"),
        node("decision.eur", title="Prices are in euros"),
        node("question.vat", title="Who pays VAT?"),
        node("question.done", status="closed"),
        node("gotcha.never-shown"),
    ]
    dead = [("feature.fax", ["src/fax/"]), ("feature.old", ["src/old/"]), ("feature.cart", ["x"])]
    assert render_map(nodes, dead) == (
        f"{HEADER}\nShop — Sells things.\n\n"
        "**Shipped:** cart — Holds things. — src/cart/\n"
        "**Idea:** wish · gift — Wraps things.\n\n"
        "**Recent decisions:** eur — Prices are in euros\n\n"
        "**Open questions:** vat — Who pays VAT?\n\n"
        "**Stale:** feature.fax — anchor src/fax/ matches no files\n"
        "feature.cart — anchor x matches no files"
    )


def test_an_empty_map_contains_a_message() -> None:
    assert render_map([], []).startswith(f"{HEADER}\n\nNo features recorded yet.")
    only = render_map([node("project.shop", title="Shop!")], [])
    assert only.startswith(f"{HEADER}\nShop!\n\nNo features recorded yet.")


def test_decisions_and_questions_are_the_five_newest() -> None:
    nodes = [
        node(f"{kind}.n{number}", updated_at=str(number)) for kind in ("decision", "question") for number in range(8)
    ]
    text = render_map(nodes, [])
    assert "**Recent decisions:** n7 — n7 · n6 — n6 · n5 — n5 · n4 — n4 · n3 — n3\n" in text
    assert text.endswith("**Open questions:** n7 — n7 · n6 — n6 · n5 — n5 · n4 — n4 · n3 — n3")


def test_nodes_of_one_moment_are_in_the_order_of_their_ids() -> None:
    nodes = [node(f"feature.{slug}", updated_at="1") for slug in ("b", "a-9", "a", "a-10")]
    assert render_map(nodes, []).endswith("**Idea:** a · a-10 · a-9 · b")


@given(st.lists(st.integers(0, 60), min_size=100, max_size=140), st.integers(1, 40))
def test_a_map_is_as_full_as_it_can_be(sizes: list[int], title: int) -> None:
    """One more feature would not fit."""
    project = node("project.p", title="é" * title)
    features = [
        node(f"feature.f{number:03}", stage="building" if number < 90 else "idea", intent="🚀" * size)
        for number, size in enumerate(sizes)
    ]
    text = render_map([project, *features], [])
    shown = [found for found in features if f"{found.id.removeprefix('feature.')}" in text]
    assert tokens_of(text) <= MAX_TOKENS and features[: len(shown)] == shown
    if len(shown) < len(features):
        one_more = features[: len(shown) + 1]
        short = [
            node(found.id, stage=found.stage, intent=found.intent if len(found.intent) <= 20 else "🚀" * 19 + "…")
            for found in one_more
        ]
        lines = []
        for stage in ("building", "idea"):
            items = [f"{each.id[8:]} — {each.intent}".removesuffix(" — ") for each in short if each.stage == stage]
            lines += [f"**{stage.capitalize()}:** {' · '.join(items)}"] if items else []
        whole = "\n".join((HEADER, project.title + ".", "", *lines))
        assert tokens_of(whole) > MAX_TOKENS


@pytest.mark.parametrize("count", [25, 45, 58, 70, 3_000])
def test_a_map_drops_what_matters_least(count: int) -> None:
    stages = ("building", "shipped", "paused", "idea")
    sentence = "This feature does a great many things, and all of them for everybody 🚀."
    features = [
        node(f"feature.f{number:05}", stage=stages[number % 4], intent=sentence, updated_at=f"{number:05}")
        for number in range(count)
    ]
    others = [node("decision.kept", title="d" * 200), node("question.asked", title="q" * 200)]
    text = render_map([*features, *others], [("decision.kept", ["a" * 200])])
    assert tokens_of(text) <= MAX_TOKENS
    present = [found.id for found in features if found.id.removeprefix("feature.") in text]
    has_stale, has_questions, has_decisions = "**Stale" in text, "**Open" in text, "**Recent" in text
    assert (has_stale <= has_questions <= has_decisions) and (not has_decisions or len(present) == count)
    if len(present) < count:
        # Complete stages are dropped from the last upward; within a stage, the oldest are dropped first.
        rank = {found.id: (stages.index(found.stage or ""), -int(found.updated_at)) for found in features}
        assert sorted(present, key=rank.__getitem__) == sorted(rank, key=rank.__getitem__)[: len(present)]


def test_all_steps_of_dropping_are_used() -> None:
    """Each further feature drops the next part; the sizes above would not detect a single large step."""

    def shape(count: int) -> tuple[bool, bool, bool, bool]:
        features = [node(f"feature.f{number:05}", intent="x" * 79 + ".") for number in range(count)]
        others = [node("decision.kept", title="d" * 200), node("question.asked", title="q" * 200)]
        text = render_map([*features, *others], [("decision.kept", ["a" * 200])])
        return "**Stale" in text, "**Open" in text, "**Recent" in text, "x" * 79 in text

    assert list(dict.fromkeys(shape(count) for count in range(20, 120))) == [
        (True, True, True, True),
        (False, True, True, True),
        (False, False, True, True),
        (False, False, True, False),
        (False, False, False, False),
    ]


def test_the_text_of_a_node_cannot_break_the_section() -> None:
    hostile = "Nice <!-- memory:map:end --> and\n<!-- memory:start --> more."
    nodes = [node("feature.x", intent=hostile, anchors=(hostile,)), node("decision.y", title=hostile)]
    text = render_map(nodes, [("decision.y", [hostile])])
    contents = apply_section("Before.\n", MAP, text)
    assert contents is not None and extract_section(contents, MAP) == text
    assert strip_sections(contents) == "Before."


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("# Title\n\nFirst one. Second.", "First one."),
        ("Is v1.2.3 out? Yes.", "Is v1.2.3 out?"),
        ("no end\nhere", "no end here"),
        ("\ufeff# T\r\n  spaced \t out!  next", "spaced out!"),
        ("# only", ""),
        ("one\u2028# two. Three.", "one # two."),
        ("", ""),
    ],
)
def test_the_first_sentence(body: str, sentence: str) -> None:
    assert first_sentence(body) == sentence


def test_a_text_without_end_is_cut() -> None:
    assert len(first_sentence("word " * 10_000)) <= 1_000


LINES = st.lists(st.sampled_from(["", "a", "b c", "# d", "é🚀"]), max_size=6)
BODIES = st.sampled_from(["NEW", "one\ntwo", "", "é"])


@given(LINES, st.sampled_from(["\n", "\r\n"]), BODIES, BODIES, st.sampled_from([MAP, GUIDANCE]))
def test_only_the_section_changes(lines: list[str], end: str, first: str, second: str, markers: Markers) -> None:
    contents = end.join(lines)
    once = apply_section(contents, markers, first)
    assert once is not None and extract_section(once, markers) == first
    assert apply_section(once, markers, first) == once
    again = apply_section(once, markers, second, append=False)
    assert again is not None and extract_section(again, markers) == second
    assert apply_section(again, markers, first) == once
    assert strip_sections(once) == strip_sections(again) == strip_sections(contents)
    assert apply_section(contents, markers, first, append=False) is None


@pytest.mark.parametrize("contents", [f"{MAP.end}{MAP.start}", f"{MAP.start}{MAP.start}{MAP.end}", MAP.start])
def test_unpaired_markers_are_not_changed(contents: str) -> None:
    assert apply_section(contents, MAP, "NEW") is None and extract_section(contents, MAP) is None


def test_entries_of_ours_are_not_theirs() -> None:
    assert strip_entries("node_modules\r\n\n.memory/index/\n .memory/.lock\n") == "node_modules"


def page(body: str, end: str = "\n") -> bytes:
    return end.join(("Mine.", "", MAP.start, body, MAP.end, "", "Also mine.", "")).encode()


def test_the_map_is_refreshed_where_it_differs(tmp_path: Path) -> None:
    agents, claude = tmp_path / "AGENTS.md", tmp_path / "CLAUDE.md"
    agents.write_bytes(page("old", "\r\n"))
    agents.chmod(0o644)
    claude.write_bytes(page("new"))
    before = claude.stat()
    assert write_map(tmp_path, "new") == []
    assert agents.read_bytes() == page("new", "\r\n") and stat.S_IMODE(agents.stat().st_mode) == 0o644
    assert (claude.stat().st_ino, claude.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert sorted(found.name for found in tmp_path.iterdir()) == ["AGENTS.md", "CLAUDE.md"]


def test_invalid_utf8_survives_a_refresh(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(b"\xff\xfe " + page("old"))
    write_map(tmp_path, "new")
    assert (tmp_path / "AGENTS.md").read_bytes() == b"\xff\xfe " + page("new")


def test_files_without_markers_cause_a_warning(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Mine.\n")
    assert write_map(tmp_path, "new") == [
        "AGENTS.md was not refreshed because Memory map markers are missing or ambiguous. "
        "Run `memglot repo init` to install them.",
    ]
    assert (tmp_path / "AGENTS.md").read_text() == "Mine.\n"


def test_a_missing_file_is_only_missed_where_the_other_has_the_map(tmp_path: Path) -> None:
    assert write_map(tmp_path, "new") == []
    (tmp_path / "CLAUDE.md").write_bytes(page("old"))
    assert write_map(tmp_path, "new") == [
        "AGENTS.md was not refreshed because the file is missing. Run `memglot repo init` to install it."
    ]
    assert (tmp_path / "CLAUDE.md").read_bytes() == page("new")


def test_a_folder_in_place_of_a_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").mkdir()
    (tmp_path / "CLAUDE.md").write_bytes(page("old"))
    assert write_map(tmp_path, "new") == ["AGENTS.md was not refreshed: it is not a file."]


def test_custom_text_causes_no_warning(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Run `memglot repo save` often.\n")
    assert write_map(tmp_path, "new") == []


def test_a_link_within_the_project_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_bytes(page("old"))
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert write_map(tmp_path, "new") == []
    assert (tmp_path / "CLAUDE.md").is_symlink() and (tmp_path / "AGENTS.md").read_bytes() == page("new")


def test_a_file_with_two_names_causes_one_warning(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("Mine.\n")
    (tmp_path / "CLAUDE.md").symlink_to("AGENTS.md")
    assert len(write_map(tmp_path, "new")) == 1


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (tmp_path / "outside.md").write_bytes(page("old"))
    (root / "AGENTS.md").symlink_to("../outside.md")
    (root / "CLAUDE.md").symlink_to("nowhere.md")
    warnings = write_map(root, "new")
    assert "outside of the project" in warnings[0] and "is missing" in warnings[1]
    assert (tmp_path / "outside.md").read_bytes() == page("old")


def test_a_file_that_cannot_be_written_causes_a_warning(tmp_path: Path) -> None:
    for name in ("AGENTS.md", "CLAUDE.md"):
        (tmp_path / name).write_bytes(page("old"))
    code = (
        "import resource, sys; from pathlib import Path; from memglot.project.storage.product_map import write_map;"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1)); print(write_map(Path(sys.argv[1]), 'new'))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.count("was not refreshed: File too large") == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["AGENTS.md", "CLAUDE.md"]
    assert (tmp_path / "AGENTS.md").read_bytes() == page("old")


@pytest.mark.parametrize(
    ("guidance", "before", "ours"),
    [
        (f"{GUIDANCE.start}\n`memglot repo sync`\n{GUIDANCE.end}\n", HEADER, True),
        (f"{GUIDANCE.start}\nRun `memory save --stdin`.\n{GUIDANCE.end}\n", "", False),
        (f"{GUIDANCE.start}\nRun `memory sync`.\n{GUIDANCE.end}\n", HEADER, False),
        ("", HEADER, False),
        ("", "", True),
        ("My own words.\n", "## My map", True),
    ],
)
def test_a_map_names_the_commands_of_the_program_that_made_the_store(
    tmp_path: Path, guidance: str, before: str, ours: bool
) -> None:
    path = tmp_path / "AGENTS.md"
    path.write_text(f"{guidance}{MAP.start}\n{before}\n{MAP.end}\n")
    (tmp_path / "CLAUDE.md").symlink_to(path)
    assert write_map(tmp_path, render_map([], [])) == []
    text = path.read_text()
    ours_words = ("refresh with memglot repo sync)", "`memglot repo init --brief`")
    assert [word in text for word in ours_words] == [ours, ours]
    assert (HEADER in text, "`memory init --brief`" in text) == (not ours, not ours)
    written = path.stat().st_mtime_ns
    write_map(tmp_path, render_map([], []))
    assert path.stat().st_mtime_ns == written
