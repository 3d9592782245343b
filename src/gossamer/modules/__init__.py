"""What is done with a page once it is there."""

from gossamer.modules.save import PageDirectory

__all__ = ["PageDirectory"]
