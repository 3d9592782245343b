"""The scorer that a crawl asked for."""

from gossamer.control.pagerank_http import build_pagerank
from gossamer.control.plan import Plan
from gossamer.frontier.scorers import SafeScorer, Scorer, load


def load_scorer(plan: Plan) -> SafeScorer:
    """Return the scorer that the plan names."""
    options = plan.options

    def pagerank() -> Scorer:
        return build_pagerank(
            options.pagerank_key,
            plan.fetch_options(),
            base_url=options.pagerank_url,
            seed=options.random_seed,
        )

    return load(plan.scorer_name, {"pagerank": pagerank})
