"""Anchors are globs relative to the repository, matched as the original tool does, and never make a command hang."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import SHARED
from memglot.project.storage.anchors import Files, check_anchors, normalize_anchor
from memglot.project.storage.errors import ProjectError
from memglot.project.storage.globs import Glob, compile_glob, is_glob, literal_prefix
from memglot.project.storage.tokens import check_budget, cut, tokens_of, units_of

VECTORS = SHARED / "fixtures" / "repo" / "vectors"
FILES = [
    "src/a.ts",
    "src/b.ts",
    "src/.hidden.ts",
    "src/api/x.ts",
    "src/api/v1/y.ts",
    "src/api.ts",
    "src/apix/z.ts",
    "src/été/ß.ts",
    "docs/guide.md",
    "README.md",
    "a b/c'd\"e.ts",
    "app/(shop)/page.tsx",
    "app/[id]/page.tsx",
    "app/[...all]/page.tsx",
    "app/i/page.tsx",
    "odd/new\nline.ts",
]
CASES = {
    "src/api/": ["src/api/v1/y.ts", "src/api/x.ts"],
    "src/api": ["src/api/v1/y.ts", "src/api/x.ts"],
    "./src/a.ts": ["src/a.ts"],
    "src/a.ts/": ["src/a.ts"],
    "src/*.ts": ["src/.hidden.ts", "src/a.ts", "src/api.ts", "src/b.ts"],
    "src/api/**/*.ts": ["src/api/v1/y.ts", "src/api/x.ts"],
    "src/api/**": ["src/api/v1/y.ts", "src/api/x.ts"],
    "src/a.ts/**": ["src/a.ts"],
    "**/y.ts": ["src/api/v1/y.ts"],
    "**/v1/**": ["src/api/v1/y.ts"],
    "src/**/**/y.ts": ["src/api/v1/y.ts"],
    "src/a**i.ts": ["src/api.ts"],
    "src/?.ts": ["src/a.ts", "src/b.ts"],
    "src/[!a].ts": ["src/b.ts"],
    "src/[^a].ts": ["src/b.ts"],
    "src/[a-b].ts": ["src/a.ts", "src/b.ts"],
    "src/[ab": [],
    "src/{a,b}.ts": ["src/a.ts", "src/b.ts"],
    "src/{a,{b,api/x}}.ts": ["src/a.ts", "src/api/x.ts", "src/b.ts"],
    "src/api/v{1..3}/": [],
    "src/api/v{1..3}/*": ["src/api/v1/y.ts"],
    "src/{a..b}.ts": ["src/a.ts", "src/b.ts"],
    "src/{a}.ts": [],
    "src/!(a|b).ts": ["src/.hidden.ts", "src/api.ts"],
    "src/?(a).ts": ["src/a.ts"],
    "src/+(a|p|i).ts": ["src/a.ts", "src/api.ts"],
    "src/*(a|p|i).ts": ["src/a.ts", "src/api.ts"],
    "src/@(a|b).ts": ["src/a.ts", "src/b.ts"],
    "src/(a|b).ts": ["src/a.ts", "src/b.ts"],
    "src/**/!(x|*.md|y).ts": [
        "src/.hidden.ts",
        "src/a.ts",
        "src/api.ts",
        "src/apix/z.ts",
        "src/b.ts",
        "src/été/ß.ts",
    ],
    "!(src|app|odd|a b)/**": ["README.md", "docs/guide.md"],
    "!**/*.ts": [
        "README.md",
        "app/(shop)/page.tsx",
        "app/[...all]/page.tsx",
        "app/[id]/page.tsx",
        "app/i/page.tsx",
        "docs/guide.md",
    ],
    "!src/a.ts": [],
    "src/été/": ["src/été/ß.ts"],
    "a b/": ["a b/c'd\"e.ts"],
    "odd/*": ["odd/new\nline.ts"],
    "SRC/a.ts": [],
    "app/(shop)/": ["app/(shop)/page.tsx"],
    "app/(shop)/**": ["app/(shop)/page.tsx"],
    "app/[id]/page.tsx": ["app/[id]/page.tsx", "app/i/page.tsx"],
    "app/[id]": ["app/[id]/page.tsx"],
    "app/[...all]/*": ["app/[...all]/page.tsx"],
    "app/*/page.tsx": ["app/(shop)/page.tsx", "app/[...all]/page.tsx", "app/[id]/page.tsx", "app/i/page.tsx"],
    "**": sorted(FILES),
}


@pytest.mark.parametrize("anchor", CASES)
def test_an_anchor_matches_files(anchor: str) -> None:
    files = Files(FILES)
    assert files.matches(anchor) == CASES[anchor]
    assert Files(FILES).any(anchor) is bool(CASES[anchor])


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not there")
def test_anchors_match_as_in_the_tool() -> None:
    vectors = json.loads((VECTORS / "anchors.json").read_text())
    files = Files(vectors["files"])
    for case in vectors["cases"]:
        normal, reason = None, None
        try:
            normal = normalize_anchor(case["anchor"])
        except ValueError as error:
            reason = str(error)
        assert (normal, reason) == (case["normalized"], case["error"])
        if normal is not None:
            assert files.matches(normal) == sorted(case["matches"]), case["anchor"]


@pytest.mark.parametrize(
    ("anchor", "reason"),
    [
        (" ", "non-empty"),
        ("a\x00b", "control"),
        ("a\nb", "control"),
        ("a\\b", "backslashes"),
        ("https://x/y", "URL"),
        ("/etc/passwd", "absolute"),
        (".//etc", "absolute"),
        ("C:/x", "absolute"),
        ("./", "inside the repository"),
        (".", "inside the repository"),
        ("a/../../b", "`..`"),
        ("..", "`..`"),
        (".memory", ".memory/"),
        ("./.memory/config.json", ".memory/"),
        ("a" * 1_001, "1,000 characters"),
        ("{a,b,c}" * 8, "1,000 patterns"),
        ("{1..5000}", "1,000 patterns"),
        ("{1..999}" + "?" * 500, "1,000 patterns"),
        ("@(" * 100 + "a" + ")" * 100, "1,000 patterns"),
    ],
)
def test_an_invalid_anchor_is_refused_with_the_reason(anchor: str, reason: str) -> None:
    with pytest.raises(ValueError, match=re.escape(reason)):
        normalize_anchor(anchor)
    with pytest.raises(ProjectError) as error:
        check_anchors(["src/", anchor], "/changes/3/anchors")
    assert error.value.code == "MemoryValidationFailed"
    assert str(error.value) == "Anchors must be repo-relative glob strings."
    details: dict[str, Any] = error.value.details or {}
    assert details["field"] == "/changes/3/anchors"
    assert [(issue["path"], issue["field"]) for issue in details["issues"]] == [("<patch>", "/changes/3/anchors/1")]


def test_anchors_are_trimmed_and_deduplicated() -> None:
    assert check_anchors([" ./src/ ", "src/", "b"], "/changes/0/anchors") == ["src/", "b"]


@pytest.mark.parametrize(
    "anchor",
    [
        "*a" * 100 + "*b",
        "**/" * 60 + "*a*a*a*a*a*a*c",
        "**/a*/" * 40 + "*c",
        "[a-z]*" * 100 + "!",
        "*(*(*(a|aa)|a)|b)c",
        "!(!(!(a*)))*!(b)c",
        "*(!(a)|!(b)|*(a)|+(aa|a))" * 10 + "c",
        "{a,{b,c}}" * 6 + "c",
        "{a,b,c}" * 8,
        "{1..1000000000}",
        "(" * 300 + "a" + ")" * 300,
        "((((((((((",
        "[id]" * 30 + "c",
    ],
)
def test_no_anchor_is_slow_to_match(anchor: str) -> None:
    """Each of these would run for years in a backtracking matcher."""
    files = Files(["a" * 250, "a/" * 100 + "a", *("a" * 100 + str(number) for number in range(100))])
    assert not files.any(anchor) and files.matches(anchor) == []


def test_a_glob_that_exceeds_its_steps_does_not_match(monkeypatch: pytest.MonkeyPatch) -> None:
    path = "ab" * 20 + "c"
    assert Glob("*(a|b)c").matches(path)
    monkeypatch.setattr("memglot.project.storage.glob_matcher.MAX_STEPS", 50)
    assert not Glob("*(a|b)c").matches(path) and Glob("*(a|b)c").matches("ac")


def test_a_glob_that_is_too_large_matches_only_its_own_text() -> None:
    large = "{a,b,c}" * 8
    assert compile_glob(large) is None
    assert Files([large, "aaaaaaaa"]).matches(large) == [large]


def test_brackets_that_may_be_names_are_classes_alone_where_they_are_many() -> None:
    many = "[ab]" * 12
    assert Files(["a" * 12, many]).matches(many) == sorted(["a" * 12, many])


def test_a_submodule_that_is_not_checked_out_matches_paths_in_it() -> None:
    files = Files(["a.ts", "lib/sub"], opaque=["lib/sub"])
    assert files.matches("lib/sub/x/y.ts") == files.matches("lib/sub/**/*.c") == files.matches("lib/") == ["lib/sub"]
    assert files.any("lib/sub/x") and not files.any("lib/other/x") and not files.any("lib/subx/*")


def test_names_and_prefixes_of_globs() -> None:
    assert literal_prefix("src/api/*.ts") == "src/api/" and literal_prefix("src/a+(b)/c") == "src/"
    assert literal_prefix("*.ts") == "" and literal_prefix("src/a.ts") == "src/a.ts"
    assert Glob("src/**/{a,b}.ts").names == frozenset({"a.ts", "b.ts"}) and Glob("src/*.ts").names is None
    assert not is_glob("src/+x@y!.ts") and is_glob("src/@(x)")


SIGN = st.sampled_from("ab/.")
PATHS = st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join)
SEGMENTS = st.lists(st.sampled_from(["a", "b", ".", "*", "?", "[a.]", "[!a]"]), min_size=1, max_size=5).map("".join)
GLOBS = st.lists(SEGMENTS.filter(lambda text: "**" not in text) | st.just("**"), min_size=1, max_size=5).map("/".join)


def slow_match(glob: list[str], path: list[str]) -> bool:
    """Match by the rules of globs in their simplest form: segment by segment, with backtracking."""
    if not glob:
        return not path
    if glob[0] == "**":
        return slow_match(glob[1:], path) or (bool(path) and slow_match(glob, path[1:]))
    pattern = re.escape(glob[0]).replace(r"\*", ".*").replace(r"\?", ".")
    pattern = pattern.replace(re.escape("[a.]"), "[a.]").replace(re.escape("[!a]"), "[^a]")
    return bool(path) and re.fullmatch(pattern, path[0]) is not None and slow_match(glob[1:], path[1:])


@given(GLOBS, PATHS)
def test_a_glob_matches_what_its_rules_say(glob: str, path: str) -> None:
    expected = slow_match(glob.split("/"), path.split("/"))
    assert Glob(glob).matches(path) == expected
    # The matcher for groups follows the same rules.
    assert Glob(f"{glob}*(x)").matches(path) == expected or glob.endswith("**")


@given(GLOBS, st.lists(PATHS, max_size=8))
def test_any_and_matches_agree(anchor: str, paths: list[str]) -> None:
    files = Files(paths)
    assert files.any(anchor) == bool(files.matches(anchor))
    assert set(files.matches(anchor)) >= {path for path in paths if Glob(anchor).matches(path)}


@given(st.text(), st.integers(0, 12))
def test_a_cut_is_a_beginning_that_fits(text: str, units: int) -> None:
    found = cut(text, units)
    assert text.startswith(found) and units_of(found) <= units
    rest = text[len(found) :]
    assert not rest or units_of(found + rest[0]) > units


def test_tokens_are_quarters_of_units() -> None:
    assert [tokens_of(text) for text in ("", "a", "abcd", "abcde", "é", "🚀🚀🚀", "日本語です")] == [
        0,
        1,
        1,
        2,
        1,
        2,
        2,
    ]


@pytest.mark.parametrize("value", [500, 0, -1, 501.5, True, "2000", None])
def test_a_budget_that_holds_no_answer_is_refused(value: object) -> None:
    with pytest.raises(ProjectError, match="Token budget must be an integer greater than 500") as error:
        check_budget(value)
    assert error.value.details == {
        "field": "token_budget",
        "minimumExclusive": 500,
        "maximum": 50_000,
        "actual": value,
    }


def test_a_budget_is_capped() -> None:
    assert [check_budget(value) for value in (501, 2000, 50_000, 50_001)] == [501, 2000, 50_000, 50_000]


@pytest.mark.skipif(not VECTORS.exists(), reason="the shared vectors are not there")
def test_tokens_are_those_of_the_tool() -> None:
    vectors = json.loads((VECTORS / "tokens.json").read_text())
    assert [tokens_of(case["text"]) for case in vectors["cases"]] == [case["tokens"] for case in vectors["cases"]]
    for case in vectors["budgets"]:
        try:
            assert check_budget(case["budget"]) == case["result"]["data"]["tokenTarget"]
        except ProjectError as error:
            found = {"code": error.code, "message": str(error), "details": error.details}
            assert found == case["result"]["error"]
