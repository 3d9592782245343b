"""A pytest plugin: which requirement is proved by which tests, and did they pass.

Tests carry `@pytest.mark.req("C5")`. `docs/requirements.toml` lists every requirement and whether
it is declared done. `pytest --requirements print` shows the table, `check` also fails the run when
a declared-done requirement has no passing test or docs/requirements.md is not current, and `write`
brings that page up to date, also with `--collect-only`: the page says which tests there are. The
console names all files.
"""

import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DECLARED = ROOT / "docs" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"

HEAD = """\
# Requirements and the tests that prove them

Written by `make requirements` from the marks on the tests and `docs/requirements.toml`; do not edit
this page by hand. A requirement is *done* when it is declared so and all of its tests passed; `make
test` fails when a done one has no test. The files are those with most of its tests:
`git grep 'req(.*"D19"' tests` finds all tests of D19.

| id | requirement | state | tests | files |
|---|---|---|---|---|
"""
FILES_SHOWN = 3


class Requirement:
    """One line of the mission, and what the tests of this run said of it."""

    def __init__(self, key: str, text: str, done: bool) -> None:
        self.key = key
        self.text = text
        self.done = done
        self.tests: set[str] = set()
        """The test functions that carry its id, without their parameters."""
        self.results: dict[str, bool] = {}
        """Whether the tests that ran have passed."""

    @property
    def proved(self) -> bool:
        """Whether at least one test ran for it and none failed."""
        return bool(self.results) and all(self.results.values())

    @property
    def files(self) -> list[str]:
        """The files with its tests: those with most of them first."""
        counts = Counter(node.partition("::")[0] for node in self.tests)
        return sorted(counts, key=lambda file: (-counts[file], file))


def load_declared(path: Path = DECLARED) -> dict[str, Requirement]:
    """Read the declared requirements, in their order."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {
        key: Requirement(key, row["text"], bool(row.get("done", False)))
        for key, row in table.items()
    }


def problems(requirements: dict[str, Requirement]) -> list[str]:
    """Say what is wrong: declared done and not proved."""
    return [
        f"{requirement.key} is declared done, but "
        + ("a test failed" if requirement.results else "no test ran")
        for requirement in requirements.values()
        if requirement.done and not requirement.proved
    ]


def page(requirements: dict[str, Requirement]) -> str:
    """Render docs/requirements.md."""

    def rows() -> Iterator[str]:
        for requirement in requirements.values():
            state = "done" if requirement.done else "open"
            files = ", ".join(f"`{file}`" for file in requirement.files[:FILES_SHOWN])
            cells = requirement.key, requirement.text, state, str(len(requirement.tests)), files
            yield f"| {' | '.join(cells)} |"

    return HEAD + "\n".join(rows()) + "\n"


class RequirementTable:
    """Gathers the results of the tests by requirement; only in the process that reports."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.requirements = load_declared()
        self.complaints: list[str] = []

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the tests that there are, whether they will be run or not."""
        for item in session.items:
            self._proved_by(item)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result of one phase of a test under each id that it carries.

        One that was skipped says nothing, neither for nor against.
        """
        for requirement in self._proved_by(report):
            if not report.skipped and (report.when == "call" or report.failed):
                passed = requirement.results.get(report.nodeid, True)
                requirement.results[report.nodeid] = passed and report.passed

    def _proved_by(self, test: pytest.Item | pytest.TestReport) -> list[Requirement]:
        """Return the requirements whose ids a test carries, each of which then knows the test."""
        requirements = []
        for key in (str(key) for name, key in test.user_properties if name == "req"):
            if requirement := self.requirements.get(key):
                requirement.tests.add(test.nodeid.split("[")[0])
                requirements.append(requirement)
            else:
                self.complaints.append(f"{test.nodeid} proves an unknown requirement {key}")
        return requirements

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write or check the page, and fail the run on an unproved requirement."""
        if not session.config.option.collectonly:
            self.complaints += problems(self.requirements)
        text = page(self.requirements)
        if self.mode == "write":
            PAGE.write_text(text, encoding="utf-8")
        elif self.mode == "check" and (not PAGE.exists() or PAGE.read_text("utf-8") != text):
            self.complaints.append("docs/requirements.md is not current: run 'make requirements'")
        if self.complaints and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table: id, tests, passed."""
        terminalreporter.section("requirements")
        for requirement in self.requirements.values():
            results = requirement.results
            state = "done" if requirement.done else "open"
            verdict = (
                f"{sum(results.values())} of {len(results)} tests passed"
                if results
                else "no test ran"
            )
            files = ", ".join(requirement.files)
            terminalreporter.line(f"{requirement.key:<4} {state}  {verdict:<26} {files}")
        for complaint in self.complaints:
            terminalreporter.line(f"requirements: {complaint}", red=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --requirements."""
    parser.addoption(
        "--requirements",
        choices=("print", "check", "write"),
        help="show the table of requirements; 'check' fails on gaps; 'write' renews the page",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start gathering where the results arrive: not in the workers of pytest-xdist."""
    mode = config.getoption("--requirements")
    if mode and not hasattr(config, "workerinput"):
        config.pluginmanager.register(RequirementTable(mode))


def pytest_itemcollected(item: pytest.Item) -> None:
    """Carry the ids of the marks along with the test's reports, also between processes."""
    for mark in item.iter_markers("req"):
        item.user_properties.extend(("req", key) for key in mark.args)
