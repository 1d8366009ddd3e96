"""Embedders: what turns text into vectors, near each other when they mean the same. Plugins add more."""

from memglot.embed.embedder import Embedder, Weigh
from memglot.embed.registry import BUILT_IN, embedder, embedder_names

__all__ = ["BUILT_IN", "Embedder", "Weigh", "embedder", "embedder_names"]
