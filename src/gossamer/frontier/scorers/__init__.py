"""The scorers, replaceable: each gives URLs a score from 0 (fetched first) to 100 (last).

`fifo`, `depth`, `page-number` and `importance` are in `builtin`, `pagerank` in a file of its own;
`loading` finds a scorer by its name and wraps it, because it may be anybody's code.
"""
