"""Many processes that write and read one store at once; their histories are checked afterwards.

Each worker adds memories, changes its own, reads them back and deletes some, and writes down what was acknowledged.
Workers in Python, for which a read costs no process and no message, read many of their memories at a time.
All of them also change one shared memory, and import pairs of memories that must never be seen apart. A coordinator
consolidates, undoes imports, makes backups and restores one while all workers pause.
"""

from __future__ import annotations

import json
import multiprocessing
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp_agent import agent, command, listening, over_http
from memglot import Memory
from memglot.errors import LockedStore

SHARED = "0194c000-0000-7000-8000-000000000000"
MIX = {"python": 14, "command line": 6, "stdio": 7, "http": 5}
"""Number of workers for each way to reach the store: 32 together."""
READS = {"python": 200}
"""Number of memories that a worker reads at a time; 1 for other ways."""
_PAUSE, _PAUSED, _STOP = "pause", "paused", "stop"


@dataclass
class History:
    """What one worker knows to be stored."""

    name: str
    texts: dict[str, str] = field(default_factory=dict)
    """The last acknowledged text of each of its memories."""
    deleted: list[str] = field(default_factory=list)
    shared: list[str] = field(default_factory=list)
    """The texts that it gave the shared memory."""
    wrong: list[str] = field(default_factory=list)
    operations: int = 0
    writes: int = 0
    """Number of acknowledged operations that changed the store."""
    refused: Counter[str] = field(default_factory=Counter)

    def save(self, folder: Path) -> None:
        """Write the history to a file."""
        (folder / f"{self.name}.json").write_text(json.dumps(self.__dict__))


class Client:
    """One way to reach the store: a Python object, or a call of a tool or command."""

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def add(self, text: str) -> str:
        """Add a memory and return its id."""
        return str(self._call("add", text=text)["id"])

    def update(self, id: str, text: str) -> None:
        """Change the text of a memory."""
        self._call("update", id=id, text=text)

    def get(self, id: str) -> str:
        """Return the text of a memory."""
        return str(self._call("get", id=id)["content"])

    def delete(self, id: str) -> None:
        """Delete a memory."""
        self._call("delete", id=id)

    def pair(self, name: str) -> None:
        """Import two memories that belong together."""
        self._call("pair", name=name)


def _pair(name: str) -> bytes:
    lines = [{"content": f"{name} {side}", "meta": {"pair": name}, "tree": "pairs"} for side in ("left", "right")]
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


@contextmanager
def _python(store: str, _: str) -> Iterator[Client]:
    with Memory.open(store) as memory:

        def call(operation: str, **values: str) -> Any:
            match operation:
                case "add":
                    return {"id": memory.add(values["text"]).id}
                case "update":
                    memory.update(values["id"], content=values["text"])
                case "get":
                    return {"content": memory.get(values["id"]).content}
                case "delete":
                    memory.delete(values["id"])
                case "pair":
                    result = memory.import_from(_pair(values["name"]), format="ndjson")
                    assert result.imported == 2, result
                    _check_pairs(memory)

        yield Client(call)


def _check_pairs(memory: Memory) -> None:
    """Assert that one reading shows both sides of every pair."""
    seen = Counter(record.meta["pair"] for record in memory.list(tree="pairs"))
    torn = [name for name, count in seen.items() if count != 2]
    assert not torn, f"pairs were seen apart: {torn[:3]}"


@contextmanager
def _command_line(store: str, _: str) -> Iterator[Client]:
    def run(*arguments: str, data: bytes | None = None) -> Any:
        found = subprocess.run(
            [sys.executable, "-m", "memglot", "--store", store, "--json", *arguments], input=data, capture_output=True
        )
        assert found.returncode == 0, found.stdout[-400:] + found.stderr[-400:]
        return json.loads(found.stdout)

    def call(operation: str, **values: str) -> Any:
        match operation:
            case "add":
                return run("add", values["text"])
            case "update":
                return run("update", values["id"], "--content", values["text"])
            case "get":
                return run("get", values["id"])
            case "delete":
                return run("delete", values["id"])
            case "pair":
                return run("import", "-", "--format", "ndjson", data=_pair(values["name"]))

    yield Client(call)


def _over_mcp(target: Any) -> AbstractContextManager[Client]:
    @contextmanager
    def connected() -> Iterator[Client]:
        with agent(target()) as found:

            def call(operation: str, **values: str) -> Any:
                match operation:
                    case "add":
                        return found.call("me_memory_create", content=values["text"])
                    case "update":
                        return found.call("me_memory_update", id=values["id"], content=values["text"])
                    case "get":
                        return found.call("me_memory_get", id=values["id"])
                    case "delete":
                        return found.call("me_memory_delete", id=values["id"])
                    case "pair":
                        content = _pair(values["name"]).decode()
                        return found.call("me_memory_import", content=content, format="ndjson")

            yield Client(call)

    return connected()


def _stdio(store: str, _: str) -> AbstractContextManager[Client]:
    return _over_mcp(lambda: command(store))


def _http(_: str, url: str) -> AbstractContextManager[Client]:
    return _over_mcp(lambda: over_http(url))


_WAYS: dict[str, Callable[[str, str], AbstractContextManager[Client]]] = {
    "python": _python,
    "command line": _command_line,
    "stdio": _stdio,
    "http": _http,
}


def work(way: str, number: int, store: str, url: str, folder: Path) -> None:
    """Write and read until the file `stop` appears; write the history to a file."""
    history = History(f"{way} {number}")
    source = random.Random(history.name)
    with ExitStack() as stack:
        client = stack.enter_context(_WAYS[way](store, url))
        while not (folder / _STOP).exists():
            if (folder / _PAUSE).exists():
                stack.close()
                (folder / f"{history.name}.{_PAUSED}").touch()
                while (folder / _PAUSE).exists():
                    time.sleep(0.02)
                (folder / f"{history.name}.{_PAUSED}").unlink()
                client = stack.enter_context(_WAYS[way](store, url))
            try:
                _operate(client, history, source, READS.get(way, 1))
            except AssertionError as error:
                history.wrong.append(str(error)[:600])
            except LockedStore:
                history.refused["locked"] += 1
    history.save(folder)


def _operate(client: Client, history: History, source: random.Random, reads: int) -> None:
    """Make one random operation, or some reads; what it changed is known only once it is acknowledged."""
    number, own = history.operations, sorted(history.texts)
    choice = source.random()
    if own and 0.65 <= choice < 0.80:
        for id in source.choices(own, k=reads):
            found = client.get(id)
            assert found == history.texts[id], f"{id}: {found!r} was read instead of {history.texts[id]!r}"
            history.operations += 1
        return
    if not own or choice < 0.45:
        text = f"{history.name} note {number}: {' '.join(source.choices('alpha beta gamma delta'.split(), k=8))}"
        history.texts[client.add(text)] = text
    elif choice < 0.65:
        id, text = source.choice(own), f"{history.name} changed {number}"
        client.update(id, text)
        history.texts[id] = text
        assert client.get(id) == text, f"{id} was read with an earlier text"
        history.operations += 1
    elif choice < 0.87:
        id = source.choice(own)
        client.delete(id)
        del history.texts[id]
        history.deleted.append(id)
    elif choice < 0.94:
        text = f"shared, by {history.name}, {number}"
        client.update(SHARED, text)
        history.shared.append(text)
    else:
        client.pair(f"{history.name} {number}")
    history.operations += 1
    history.writes += 1


@dataclass
class Findings:
    """The result of a run."""

    operations: int
    writes: int
    wrong: list[str]


def run(folder: Path, seconds: float, mix: dict[str, int] = MIX) -> Findings:
    """Let all workers run, disturb them, stop them, and check their histories against the store."""
    store = folder / "store.db"
    with Memory.open(store) as memory:
        memory.add("shared", id=SHARED)
    context = multiprocessing.get_context("spawn")
    with listening(store, cwd=folder) as (url, _):
        workers = [
            context.Process(target=work, args=(way, number, str(store), url, folder))
            for way, count in mix.items()
            for number in range(count)
        ]
        for worker in workers:
            worker.start()
        wrong = _disturb(folder, store, seconds, len(workers))
        (folder / _STOP).touch()
        for worker in workers:
            worker.join(120)
            if worker.exitcode != 0:
                wrong.append(f"a worker ended with {worker.exitcode}")
                worker.kill()
    histories = [History(**json.loads(path.read_text())) for path in sorted(folder.glob("*.json"))]
    if len(histories) != len(workers):
        wrong.append(f"{len(histories)} of {len(workers)} workers wrote a history")
    wrong += [f"{history.name}: {text}" for history in histories for text in history.wrong]
    wrong += check(store, histories)
    return Findings(sum(one.operations for one in histories), sum(one.writes for one in histories), wrong)


def _memglot(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "memglot", "--store", str(store), *arguments], capture_output=True, text=True
    )


def _disturb(folder: Path, store: Path, seconds: float, workers: int) -> list[str]:
    """Run maintenance next to the workers: nothing that it does may lose what they wrote."""
    wrong: list[str] = []
    until = time.monotonic() + seconds
    extra = folder / "extra.ndjson"
    extra.write_bytes(b"".join(_pair(f"extra {number}") for number in range(300)))

    def must(*arguments: str, codes: tuple[int, ...] = (0,)) -> None:
        found = _memglot(store, *arguments)
        if found.returncode not in codes:
            wrong.append(f"{' '.join(arguments)} ended with {found.returncode}: {(found.stdout + found.stderr)[-600:]}")

    restored = False
    number = 0
    while time.monotonic() < until:
        number += 1
        must("doctor")
        must("consolidate")
        imported = _memglot(store, "--json", "import", str(extra))
        if imported.returncode == 0 and (entry := json.loads(imported.stdout)["importId"]):
            must("undo", entry)
        must("backup", str(folder / f"copy{number}.db"))
        # While others have the store open, it is not replaced.
        must("restore", str(folder / f"copy{number}.db"), "--force", codes=(0, 3))
        if not restored and time.monotonic() > until - seconds / 2:
            restored = True
            wrong += _restore_in_a_pause(folder, store, workers, must)
    if not restored:
        wrong.append("there was no time to restore a backup")
    return wrong


def _restore_in_a_pause(folder: Path, store: Path, workers: int, must: Callable[..., None]) -> list[str]:
    """Let all workers close the store, replace it with a backup of this moment, and let them go on."""
    (folder / _PAUSE).touch()
    until = time.monotonic() + 60
    while len(list(folder.glob(f"*.{_PAUSED}"))) < workers:
        if time.monotonic() > until:
            (folder / _PAUSE).unlink()
            return ["not all workers paused"]
        time.sleep(0.05)
    must("backup", str(folder / "quiet.db"))
    must("restore", str(folder / "quiet.db"), "--force")
    (folder / _PAUSE).unlink()
    return []


def check(store: Path, histories: list[History]) -> list[str]:
    """Return what is wrong with a store after all workers stopped."""
    wrong = []
    with Memory.open(store, write=False) as memory:
        held = {record.id: record.content for record in memory.list()}
        merged = {found.older for found in memory.chain()}
        for history in histories:
            for id, text in history.texts.items():
                if held.get(id) != text and id not in merged:
                    wrong.append(f"{history.name}: {id} is {held.get(id)!r} instead of {text!r}")
            wrong += [f"{history.name}: {id} is there again" for id in history.deleted if id in held]
        shared = {text for history in histories for text in history.shared}
        past = {version.record.content for version in memory.history(SHARED)[0] if version.record is not None}
        wrong += [f"the update {text!r} was lost" for text in sorted(shared - past)]
        try:
            _check_pairs(memory)
        except AssertionError as error:
            wrong.append(str(error))
        verdict = memory.doctor()
        wrong += verdict.problems
    return wrong
