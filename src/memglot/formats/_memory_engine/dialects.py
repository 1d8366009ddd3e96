"""What later versions of Memory Engine write, accepted with `--lenient`."""

import re

from memglot.errors import bad_tree
from memglot.model import check_tree

_LABEL = re.compile(r"[A-Za-z0-9_-]+")


def lenient_tree(text: str) -> str:
    """A tree path of version 0.8: `/` or `.` between labels, `-` in them, a leading `~` for one's home.

    The model's labels have no `-`, so it becomes `_`; `~` becomes the label `home`.
    """
    labels = [label for label in re.split(r"[/.]+", text) if label]
    if labels and labels[0] == "~":
        labels[0] = "home"
    if not all(_LABEL.fullmatch(label) for label in labels):
        raise bad_tree(text)
    return check_tree(".".join(labels).replace("-", "_"))
