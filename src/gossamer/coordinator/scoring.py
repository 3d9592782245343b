"""The scorer that a crawl asked for."""

from gossamer.coordinator.pagerank_http import build_pagerank
from gossamer.coordinator.plan import Plan
from gossamer.frontier.scorers import SafeScorer, Scorer, load


def load_scorer(plan: Plan) -> SafeScorer:
    """Return the scorer that the plan names."""
    options = plan.options

    def pagerank() -> Scorer:
        return build_pagerank(
            options.pagerank_key,
            plan.fetch_options(),
            base_url=options.pagerank_url,
            seed=options.draw_seed,
        )

    return load(plan.scorer_name, {"pagerank": pagerank})
