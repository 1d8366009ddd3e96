"""Statistics about a store."""

import os
from typing import Any

from memglot.model import DELETED, THINGS
from memglot.store.contract import Store
from memglot.store.query import Filter, Query


def stats(store: Store) -> dict[str, Any]:
    """Return statistics about the store."""
    kinds: dict[str, int] = {}
    scopes: dict[str, int] = {}
    tags: dict[str, int] = {}
    for record in store.records.select():
        kinds[record.kind] = kinds.get(record.kind, 0) + 1
        scopes[record.scope] = scopes.get(record.scope, 0) + 1
        for tag in record.tags:
            tags[tag] = tags.get(tag, 0) + 1
    things = {name: store.things.count(kind) for name, kind in THINGS.items()}
    every = Filter(with_deleted=True)
    with_vector = store.vectors.count(Query(), every)
    vectors = {
        "model": store.vectors.state().model,
        "count": with_vector,
        "missing": store.records.count(every) - with_vector,
    }
    size = os.path.getsize(store.url) if os.path.exists(store.url) else 0
    return {
        "store": store.url,
        "bytes": size,
        "memories": sum(kinds.values()),
        "deleted_in_source": store.records.count(Filter(status=(DELETED,))),
        "kinds": _most_common(kinds),
        "scopes": _most_common(scopes),
        "tags": _most_common(tags),
        "things": {name: count for name, count in things.items() if count},
        "vectors": vectors,
        "imports": sum(1 for _ in store.history.imports()),
        "events": store.history.count_events(),
    }


def _most_common(counts: dict[str, int]) -> dict[str, int]:
    """Return the twenty most common, most common first."""
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:20])
