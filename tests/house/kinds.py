"""Each kind of test is in a list of tests/run.py, and in both tables of docs/testing.md; each function of tests is run by something."""
import contextlib
import io
import re

from tests.support import figures
from tests.support.harness import ROOT, TESTS, Tally, parallel, run

FUNCTION = re.compile(r"^def (\w+_tests)\(", re.M)


def forgotten(texts):
    """Functions of tests that no other function names. `texts`: by file."""
    everything = "\n".join(texts.values())
    return [f"{path}: {name} is in no list of tests/run.py, and nothing calls it" for path, text in texts.items()
            for name in FUNCTION.findall(text) if len(re.findall(rf"\b{name}\b", everything)) < 2]


def apart(lists, page, measured):
    """`lists`: rows by list; `page`: the kinds that the page describes; `measured`: the (kind, list) of its figures."""
    rows = {(kind, name) for name, listed in lists.items() for kind, *_ in listed}
    kinds = {kind for kind, _ in rows}
    problems = [f"docs/testing.md describes {kind}, which is in no list of tests/run.py" for kind in sorted(set(page) - kinds)]
    problems += [f"docs/testing.md does not describe {kind}" for kind in sorted(kinds - set(page))]
    remedy = "write them anew: scripts/test --full --table"
    problems += [f"docs/testing.md has figures of {kind} ({name}), which is no row: {remedy}" for kind, name in sorted(set(measured) - rows)]
    return problems


def problems(lists):
    planted = apart({"daily": [("a", None)]}, ["a", "b"], [("a", "daily")]) + forgotten({"x.py": "def lost_tests(pxl):\n    pass\n"})
    if len(planted) != 2:
        return f"of two planted problems these are found: {planted}"
    page = (ROOT / "docs/testing.md").read_text()
    described = re.findall(r"^\| (\w+) \|", page.partition("| kind | where | what |\n|---|---|---|\n")[2].partition("\n\n")[0], re.M)
    measured = [row for row in figures.table_rows() if row[0] != "all"]
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sorted(TESTS.rglob("*.py"))}
    return "\n".join(apart(lists, described, measured) + forgotten(texts)) or None


# A test that runs before it is added: its exception would end the kind.
EAGER = re.compile(r"^.*\badd\(f?\"[^\"]*\", (?!lambda\b|str\()(?:\w+\.)*\w+\(.*\)\)$", re.M)


def tests_are_functions():
    if not EAGER.search('    add("planted", found(pxl))'):
        return "a planted test is not found"
    return "\n".join(f"{path.relative_to(ROOT)}: give the function, as lambda: {match[0].strip()}" for path in sorted(TESTS.rglob("*.py"))
                     if "def add(" not in path.read_text() for match in EAGER.finditer(path.read_text())) or None


def attempts():
    """A test that raises is one failure, one that needs what is missing is skipped, and the others go on."""
    tally, planted = Tally(), [lambda: 1 / 0, lambda: open("no-such-file"), lambda: run(["no-such-program"]), lambda: __import__("no_such_package"),
                               lambda: "a problem", lambda: None]
    with contextlib.redirect_stdout(io.StringIO()):
        for test in planted:
            tally.add("at once", test)
        for name, outcome in parallel([("in parallel", test) for test in planted], 2):
            tally.add(name, outcome)
        tally.run("a kind", lambda: planted[0]())
    counts = tally.passed, tally.failed, tally.skipped
    return None if counts == (2, 7, 4) else f"passed, failed, skipped: {counts}"
