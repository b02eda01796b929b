"""How problems are gathered and shown."""

from __future__ import annotations

from mcp_jail.config.problems import PROBLEM_LIMIT, Problems, render, render_all
from mcp_jail.errors import Place, Problem


def test_a_problem_shows_line_caret_and_hint() -> None:
    source = "  default: alow"
    problem = Problem(
        Place("f.yaml", 12, 12), "unknown decision 'alow'", "did you mean it?", source
    )
    assert render(problem) == (
        "f.yaml:12:12: unknown decision 'alow'\n"
        "  12 |   default: alow\n"
        "     |            ^\n"
        "  hint: did you mean it?"
    )


def test_what_a_file_holds_cannot_command_the_terminal() -> None:
    shown = render(Problem(Place("f", 1, 4), "m", "", "a: \x1b[2J\u202e\tx"))
    assert shown == "f:1:4: m\n  1 | a: \\x1b[2J\\u202e x\n    |    ^"


def test_the_caret_stays_in_view_of_a_long_line() -> None:
    shown = render(Problem(Place("f", 1, 500), "m", "", "x" * 499 + "Y" + "x" * 500))
    _, line, caret = shown.split("\n")
    assert max(len(line), len(caret)) < 90
    assert line[caret.index("^")] == "Y"


def test_a_problem_without_a_source_line_has_no_caret() -> None:
    assert render(Problem(Place("f", 1, 1), "the file is empty")) == "f:1:1: the file is empty"


def test_problems_come_in_the_order_of_the_file_and_once_each() -> None:
    problems = Problems("f", "one\ntwo\r\n")
    problems.add(problems.at(2, 1), "b")
    problems.add(problems.at(1, 1), "a")
    problems.add(problems.at(2, 1), "b", "said before")
    assert [(problem.message, problem.source) for problem in problems.in_order()] == [
        ("a", "one"),
        ("b", "two"),
    ]


def test_a_flood_of_problems_is_cut() -> None:
    shown = render_all([Problem(Place("f", 1, 1), "m")] * (PROBLEM_LIMIT + 7))
    assert shown.endswith("and 7 more")
    assert shown.count("\n") == PROBLEM_LIMIT
