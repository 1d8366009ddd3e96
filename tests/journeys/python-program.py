"""Someone who writes a program: add, find, import and export memories from Python."""

from pathlib import Path

from memglot import MemglotError, Memory

Path("notes.csv").write_text("content,tags\nAda prefers tea,people\nThe office closes at six,office\n")

with Memory.open("team.db") as memory:
    # Add one memory, and import the others.
    added = memory.add("Deploys run on Tuesdays", tree="work.deploys", tags=["ops"])
    result = memory.import_from("notes.csv")
    assert (result.imported, result.failed) == (2, 0)

    # Find them again, with the reason why.
    hits = memory.search("who likes tea?", limit=3)
    first = next(iter(hits))
    assert first.content == "Ada prefers tea", first
    print(first.score, first.content, first.why)

    # Ask for as much as fits into a prompt.
    block = memory.search("office hours", budget=500).block
    assert block and "The office closes at six" in block

    # Change one; its history keeps what it said before.
    memory.update(added.id, content="Deploys run on Wednesdays")
    versions, _ = memory.history(added.id)
    said = [version.record.content for version in versions if version.record]
    assert said == ["Deploys run on Tuesdays", "Deploys run on Wednesdays"]

    # Errors say what went wrong, and what to do next.
    try:
        memory.get("no-such-id")
    except MemglotError as error:
        print(error, "·", error.hint)

    # Take everything with you.
    memory.export("vault", format="markdown")

assert len(list(Path("vault").rglob("*.md"))) == 3
