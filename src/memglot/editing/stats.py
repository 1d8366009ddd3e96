"""Statistics about a store."""

import os
from typing import Any

from memglot.model import DELETED, THINGS
from memglot.store.contract import Counted, Store
from memglot.store.query import Filter, Query


def stats(store: Store) -> dict[str, Any]:
    """Return statistics about the store, from one snapshot."""
    with store.reading():
        return _stats(store)


def _stats(store: Store) -> dict[str, Any]:
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
        "memories": store.records.count(),
        "deleted_in_source": store.records.count(Filter(status=(DELETED,))),
        "kinds": _most_common(store, "kind"),
        "scopes": _most_common(store, "scope"),
        "tags": _most_common(store, "tag"),
        "things": {name: count for name, count in things.items() if count},
        "vectors": vectors,
        "imports": sum(1 for _ in store.history.imports()),
        "events": store.history.count_events(),
    }


def _most_common(store: Store, field: Counted) -> dict[str, int]:
    """Return the twenty most common values of a field, most common first."""
    return dict(sorted(store.records.count_by(field), key=lambda pair: (-pair[1], pair[0]))[:20])
