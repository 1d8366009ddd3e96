"""Text for messages: shortened, quoted, counted."""

from memglot.display import excerpt, first_few, one_line, plural, quoted, shorten


def test_plural_adds_the_right_ending() -> None:
    assert plural(1, "memory") == "1 memory"
    assert plural(0, "memory") == "0 memories"
    assert plural(1_200, "key") == "1,200 keys"
    assert plural(2, "memory has", "memories have") == "2 memories have"


def test_long_texts_are_cut_to_their_length() -> None:
    assert shorten("a" * 60) == "a" * 60
    assert shorten("a" * 61) == "a" * 57 + "..."
    assert quoted("x\ny") == "`x\\ny`"
    assert excerpt("a\n  b " + "c" * 100, 10) == "a b ccccc…"


def test_line_breaks_are_escaped_and_other_scripts_kept() -> None:
    assert one_line("größe\u2028日本") == "größe\\u2028日本"


def test_a_list_of_names_ends_with_an_ellipsis() -> None:
    assert first_few(["a", "b"]) == "a, b"
    assert first_few(list("abcdef")) == "a, b, c, d, e, ..."
