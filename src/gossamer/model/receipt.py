"""The receipt of a task that was given back unfinished."""

import msgspec


class Receipt(msgspec.Struct, frozen=True):
    """What was received for a task that is given back."""

    received: int = 0
    """How many bytes of bodies."""
    short: bool = False
    """Whether it was broken off because what is left of the budget is too little for it."""
