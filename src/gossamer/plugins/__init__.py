"""Other people's code: finding what the operator named, and describing how it fails.

`Plugins` loads modules and scorers by name, dotted name or file (`files`). Code is only ever loaded
because the operator named it, never because of what was fetched. `describe` says in one line what
went wrong in it, and where (`failures`). `calls` and `thread` call it so that nothing it does, not
returning included, ends or holds up the crawl.
"""

from gossamer.plugins.failures import describe
from gossamer.plugins.loading import Plugin, Plugins

__all__ = ["Plugin", "Plugins", "describe"]
