#!/usr/bin/env python3
"""docs/coverage.md: which test shows which capability of PopXL, and what pxl has for names of other libraries. Written by
`python3 tests/docs/coverage.py`.

The capabilities are the lines of tests/docs/coverage_rows.txt: an identifier and what it is. Tests name those that they show in a
comment, `# covers: A3 B7` (`//` in C++).
"""
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.docs import libraries
from tests.support.harness import ROOT, TESTS

PAGE = ROOT / "docs" / "coverage.md"
SECTIONS = {"A": "Programs, graphs, tensors", "B": "Calls and control flow", "C": "Modules, factories, named trees",
            "D": "Streams and sessions", "E": "Ops", "F": "Gradients and training", "G": "Printing",
            "H": "Data and the host's language", "I": "Replicas, remote memory, pipelines"}
# Code for the IPU alone in the addons, and its replacement here.
CUSTOM = [("`static_spmm` and the other sparse products", "the dense product of the same matrix: `x @ w`, with zeros where nothing is stored"),
          ("`fp8_mse_scale`", "`fp8_amax_scale`, or a scale of the script's own")]
TAG = re.compile(r"(?:#|//) covers: ([A-I]\d+(?: [A-I]\d+)*)\s*$", re.M)


def rows():
    lines = (TESTS / "docs/coverage_rows.txt").read_text().splitlines()
    return [tuple(line.split(" ", 1)) for line in lines if line]


def tests():
    """{identifier: [test, ...]} and problems: tags without a row."""
    known, found, problems = {name for name, _ in rows()}, {}, []
    files = sorted(p for pattern in ("*.pxl", "*.cpp", "*.py") for p in (ROOT / "tests").rglob(pattern))
    for path in files:
        name = str(path.relative_to(ROOT))
        for tags in TAG.findall(path.read_text(errors="replace")):
            for tag in tags.split():
                if tag not in known:
                    problems.append(f"{name}: no row {tag} in tests/docs/coverage_rows.txt")
                elif name not in found.setdefault(tag, []):
                    found[tag].append(name)
    return found, problems


def page():
    found, _ = tests()
    all_rows = rows()
    shown = sum(name in found for name, _ in all_rows)
    out = ["# Coverage", "",
           "Which test shows which capability of PopXL and its addons, remote memory and pipelines included. Written by",
           f"`python3 tests/docs/coverage.py` from `tests/docs/coverage_rows.txt` and the tests: {shown} of {len(all_rows)} rows are shown by a test.", ""]
    missing = [f"{name} ({what})" for name, what in all_rows if name not in found]
    out += ["Not shown by a test of its own: " + (", ".join(missing) if missing else "none") + ".", ""]
    for letter, title in SECTIONS.items():
        out += [f"## {letter}. {title}", "", "| | | test |", "|---|---|---|"]
        for name, what in all_rows:
            if name[0] == letter:
                where = ", ".join(f"[{pathlib.Path(t).stem}](../{t})" for t in found.get(name, []))
                out.append(f"| {name} | {what} | {where or 'none'} |")
        out.append("")
    out += ["## Custom operations of the IPU", "",
            "Operations that are programs for the tiles are not there. These take their place:", ""]
    out += [f"- {what}: {instead}." for what, instead in CUSTOM]
    out += ["", *libraries.page()[:-1]]
    return "\n".join(out) + "\n"


def check():
    """The page's problem, or None."""
    problems = tests()[1]
    if not PAGE.exists() or PAGE.read_text() != page():
        problems.append("docs/coverage.md is not what `python3 tests/docs/coverage.py` writes")
    return "\n".join(problems) or None


if __name__ == "__main__":
    PAGE.write_text(page())
    for problem in tests()[1]:
        print(problem)
