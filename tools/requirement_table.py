"""A pytest plugin: which requirement is proved by which tests, and did they pass.

Tests carry `@pytest.mark.req("C5")`. `docs/requirements.toml` lists every requirement and whether
it is declared done. `pytest --requirements print` shows the table, `check` also fails the run when
a declared-done requirement has no passing test or docs/requirements.md is not current, and `write`
brings that page up to date.
"""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DECLARED = ROOT / "docs" / "requirements.toml"
PAGE = ROOT / "docs" / "requirements.md"

HEAD = """\
# Requirements and the tests that prove them

Written by `make requirements` from the marks on the tests and `docs/requirements.toml`; do not edit
this page by hand. A requirement is *done* when it is declared so and each test below passed;
`make test` fails when a done one has no test.

| id | requirement | state | tests |
|---|---|---|---|
"""


class Requirement:
    """One line of the mission, and what the tests of this run said of it."""

    def __init__(self, key: str, text: str, done: bool) -> None:
        self.key = key
        self.text = text
        self.done = done
        self.results: dict[str, bool] = {}

    @property
    def proved(self) -> bool:
        """Whether at least one test ran for it and none failed."""
        return bool(self.results) and all(self.results.values())

    @property
    def functions(self) -> list[str]:
        """The test functions, parameters folded away, in order of their files."""
        return sorted({node.split("[")[0] for node in self.results})


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
        f"{one.key} is declared done, but " + ("a test failed" if one.results else "no test ran")
        for one in requirements.values()
        if one.done and not one.proved
    ]


def page(requirements: dict[str, Requirement]) -> str:
    """Render docs/requirements.md."""

    def rows() -> Iterator[str]:
        for one in requirements.values():
            state = "done" if one.done else "open"
            by_file: dict[str, list[str]] = {}
            for node in one.functions:
                file, _, name = node.partition("::")
                by_file.setdefault(file, []).append(name.removeprefix("test_"))
            tests = "<br>".join(f"`{file}`: {', '.join(by_file[file])}" for file in by_file)
            yield f"| {one.key} | {one.text} | {state} | {tests} |"

    return HEAD + "\n".join(rows()) + "\n"


class RequirementTable:
    """Gathers the results of the tests by requirement; only in the process that reports."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.requirements = load_declared()
        self.complaints: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the result of one phase of a test under each id that it carries.

        One that was skipped says nothing, neither for nor against.
        """
        if report.skipped:
            return
        for name, key in report.user_properties:
            if name != "req":
                continue
            one = self.requirements.get(str(key))
            if one is None:
                self.complaints.append(f"{report.nodeid} proves an unknown requirement {key}")
            elif report.when == "call" or report.failed:
                passed = one.results.get(report.nodeid, True)
                one.results[report.nodeid] = passed and report.passed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write or check the page, and fail the run on an unproved requirement."""
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
        for one in self.requirements.values():
            passed = sum(one.results.values())
            state = "done" if one.done else "open"
            verdict = f"{passed} of {len(one.results)} tests passed" if one.results else "no test"
            files = sorted({name.partition("::")[0] for name in one.functions})
            terminalreporter.line(f"{one.key:<4} {state}  {verdict:<26} {', '.join(files)}")
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
