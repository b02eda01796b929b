"""Rules put into policies of every layout: what is around them stays, and what comes out holds."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from imagined import HOME
from mcp_jail import config
from mcp_jail.config.rule_edit import RuleEditError, _others, rule_yaml, with_rule
from mcp_jail.core.policy import Additional, Constraint, ToolRule, Verdict
from mcp_jail.core.rules.decide import ToolCall, compile_rules, decide
from mcp_jail.core.rules.narrow import NoRule, RuleEdit, Section, narrowest, narrowest_denial
from mcp_jail.core.rules.outlook import Blind

CALL = {"path": "/a", "count": 1}
LINES = """\
    write_file:
      decision: allow
      args:
        path: {equals: "/a"}
        count: {equals: 1}
      additional: deny
      otherwise: ask
"""
BRACES = (
    'write_file: {decision: allow, args: {path: {equals: "/a"}, count: {equals: 1}}, '
    "additional: deny, otherwise: ask}"
)


def made(
    text: str,
    arguments: dict[str, Any] | None = None,
    name: str = "write_file",
    section: Section = Section.TOOLS,
) -> RuleEdit:
    loaded = config.load(text, "p.yaml")
    book = compile_rules(loaded.policy, loaded.places, home=HOME, cwd=None)
    found = narrowest(book, section, name, CALL if arguments is None else arguments)
    assert isinstance(found, RuleEdit), found
    return found


def edited(text: str, arguments: dict[str, Any] | None = None, name: str = "write_file") -> str:
    return with_rule(text, "p.yaml", made(text, arguments, name))


def fill(text: str) -> str:
    """A layout with its lines in the places that stand for them."""
    return text.replace("LINES\n", LINES).replace("BRACES", BRACES)


LAYOUTS = {
    "no section": ("name: p\n", "name: p\ntools:\n  rules:\nLINES\n"),
    "no section, comments at the end": (
        "name: p  # x\n\n# the end\n",
        "name: p  # x\n\n# the end\ntools:\n  rules:\nLINES\n",
    ),
    "no rules": (
        "name: p\ntools:\n  default: ask  # by default\n\nroots: deny\n",
        "name: p\ntools:\n  default: ask  # by default\n  rules:\nLINES\n\nroots: deny\n",
    ),
    "rules": (
        "name: p\ntools:\n  rules:\n    a: allow\nroots: deny\n",
        "name: p\ntools:\n  rules:\n    a: allow\nLINES\nroots: deny\n",
    ),
    "comments around": (
        (
            "# top\nname: p\ntools: # t\n  rules: # r\n    # 1\n    a: allow # a\n    # b: deny\n"
            "\n    # last\n  # of tools\n# of the file\nroots: deny\n"
        ),
        (
            "# top\nname: p\ntools: # t\n  rules: # r\n    # 1\n    a: allow # a\n    # b: deny\n"
            "\n    # last\nLINES\n  # of tools\n# of the file\nroots: deny\n"
        ),
    ),
    "a rule in lines before": (
        (
            "name: p\ntools:\n  rules:\n    a:\n      decision: allow\n      args:\n"
            "        x:\n          one_of:\n          - 1\n          - 2  # two\n\nroots: deny\n"
        ),
        (
            "name: p\ntools:\n  rules:\n    a:\n      decision: allow\n      args:\n"
            "        x:\n          one_of:\n          - 1\n          - 2  # two\n"
            "LINES\n\nroots: deny\n"
        ),
    ),
    "a plain ask": (
        "name: p\ntools:\n  rules:\n    write_file: ask  # why\n    a: allow\n",
        "name: p\ntools:\n  rules:\n    write_file:  # why\n"
        + LINES.partition("\n")[2]
        + "    a: allow\n",
    ),
    "a plain ask in quotes": (
        "name: p\ntools:\n  rules:\n    'write_file' : \"ask\"\n    a: allow\n",
        "name: p\ntools:\n  rules:\n    'write_file' :\n"
        + LINES.partition("\n")[2]
        + "    a: allow\n",
    ),
    "a plain ask on the next line": (
        "name: p\ntools:\n  rules:\n    write_file:\n      # c\n      ask # d\n",
        "name: p\ntools:\n  rules:\n    write_file:\n      # c\n      VALUE # d\n",
    ),
    "a plain ask as a block of text": (
        "name: p\ntools:\n  rules:\n    write_file: >-\n      ask\n    a: allow\n",
        "name: p\ntools:\n  rules:\n    write_file: VALUE\n    a: allow\n",
    ),
    "an explicit key": (
        "name: p\ntools:\n  rules:\n    ? write_file\n    : ask\n",
        "name: p\ntools:\n  rules:\n    ? write_file\n    : VALUE\n",
    ),
    "empty braces": (
        "name: p\ntools:\n  rules: {}  # none\n  default: ask\n",
        "name: p\ntools:\n  rules:  # none\nLINES\n  default: ask\n",
    ),
    "an empty section": ("name: p\ntools: {}\n", "name: p\ntools:\n  rules:\nLINES\n"),
    "empty braces with a comment": (
        "name: p\ntools:\n  rules: { # none\n    }\n",
        "name: p\ntools:\n  rules: {BRACES # none\n    }\n",
    ),
    "braces with a comment at once": (
        "name: p\ntools:\n  rules: {# none\n    }\n",
        "name: p\ntools:\n  rules: {BRACES # none\n    }\n",
    ),
    "braces in a row": (
        "name: p\ntools: {default: ask, rules: {a: allow}} # x\n",
        "name: p\ntools: {default: ask, rules: {a: allow, BRACES}} # x\n",
    ),
    "braces in a row with a comma at the end": (
        "name: p\ntools: {default: ask, rules: {a: allow,}}\n",
        "name: p\ntools: {default: ask, rules: {a: allow, BRACES,}}\n",
    ),
    "braces without rules": (
        "name: p\ntools: {default: ask}\n",
        "name: p\ntools: {default: ask, rules: {BRACES}}\n",
    ),
    "braces with empty rules": (
        "name: p\ntools: {rules: {}, default: ask}\n",
        "name: p\ntools: {rules: {BRACES}, default: ask}\n",
    ),
    "braces with a plain ask": (
        "name: p\ntools: {rules: {write_file: ask, a: allow}}\n",
        "name: p\ntools: {rules: {write_file: VALUE, a: allow}}\n",
    ),
    "braces in lines": (
        "name: p\ntools: {\n  rules: {\n    a: allow,\n    b: deny # b\n    # c\n  }\n}\n",
        (
            "name: p\ntools: {\n  rules: {\n    a: allow,\n    b: deny, # b\n"
            "    BRACES\n    # c\n  }\n}\n"
        ),
    ),
    "braces in lines without comments": (
        "name: p\ntools: {\n  rules: {\n    a: allow\n  }\n}\n",
        "name: p\ntools: {\n  rules: {\n    a: allow,\n    BRACES\n  }\n}\n",
    ),
    "braces in lines with a comma at the end": (
        "name: p\ntools:\n  rules: {\n    a: allow,  # a\n  }\n",
        "name: p\ntools:\n  rules: {\n    a: allow,  # a\n    BRACES,\n  }\n",
    ),
    "braces that close on the last line": (
        "name: p\ntools:\n  rules: {\n    a: allow,\n    b: deny}\n",
        "name: p\ntools:\n  rules: {\n    a: allow,\n    b: deny, BRACES}\n",
    ),
    "braces with the comma on the next line": (
        "name: p\ntools:\n  rules: {\n    a: allow\n    , b: deny\n    ,\n  }\n",
        "name: p\ntools:\n  rules: {\n    a: allow\n    , b: deny, BRACES\n    ,\n  }\n",
    ),
    "all in braces": (
        "{name: p, roots: deny}\n",
        "{name: p, roots: deny, tools: {rules: {BRACES}}}\n",
    ),
    "document markers": (
        "%YAML 1.1\n--- # begin\nname: p\n# c\n...\n# after\n",
        "%YAML 1.1\n--- # begin\nname: p\n# c\ntools:\n  rules:\nLINES\n...\n# after\n",
    ),
    "a block of text at the end": (
        "name: p\nenv:\n  set:\n    A: |\n      # no comment\n      b\n\n# c\n",
        (
            "name: p\nenv:\n  set:\n    A: |\n      # no comment\n      b\n\n"
            "tools:\n  rules:\nLINES\n# c\n"
        ),
    ),
    "keys in quotes": (
        "\"name\": p\n'tools':\n  \"rules\":\n    'a': allow\n",
        "\"name\": p\n'tools':\n  \"rules\":\n    'a': allow\nLINES\n",
    ),
    "tabs and blanks behind values": (
        "name: p\ntools:\n  rules:\n    a: allow\t# a\t\n     \nroots: deny\n",
        "name: p\ntools:\n  rules:\n    a: allow\t# a\t\nLINES\n     \nroots: deny\n",
    ),
}
VALUE = BRACES.partition(": ")[2]
EACH = pytest.mark.parametrize(("text", "wanted"), LAYOUTS.values(), ids=LAYOUTS)


@EACH
def test_a_rule_follows_the_layout_and_changes_nothing_else(text: str, wanted: str) -> None:
    assert edited(text) == fill(wanted).replace("VALUE", VALUE)


@EACH
def test_line_ends_and_a_mark_at_the_begin_stay(text: str, wanted: str) -> None:
    text, wanted = (one.replace("\n", "\r\n") for one in (text, fill(wanted)))
    assert edited(f"\ufeff{text}") == f"\ufeff{wanted}".replace("VALUE", VALUE)


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_file_without_a_last_line_end_gets_none(newline: str) -> None:
    for name in ("rules", "no rules", "keys in quotes", "braces in a row", "a plain ask"):
        text, wanted = LAYOUTS[name]
        text, wanted = (one.replace("\n", newline).rstrip() for one in (text, fill(wanted)))
        assert edited(text) == wanted
    assert edited("name: p") == fill("name: p\ntools:\n  rules:\nLINES\n").rstrip()


def test_other_indentations_are_followed() -> None:
    text = "name: p\nenv:\n    set:\n        A: b\ntools:\n    rules:\n        a: allow\n"
    wanted = LINES.replace("  ", "    ")
    assert edited(text) == text + wanted
    assert edited(text.replace("        a", "     a")).splitlines()[-7:-4] == [
        "     write_file:",
        "         decision: allow",
        "         args:",
    ]


def test_a_call_without_arguments_is_written_without_args() -> None:
    text = edited("name: p\n", {})
    assert text.endswith(
        "    write_file:\n      decision: allow\n      additional: deny\n      otherwise: ask\n"
    )


WIDENED = {
    "our own lines": (LINES, LINES.replace('{equals: "/a"}', '{one_of: ["/a", "/b"]}')),
    "a list in brackets": (
        LINES.replace('{equals: "/a"}', "{one_of: [/a, '/c' ] } # x"),
        LINES.replace('{equals: "/a"}', "{one_of: [/a, '/c', \"/b\" ] } # x"),
    ),
    "a list in brackets over lines": (
        LINES.replace('{equals: "/a"}', "{one_of: [\n          /a, # x\n          ]}"),
        LINES.replace('{equals: "/a"}', '{one_of: [\n          /a, "/b", # x\n          ]}'),
    ),
    "a list of lines": (
        LINES.replace(
            ' {equals: "/a"}', "\n          one_of: # x\n          - /a # y\n          # z"
        ),
        LINES.replace(
            ' {equals: "/a"}',
            '\n          one_of: # x\n          - /a # y\n          # z\n          - "/b"',
        ),
    ),
    "a value on a line of its own": (
        LINES.replace(' {equals: "/a"}', "\n          equals: /a # x\n          required: true"),
        LINES.replace(
            ' {equals: "/a"}', '\n          one_of: ["/a", "/b"] # x\n          required: true'
        ),
    ),
    "braces": (
        f"    {BRACES} # x\n",
        f"    {BRACES} # x\n".replace('equals: "/a"', 'one_of: ["/a", "/b"]'),
    ),
}


@pytest.mark.parametrize(("rule", "wanted"), WIDENED.values(), ids=WIDENED)
def test_a_rule_is_widened_by_one_value_and_keeps_its_layout(rule: str, wanted: str) -> None:
    text = f"name: p\ntools:\n  rules:\n{rule}    a: allow\n"
    expected = f"name: p\ntools:\n  rules:\n{wanted}    a: allow\n"
    assert edited(text, CALL | {"path": "/b"}) == expected


def test_nothing_is_widened_twice_with_the_same_value_and_null_is_a_value() -> None:
    text = edited("name: p\n", {"x": None}).replace("{equals: null}", "\n          equals:  # x")
    text = edited(text, {"x": False})
    assert "          one_of: [null, false]  # x\n" in text
    text = edited(text, {"x": 0})
    assert "          one_of: [null, false, 0]  # x\n" in text


def test_a_value_over_more_lines_is_not_rewritten_but_told() -> None:
    rule = LINES.replace(' {equals: "/a"}', "\n          equals:\n            k: /a # x")
    text = f"name: p\ntools:\n  rules:\n{rule}"
    with pytest.raises(RuleEditError, match="goes over more than one line") as caught:
        edited(text, CALL | {"path": "/b"})
    assert 'path: {one_of: [{"k": "/a"}, "/b"]}' in caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "name: p\ntools: &t\n  rules: {a: allow}\n",
        "name: p\ntools: {rules: {a: &a allow, b: *a}}\n",
        "name: p\ntools:\n  <<: {default: ask}\n",
        "name: p\n---\nname: q\n",
        "name: p\ntools: !x {}\n",
        "name: p\nnetwork: {mode: everything}\n",
        "name: [\n",
        "",
    ],
)
def test_a_text_that_is_no_policy_is_refused_with_the_lines_to_write(text: str) -> None:
    edit = made("name: p\n")
    with pytest.raises(RuleEditError, match="the policy cannot be read: ") as caught:
        with_rule(text, "p.yaml", edit)
    assert caught.value.hint == f"write it by hand:\ntools:\n  rules:\n{LINES}".rstrip()
    assert rule_yaml(edit) in caught.value.hint


def test_a_text_without_a_last_line_end_that_would_change_a_value_is_refused() -> None:
    text = "name: p\nenv:\n  set:\n    A: |\n      b"
    with pytest.raises(RuleEditError, match="the rule would change more of"):
        edited(text)


@pytest.mark.parametrize(
    "rule", ["allow", "{decision: allow}", "{decision: allow, args: {path: {max: 1}}}"]
)
def test_a_rule_that_is_not_the_one_to_widen_is_refused(rule: str) -> None:
    edit = msgspec.structs.replace(made("name: p\n"), widened="path")
    with pytest.raises(RuleEditError, match="is not written as it was read"):
        with_rule(f"name: p\ntools: {{rules: {{write_file: {rule}}}}}\n", "p.yaml", edit)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"args": {"path": Constraint(equals="/a")}, "additional": Additional.ALLOW}, "others"),
        ({"args": {"path": Constraint(equals="/a")}}, "not hold"),
        ({"additional": Additional.ALLOW}, "others"),
        ({"otherwise": Verdict.DENY, "decision": Verdict.ASK}, "not hold"),
    ],
)
def test_an_edit_that_opens_more_or_less_than_its_call_is_refused(
    change: dict[str, Any], why: str
) -> None:
    edit = made("name: p\n")
    (rule,) = edit.rules.values()
    assert isinstance(rule, ToolRule)
    other = msgspec.structs.replace(rule, **change)
    wrong = msgspec.structs.replace(edit, rules={"write_file": other})
    told = {"others": "would hold in .* for other calls, too", "not hold": "would not hold in"}
    with pytest.raises(RuleEditError, match=told[why]):
        with_rule("name: p\n", "p.yaml", wrong)


def test_an_edit_whose_rule_does_not_hold_is_refused() -> None:
    edit = made("name: p\n")
    other = msgspec.structs.replace(edit, arguments=edit.arguments | {"count": 2})
    with pytest.raises(RuleEditError, match=r"would not hold in .*: 'count' must be 1"):
        with_rule("name: p\n", "p.yaml", other)
    other = msgspec.structs.replace(edit, name="write_file2")
    with pytest.raises(RuleEditError, match="would not hold"):
        with_rule("name: p\n", "p.yaml", other)


def test_a_call_that_is_allowed_by_something_else_does_not_prove_the_rule() -> None:
    other = msgspec.structs.replace(made("name: p\n"), name="other")
    with pytest.raises(RuleEditError, match="would not hold"):
        with_rule("name: p\ntools: {default: allow}\n", "p.yaml", other)


def test_the_calls_it_is_tried_with_have_one_argument_more_less_or_other() -> None:
    edit = made("name: p\n", {"a": "xx", "b": 1})
    fresh = "xxx"
    assert [*_others(edit)] == [
        {"a": "xx", "b": 1, fresh: None},
        {"b": 1},
        {"a": fresh, "b": 1},
        {"a": "xx"},
        {"a": "xx", "b": fresh},
    ]


def test_a_policy_that_refuses_undeclared_arguments_takes_a_rule() -> None:
    assert edited("name: p\ntools:\n  additional: deny\n").endswith(f"  rules:\n{LINES}")


def test_a_file_has_no_room_for_a_rule_that_makes_it_too_large() -> None:
    text = "name: p\n" + "# x\n" * (256 * 1024 - 3)
    with pytest.raises(RuleEditError, match="the rule does not fit into this policy"):
        edited(text)


RULES = "  default: ask # x\n  rules:\n    a: ask\n    b: deny\n"


def test_resources_are_allowed_by_words() -> None:
    text = f"name: p\nresources:\n{RULES}"
    edit = made(text, {}, "a", Section.RESOURCES)
    assert with_rule(text, "p.yaml", edit) == text.replace("a: ask", "a: allow")
    edit = made(text, {}, "note:#x", Section.RESOURCES)
    added = "".join(f'    "{form}": allow\n' for form in edit.rules)
    assert with_rule(text, "p.yaml", edit) == text + added


@pytest.mark.parametrize("section", [Section.PROMPTS, Section.RESOURCES])
def test_prompts_and_resources_are_denied_by_words(section: Section) -> None:
    text = f"name: p\n{section.value}:\n{RULES}"
    loaded = config.load(text, "p.yaml")
    book = compile_rules(loaded.policy, loaded.places, home=HOME, cwd=None)
    denial = narrowest_denial(book, section, "c")
    assert not isinstance(denial, NoRule)
    assert with_rule(text, "p.yaml", denial) == f"{text}    c: deny\n"


def test_a_resource_has_a_rule_for_each_way_it_is_read() -> None:
    text = "name: p\nresources: {default: ask}\n"
    edit = made(text, {}, "NOTE://x", Section.RESOURCES)
    assert with_rule(text, "p.yaml", edit) == (
        "name: p\nresources: {default: ask, rules: "
        '{"NOTE://x": allow, "note://x/": allow, "note://x": allow}}\n'
    )


HARD = [
    "",
    " x ",
    "null",
    "~",
    "yes",
    "1e5",
    "0x10",
    "*a",
    "&a",
    "# no comment",
    "a: b",
    "- a",
    '"\\',
    "line\nline\r\n\ttab\n",
    "\x00\x07\x1b[31m\x7f\x85\xa0",
    "\u034f\u0600\u061c\u180e",
    "\u2028\u2029\u202e\u200b\ufeff\ufffe",
    "\U000e0068\U000e0100 \ufe0f \u3164 \U0001f600 \u00e9 e\u0301 \u4e2d",
    10**30,
    -(2**63),
    1e5,
    1e16,
    1e-7,
    5e-324,
    1.7976931348623157e308,
    -0.5,
    0.1,
    True,
    None,
    [],
    {},
    [[], {}, [None, {"a b": [1, 1.0, True, "1"]}]],
    {"": 0, "<<": 1, "~": 2, "a: b": 3, '"': 4, "\n": 5, "\u202e": 6, "1": 7},
]


@pytest.mark.parametrize("value", HARD, ids=ascii)
def test_a_value_is_read_back_exactly_and_nothing_hides_in_the_text(value: Any) -> None:
    for text in ("name: p\n", "{name: p}"):
        changed = edited(text, {"x": value})
        assert changed.replace("\n", "").isprintable()
        assert config.load(changed, "p.yaml").policy.tools.rules["write_file"] == next(
            iter(made(text, {"x": value}).rules.values())
        )
        widened = edited(changed, {"x": ["another"]})
        loaded = config.load(widened, "p.yaml")
        book = compile_rules(loaded.policy, {}, home=HOME, cwd=None)
        for each in (value, ["another"]):
            call = ToolCall("write_file", {"x": each}, None)
            assert decide(call, book, Blind()).verdict is Verdict.ALLOW


@pytest.mark.parametrize(
    "name", ["a b", "a: b", "yes", "-x", "#x", '"x"', "1", "\u4e2d", "x" * 500]
)
def test_names_of_all_kinds_can_be_keys(name: str) -> None:
    changed = edited("name: p\n", {name: 1}, name)
    assert config.load(changed, "p.yaml").policy.tools.rules.keys() == {name}
    assert edited(changed, {name: 2}, name).count("one_of") == 1


def test_a_number_reads_the_same_in_both_versions_of_yaml() -> None:
    text = edited("name: p\n", {"x": [1e16, 1e-7, 1.5e300, 0.5]})
    assert "[1.0e+16, 1.0e-07, 1.5e+300, 0.5]" in text


def test_words_that_yaml_takes_for_something_else_stand_in_quotes() -> None:
    assert '        "n": {equals: 1}\n' in edited("name: p\n", {"n": 1})
    assert '    "Yes":\n' in edited("name: p\n", {}, "Yes")


def test_a_key_that_yaml_does_not_take_is_told() -> None:
    with pytest.raises(RuleEditError, match="the rule does not fit into this policy"):
        edited("name: p\n", {"x": {"k" * 1100: 1}})
