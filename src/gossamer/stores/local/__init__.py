"""The store of another process of this machine: the contract of a store, over a channel."""

from gossamer.channel import Contract
from gossamer.stores.contract import Store
from gossamer.stores.local.session import StoreSession

STORE: Contract[Store] = Contract(Store)
"""Both ends of a channel know the store by this."""

__all__ = ["STORE", "StoreSession"]
