"""One crawl, from its options to its summary.

Begin with `crawl.py`: `Crawl.run` opens a crawl (`coordinate.py`), starts its workers
(`processes/worker_pool.py`), lets the frontier run (`engine.py`), writes outputs (`outputs.py`) and
returns the summary. On the other side of a worker's channel is `processes/worker_main.py`. What the
options mean for each part is in `plan.py`; how a crawl goes on, in `resume.py`. `api.py` is for
Python programs. Nothing is imported here: the launcher is started before anything else is loaded.
"""
