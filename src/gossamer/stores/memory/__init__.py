"""A store that ends with its process: the reference, and for tests."""

from gossamer.stores.memory.shelf import MemoryShelf

__all__ = ["MemoryShelf"]
