"""Fuzzers of the language: mutated programs into the parser, the formatter, the check, the language server and the interpreter
(tests/mutants), comments at every token into the formatter (tests/fuzz/comments.cpp), calls of everything with arguments that do
not fit (tests/fuzz/calls.cpp), and edits of open documents (tests/fuzz/edits.py)."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tests.support.harness import ROOT

CORPUS = ["examples", "stdlib", "bench", "tests/lang", "tests/golden", "tests/repeat", "tests/fmt", "tests/found"]


def least(seconds):
    """The fewest mutants or calls in so many seconds on a slow machine, beside what else runs."""
    return 10 * seconds / (1 + os.getloadavg()[0])


def mutant_tests(build, seconds, add):
    program = build / "mutants"
    if not program.exists():
        add("mutants", f"{program} is not built")
        return
    found = sorted((ROOT / "tests/found").glob("*.pxl"))
    done = subprocess.run([str(program), "--replay", *map(str, found)], cwd=ROOT, capture_output=True, text=True, timeout=300)
    add("mutants: what was found before", None if done.returncode == 0 else done.stdout + done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(program), "--seconds", str(seconds), "--seed", "1", "--findings", folder, *CORPUS],
                              cwd=ROOT, capture_output=True, text=True, errors="replace", timeout=seconds + 120)
        problem = None
        if done.returncode != 0:
            texts = "".join(f"{p.name}:\n{p.read_bytes().decode(errors='replace')[:3000]}\n" for p in pathlib.Path(folder).iterdir())
            problem = f"status {done.returncode}\n{done.stdout}{done.stderr}\n{texts}"
        elif int(re.match(r"(\d+) mutants", done.stdout).group(1)) < least(seconds):
            problem = done.stdout
        add(f"mutants: {done.stdout.strip() or seconds}", problem)


def call_tests(build, seconds, add):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(build / "calls"), "--seconds", str(seconds), "--findings", folder, "--keep-going"], cwd=ROOT,
                              capture_output=True, text=True, errors="replace", timeout=seconds + 200)
        last = done.stdout.strip().split("\n")[-1]
        problem = None
        if done.returncode != 0:
            texts = "".join(f"{p.name}: {p.read_bytes().decode(errors='replace')[:2000]}\n" for p in pathlib.Path(folder).iterdir())
            problem = f"status {done.returncode}\n{last}\n{done.stderr}\n{texts}"
        elif int(re.match(r"(\d+) calls", last).group(1)) < least(seconds):
            problem = last
        add(f"calls: {last}", problem)


def comment_tests(build, every, add):
    """Comments inserted at every token of programs, at one in `every` for a shorter run."""
    done = subprocess.run([str(build / "comments"), "--every", str(every), "examples", "tests/fmt", "stdlib"], cwd=ROOT, capture_output=True,
                          text=True, timeout=1200)
    add(f"comments: {done.stdout.strip().splitlines()[-1] if done.stdout else 'no output'}", None if done.returncode == 0 else done.stdout + done.stderr)


def edit_tests(pxl, seconds, add):
    sys.path.insert(0, str(ROOT / "tests/fuzz"))
    import edits
    done = edits.campaign(pxl, seconds, 1)
    add(f"edits: {done} series", None if done else "none")


def fuzzers(build, seconds, tally, edits=True):
    """Each for so many seconds; without `edits`, those that are programs of the build."""
    tally.run("mutants", lambda: mutant_tests(build, seconds, tally.add))
    tally.run("calls", lambda: call_tests(build, seconds, tally.add))
    tally.run("comments", lambda: comment_tests(build, max(1, 120 // seconds), tally.add))
    if edits:
        tally.run("edits", lambda: edit_tests(build / "pxl", seconds, tally.add))
