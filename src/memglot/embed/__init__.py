"""Embedders, which turn text into vectors; texts with similar meaning get similar vectors. Plugins add more."""

from memglot.embed.embedder import Embedder, Weigh
from memglot.embed.registry import BUILT_IN, embedder, embedder_names

__all__ = ["BUILT_IN", "Embedder", "Weigh", "embedder", "embedder_names"]
