"""A store that ends with its process: the reference, and for tests."""

from gossamer.stores.embedded.memory.backend import MemoryBackend

__all__ = ["MemoryBackend"]
