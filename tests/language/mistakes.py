"""Mistakes that users of other languages and frameworks make, with what a good error says (tests/mistakes/cases.json).

For each case the files are written to an empty folder, and the command runs there with --json. Points, each yes or no:
  place     the first error, or the first warning of the line, is at `line` and in the range `column`, or at a place of `also`; or a
            second place, a frame or a note names the line
  words     each list of `words` has one that occurs in the message, the notes or the titles of fixes
  internal  no word of `never`, and no name that the user did not write
  before    where `before_run`: nothing was printed before it
  edit      where `edit`: `pxl check --fix` changes the lines into one of the texts, and nothing else
The score of a case is 5 times the share of its points.
"""
import json
import pathlib
import re
import subprocess
import tempfile

from tests.support.harness import TESTS, parallel

LEAST_MEAN = 4.8
INTERNAL = [r"__t\d+", r"\b[A-Z]\w*\.\d{3,}\b", r"_subgraph\(\d", r"\w::\w", r"\b0x[0-9a-f]{6,}", r"\b[a-z]+_out\b", r"(?i)internal error"]


def write(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def events(pxl, words, folder):
    done = subprocess.run([str(pxl), "--json", *words], cwd=folder, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    return [json.loads(line) for line in done.stdout.splitlines()]


def is_placed(case, found):
    places = [(case["file"], case["line"], *case["column"]), *case["also"]]
    here = any(found.get("file", "").endswith(f) and found["line"] == line and a <= found["column"] <= b for f, line, a, b in places if "line" in found)
    others = [*found.get("related", []), *found["frames"]]
    noted = re.search(rf"\b{re.escape(case['file'])}:{case['line']}\b", " ".join(found["notes"]))
    return here or bool(noted) or any(o.get("line") == case["line"] and o["file"].endswith(case["file"]) for o in others)


def is_mended(case, pxl, folder):
    edit = case["edit"]
    write(folder, case["files"])
    subprocess.run([str(pxl), "check", "--fix", case["file"]], cwd=folder, capture_output=True, timeout=60, stdin=subprocess.DEVNULL)
    lines = case["files"][edit["file"]].split("\n")
    clean = lambda text: [line.rstrip() for line in text.rstrip("\n").split("\n")]
    got = clean((folder / edit["file"]).read_text())
    first, last = edit["lines"]
    return any(got == clean("\n".join(lines[:first - 1] + text.split("\n") + lines[last:])) for text in edit["text"])


def missing_points(pxl, case):
    """(points of the case, what it lacks: a line for each)."""
    points = ["place", "words", "internal"] + ["before"] * case["before_run"] + ["edit"] * (case["edit"] is not None)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        write(folder, case["files"])
        found = events(pxl, case["command"].split()[1:], folder)
        diagnostics = [e for e in found if e["event"] == "diagnostic"]
        if not diagnostics:
            found = events(pxl, ["check", case["file"]], folder)
            diagnostics = [e for e in found if e["event"] == "diagnostic"]
        if not diagnostics:
            return points, ["nothing is reported"] * len(points)
        near = [d for d in diagnostics if d.get("line") == case["line"]]
        first = next((d for d in diagnostics if d["severity"] == "error"), (near or diagnostics)[0])
        said = "\n".join([first["message"], *first["notes"], *(r["message"] for r in first.get("related", [])), *(fix["title"] for fix in first.get("fixes", []))])
        source = "\n".join(case["files"].values())
        lacks = []
        if not is_placed(case, first):
            lacks.append(f"place: {first.get('line')}:{first.get('column')}, not {case['line']}:{case['column']}")
        absent = ["/".join(words) for words in case["words"] if not any(w.lower() in said.lower() for w in words)]
        if absent:
            lacks.append(f"words: lacks {', '.join(absent)} in {said!r}")
        inner = [w for w in case["never"] if w in said] + [m[0] for p in INTERNAL if (m := re.search(p, said)) and m[0] not in source]
        if inner:
            lacks.append(f"internal: says {', '.join(inner)}")
        if case["before_run"] and any(e["event"] == "output" for e in found[:found.index(first)]):
            lacks.append("before: something was printed before")
        if case["edit"] is not None and not is_mended(case, pxl, folder):
            lacks.append("edit: " + "\n".join((folder / case["file"]).read_text().split("\n")[case["edit"]["lines"][0] - 1:case["edit"]["lines"][1] + 1]))
        return points, lacks


def scored(pxl, case, marks):
    points, lacks = missing_points(pxl, case)
    marks.append(5 * (len(points) - len(lacks)) / len(points))
    allowed = set(case.get("lacks", []))
    return "\n".join(line for line in lacks if line.split(":")[0] not in allowed) or None


def mistakes_tests(pxl, add):
    cases = json.loads((TESTS / "mistakes/cases.json").read_text())
    marks = []
    for name, problem in parallel([(f"mistakes/{case['name']}", lambda case=case: scored(pxl, case, marks)) for case in cases], 2):
        add(name, problem)
    mean = sum(marks) / len(marks)
    add("mistakes: the mean", None if mean >= LEAST_MEAN else f"{mean:.2f} of 5")
