"""The scorer of a crawl."""

from gossamer.frontier.scorers import SafeScorer, Scorer, load
from gossamer.model import NameTable
from gossamer.plan.plan import Plan


def load_scorer(plan: Plan, dns: NameTable | None = None) -> SafeScorer:
    """Return the scorer that the plan names; a table of names takes the place of DNS."""
    options = plan.options

    def pagerank() -> Scorer:
        # Few crawls need it, and it takes time to load.
        from gossamer.plan.pagerank_http import build_pagerank  # noqa: PLC0415

        return build_pagerank(
            options.pagerank_key,
            plan.fetch_options(),
            url=options.pagerank_url,
            seed=options.draw_seed,
            dns=dns,
        )

    return load(plan.scorer_name, {"pagerank": pagerank})
