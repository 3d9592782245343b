"""The URL frontier: all the rules of a crawl, once.

`Frontier` (service) has them; `FrontierClient` (contract) is how workers and the coordinator call
it, and a `WorkerSession` (session) is what one worker process has of it.

The way of a URL through the frontier can be read in four files. `service` has the steps: a link is
added, scored, assigned, leased, settled. `state` moves the URL with each of them, in memory and in
the scheduler at once, and `settling` says how it ends. `scheduler` decides which worker may fetch
which URL, and when. Around them:

    depths                          over the shortest path; new links
    claims                          numbers of pages, duplicates
    router, scorers/                priorities, and the draw among them
    round_robin, due_hosts          whose turn it is: for the router, for a worker
    hosts, politeness               one host; when each may be asked again, failures
    rules                           limits and budget
    memory, url_memory, waiting     what is in memory of the rows, and what waits in which queue
    counters, commits               what is stored of both, all or nothing
"""
