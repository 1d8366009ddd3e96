"""Collections on disk behave like those in memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memglot.disk import DiskGroups, DiskList, DiskMap, SortedLines
from memglot.model import Supersession

KEYS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=3)


@given(st.lists(st.tuples(KEYS, st.integers(-5, 5))))
def test_map_and_groups_equal_dicts(pairs: list[tuple[str, int]]) -> None:
    groups: dict[str, list[int]] = {}
    on_disk = DiskGroups()
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
        on_disk.add(key, value)
    with DiskMap(pairs) as found:
        assert dict(found) == dict(pairs)
        assert len(found) == len(dict(pairs))
        assert list(found) == sorted(found, key=lambda key: key.encode())
    assert bool(on_disk) == bool(groups)
    assert all(list(on_disk.get(key)) == values for key, values in groups.items())
    for key in list(groups)[:1]:
        on_disk.discard(key)
        assert list(on_disk.get(key)) == []
    on_disk.close()


def test_list_is_read_while_it_grows() -> None:
    links = [Supersession(newer=f"{n}", older="0", confidence=0.5) for n in range(3)]
    found: DiskList[Supersession] = DiskList(Supersession)
    found.extend(links[:1])
    reader = iter(found)
    assert next(reader) == links[0]
    for link in links[1:]:
        found.append(link)
    assert list(found) == links
    assert list(reader) == links[1:]


def test_lines_come_in_byte_order() -> None:
    lines = SortedLines()
    for number in range(50_010):
        lines.add(f"{number * 7919 % 50_021}".encode())
    assert list(lines) == sorted(f"{number * 7919 % 50_021}".encode() for number in range(50_010))
    assert len(lines) == 50_010
