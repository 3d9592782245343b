"""The worker of a crawl: what it does with one page, and the loop around that.

`loop.Worker` leases tasks and has many of them in progress; `pipeline.Pipeline` takes one task
along the whole path: robots (`RobotsCheck`), download (`PageFetcher`), parse, duplicate?, modules,
links (`PageStorer`), settle (`Settler`). Nothing is imported here: the coordinator needs little of
this room, and not the libraries of the rest.
"""
