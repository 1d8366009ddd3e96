"""The identity text of each scope, with all earlier texts."""

from __future__ import annotations

from memglot.editing.operations import created, recorded
from memglot.model import DEFAULT_SCOPE, IDENTITY, Document, check_text, identity_document, now, thing_key, to_builtins
from memglot.model.record_errors import empty_text
from memglot.store.contract import Revision, Store


def identity(store: Store, scope: str = DEFAULT_SCOPE) -> Document | None:
    """Return the present text, if there is one."""
    found = (document for document in store.things.by_second_key(Document, IDENTITY) if document.scope == scope)
    return max(found, key=_age, default=None)


def identity_history(store: Store, scope: str = DEFAULT_SCOPE) -> list[Document]:
    """Return all texts, the present one last."""
    found = [document for document in store.things.by_second_key(Document, IDENTITY) if document.scope == scope]
    return sorted(found, key=_age)


def set_identity(store: Store, text: str, scope: str = DEFAULT_SCOPE) -> tuple[Document, bool]:
    """Set the present text and return True if it changed; an earlier text that is set again moves to the end."""
    check_text(text, IDENTITY)
    check_text(scope, "scope")
    if not text.strip():
        raise empty_text(IDENTITY)
    with recorded(store, "identity", name=scope):
        present = identity(store, scope)
        if present is not None and present.content == text:
            return present, False
        # The new text must win even if a clock ran ahead somewhere.
        at = max(now(), present.created_at + 1) if present is not None else now()
        document = identity_document(text, scope=scope, created_at=at)
        before = store.things.same_key(document)
        if before is not None:
            revision = Revision(
                kind="document", key=thing_key(before), at=at, action="identity", before=to_builtins(before)
            )
            store.history.add_revisions([revision])
        else:
            store.history.add_revisions(created("document", [thing_key(document)], at, "identity"))
        store.things.put([document])
        store.history.log("identity", document.id, scope, {"characters": len(text)})
    return document, True


def _age(document: Document) -> tuple[int, str]:
    return document.created_at, document.id
