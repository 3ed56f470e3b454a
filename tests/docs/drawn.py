"""docs/drawn.md: what `pxl graph` and `pxl profile --machine` make of each example, and of each program in the pages."""
import json
import pathlib
import re
import subprocess
import tempfile

from tests.docs.documents import DOCS, docs_programs
from tests.support.harness import ROOT, parallel

PAGE = ROOT / "docs/drawn.md"
HEAD = "| programs of | number | drawn by `graph` | modelled by `profile --machine bow` | not drawn |\n|---|---|---|---|---|\n"
COMMANDS = (["graph", "--json"], ["profile", "--machine", "bow", "--json"])


def outcome(pxl, command, path, folder):
    """None if the command draws something, or else the reason; an AssertionError if it does neither."""
    done = subprocess.run([str(pxl), *command, str(path)], capture_output=True, text=True, timeout=300, cwd=folder)
    if done.returncode == 0:
        assert done.stdout.strip(), f"{command[0]} writes nothing"
        return None
    errors = [json.loads(line)["message"] for line in done.stdout.splitlines() if line.startswith('{"event":"diagnostic"')]
    assert done.returncode in (65, 66) and errors, f"{command[0]}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
    told = errors[0].replace(f"{folder}/", "")
    return re.sub(r"^\S*\.pxl: ", "", re.sub(r"`[^`]*?([^/`]+)`", r"`\1`", told))


def row(pxl, name, paths, folder):
    counts, reasons = [0, 0], {}
    for path in paths:
        for i, command in enumerate(COMMANDS):
            reason = outcome(pxl, command, path, folder)
            counts[i] += reason is None
            if reason and i == 0:
                reasons[reason] = reasons.get(reason, 0) + 1
    told = "; ".join(f"{n} × {reason}" if n > 1 else reason for reason, n in sorted(reasons.items(), key=lambda r: (-r[1], r[0]))[:3])
    return f"| {name} | {len(paths)} | {counts[0]} | {counts[1]} | {told.replace('|', chr(92) + '|')} |\n"


def page_with(rows):
    text = PAGE.read_text()
    return text[:text.index(HEAD)] + HEAD + "".join(rows)


def drawn_tests(pxl, tally, update=False):
    with tempfile.TemporaryDirectory() as place:
        folder, jobs = pathlib.Path(place), []
        for path in sorted((ROOT / "examples").glob("*.pxl")):
            jobs.append((path.stem, [path], ROOT / "examples"))
        for name in DOCS:
            paths = []
            for i, case in enumerate(c for c in docs_programs((ROOT / name).read_text()) if c["error"] is None and not c["test"]):
                paths.append(folder / f"{name.replace('/', '_')}_{i}.pxl")
                paths[-1].write_text(case["text"])
            if paths:
                jobs.append((f"[{name}](../{name})" if name == "README.md" else f"[{name[5:]}]({name[5:]})", paths, folder))
        rows, problems = [], []
        for title, result in parallel([(t, lambda t=t, p=p, f=f: attempt(pxl, t, p, f)) for t, p, f in jobs], 2):
            kind, text = result
            (rows if kind == "row" else problems).append((title, text))
    order = {title: i for i, (title, _, _) in enumerate(jobs)}
    wanted = page_with([text for _, text in sorted(rows, key=lambda r: order[r[0]])])
    if update:
        PAGE.write_text(wanted)
    tally.add("docs: each program is drawn, or refused with a reason", "\n".join(f"{t}: {p}" for t, p in problems) or None)
    tally.add("docs: the table of drawn programs is true", None if PAGE.read_text() == wanted else
              "write it anew: python3 tests/run.py --only docs --update")


def attempt(pxl, title, paths, folder):
    try:
        return "row", row(pxl, title, paths, folder)
    except AssertionError as problem:
        return "problem", str(problem)
