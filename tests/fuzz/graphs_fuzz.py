#!/usr/bin/env python3
"""Random graphs against NumPy, and each way to run them against the others.

A program has variables, elementwise ops, reductions, products, in-place ops, also of what they change, views of any kind, calls with arguments by
value and by reference (also of overlapping views), `repeat` and `conditional`, in float32, float16, float8, int32 and
bool. It runs as planned by default, with PXL_FUSE=off, without each transform of the plan, and on one, two and three
threads: every output must be the same text, that is the same bits. It is also evaluated by graph_meaning.py, where views
need no rules: the planned engine must agree with that, and the reference engine must. The engine of tiles runs it on
machines of 4 to 32 tiles: what only moves elements and computes them one by one must have the reference engine's bits.

    python3 tests/fuzz/graphs_fuzz.py --seconds 30 --seed 1
    python3 tests/fuzz/graphs_fuzz.py --seed 1 --replay 17     # one program again

A failure prints the smallest program found by dropping statements, and both results.
"""
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from frame import ROOT, batches, numpy, options

np = numpy()
from graph_maker import Maker, closed
from graph_meaning import expected
from graph_text import functions_of, program_text, script

PASSES = re.findall(r"^PXL_(?:LOWERING_)?PASS\((\w+)", (ROOT / "runtime/plan/passes.inc").read_text(), re.M)
# The first is what the others are compared with.
WAYS = [{"PXL_THREADS": "1"}, {"PXL_FUSE": "off", "PXL_THREADS": "1"}, {"PXL_THREADS": "2"}, {"PXL_THREADS": "3"},
        {"PXL_FUSE": "off", "PXL_THREADS": "3"}, {"PXL_THREADS": "7"}, {"PXL_THREADS": "64"},
        *({"PXL_TRANSFORMS": f"-{name}", "PXL_THREADS": "2"} for name in PASSES)]
REFERENCE = {"PXL_ENGINE": "reference"}  # rounds otherwise: compared with NumPy
TILES = [{"PXL_ENGINE": "tiles", "PXL_MACHINE": f"mk2,tiles={n}"} for n in (4, 7, 16, 32)]
SUMS = {"reduce", "matmul", "add_rows"}  # of statements: the order of sums depends on the partition
BATCH = 12  # programs a process


def run(pxl, programs, way):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "graphs.pxl"
        path.write_text(script(programs))
        environment = dict(os.environ, NO_COLOR="1", **way)
        try:
            done = subprocess.run([pxl, "run", path.name], cwd=folder, env=environment, capture_output=True, text=True,
                                  timeout=120)
        except subprocess.TimeoutExpired:
            return None, "no answer within 120 s"
    if done.returncode != 0:
        return None, f"exit status {done.returncode}\n{done.stderr[-1500:]}"
    found = {}
    for line in done.stdout.splitlines():
        number, turn, out, value = line.split(" ", 3)
        found[int(number), f"{turn} {out}"] = value
    return found, None


def values_of(text):
    return np.array(eval(text, {"nan": np.nan, "inf": np.inf, "true": True, "false": False}), dtype=np.float64)


def has(program, kinds):
    everything = [program[1], *(f.body for f in functions_of(program[1]).values())]
    return any(s[0] in kinds for statements in everything for s in statements)


def against_numpy(program, number, found):
    narrow, wide = expected(program, False), expected(program, True)
    halves = any("float16" in str(s) for s in [program_text(program, "p")])
    base = 4e-3 if halves else 2e-5
    if has(program, {"float8"}):
        base = 0.3  # one more unit before the conversion may be a step of an eighth or a quarter after it
    for key, value in narrow.items():
        got = values_of(found[number, key])
        want, other = value.astype(np.float64), wide[key].astype(np.float64)
        if got.shape != want.shape:
            return f"{key}: shape {got.shape}, NumPy has {want.shape}"
        if value.dtype.kind in "ib":
            if not np.array_equal(got, want):
                return f"{key}:\n  pxl   {got.tolist()}\n  NumPy {want.tolist()}"
            continue
        if not (np.isfinite(want).all() and np.isfinite(other).all()) or np.abs(other).max(initial=0) > 1e4:
            return None  # what follows from an overflow says nothing
        room = (base + 30 * np.abs(want - other).max(initial=0)) * (1 + np.abs(other).max(initial=0))
        if not (np.abs(got - want) <= room).all():
            return f"{key}: off by {np.nanmax(np.abs(got - want)):.3g}, {room:.3g} allowed\n" \
                   f"  pxl   {got.tolist()}\n  NumPy {want.tolist()}"
    return None


def first_difference(a, b, number):
    for key in a:
        if key[0] == number and a[key] != b.get(key):
            x, y = values_of(a[key]), values_of(b[key])
            with np.errstate(invalid="ignore"):
                return f"{key[1]}: they differ by {np.nanmax(np.abs(x - y)):.3g}\n  {a[key][:600]}\n  {b[key][:600]}"
    return None


def from_tiles(program, number, reference, found):
    """The problem of a run on tiles."""
    if has(program, SUMS):
        return against_numpy(program, number, found)
    return first_difference(reference, found, number)


def error_of(text):
    """The code of the error that a problem is, such as "in-place-order"; None where a program has wrong results."""
    code = re.search(r"^graphs\.pxl:.*error: .*\[([a-z-]+)\]$", text, re.M)
    return (code[1] if code else "exit status") if "exit status" in text else None


class Judge:
    def __init__(self, pxl):
        self.pxl = pxl
        self.programs = self.runs = 0

    def problem(self, program, ways=(*WAYS, REFERENCE, *TILES)):
        """(way, text) of the first thing wrong with one program, or None."""
        first, why = run(self.pxl, [(0, program)], ways[0])
        if why:
            return ways[0], why
        if why := against_numpy(program, 0, first):
            return ways[0], why
        for way in ways[1:]:
            other, why = run(self.pxl, [(0, program)], way)
            if not why and way in TILES:
                reference, why = run(self.pxl, [(0, program)], REFERENCE)
                why = why or from_tiles(program, 0, reference, other)
            elif not why:
                why = against_numpy(program, 0, other) if way == REFERENCE else first_difference(first, other, 0)
            if why:
                return way, why
        return None

    def batch(self, programs):
        """Numbers of the programs that have a problem."""
        self.programs += len(programs)
        first, why = run(self.pxl, programs, WAYS[0])
        self.runs += 1
        if why:
            return [n for n, _ in programs]
        bad = {n for n, program in programs if against_numpy(program, n, first)}
        reference = None
        for way in [*WAYS[1:], REFERENCE, TILES[programs[0][0] // BATCH % len(TILES)]]:
            other, why = run(self.pxl, programs, way)
            self.runs += 1
            if why:
                print(f"programs {programs[0][0]} to {programs[-1][0]} together, {way}: {why}", flush=True)
                return [n for n, _ in programs]
            if way in TILES:
                bad |= {n for n, program in programs if from_tiles(program, n, reference, other)}
            elif way == REFERENCE:
                reference = other
                bad |= {n for n, program in programs if against_numpy(program, n, other)}
            else:
                bad |= {n for n, _ in programs if first_difference(first, other, n)}
        return sorted(bad)

    def smaller(self, program, problem):
        ways = [WAYS[0]] if problem[0] == WAYS[0] else [WAYS[0], problem[0]]
        kind = problem[1].split(":")[0] if "exit status" in problem[1] or problem[0] == WAYS[0] else None

        def fails(candidate):
            try:
                found = self.problem(candidate, ways)
            except (KeyError, ValueError, AssertionError, IndexError):
                return None
            same = found and found[0] == problem[0] and error_of(found[1]) == error_of(problem[1])
            return found if same else None
        end = time.monotonic() + 120
        progress = True
        while progress and time.monotonic() < end:
            progress = False
            for block in [program[1], *(f.body for f in functions_of(program[1]).values())]:
                size = max(1, len(block) // 2)
                while size >= 1 and time.monotonic() < end:
                    i = 0
                    while i < len(block) and time.monotonic() < end:
                        before = list(block)
                        block[i:i + size] = []
                        known = {v[0] for v in program[0]}
                        for f in functions_of(program[1]).values():
                            if f.body is block:
                                known = {p[0] for p in f.params}
                        block[:] = closed(block, known)
                        found = fails(program)
                        if found:
                            problem, progress = found, True
                        else:
                            block[:] = before
                            i += size
                    size //= 2
        used = {n for s in program[1] for n in s[3]}
        fewer = ([v for v in program[0] if v[0] in used], program[1])
        return (fewer, fails(fewer)) if fails(fewer) else (program, problem)


def made(seed, number):
    return Maker(random.Random(f"{seed}/{number}")).program()


def report(judge, seed, number):
    """What is wrong with a program by itself, or None."""
    program = made(seed, number)
    problem = judge.problem(program)
    if not problem:
        return None
    program, problem = judge.smaller(program, problem)
    way = " ".join(f"{k}={v}" for k, v in problem[0].items())
    return f"program {number} of seed {seed}, {way}:\n{script([(0, program)])}\n{problem[1]}\n"


def fuzz(pxl, seconds, seed, first=0):
    """(programs, processes, reports) of a campaign; ends after the first five findings."""
    judge, reports = Judge(pxl), []
    for numbers in batches(seconds, BATCH):
        bad = judge.batch([(first + n, made(seed, first + n)) for n in numbers])
        texts = [text for n in bad if (text := report(judge, seed, n))]
        if bad and not texts:
            texts = [f"programs {bad} of seed {seed}: nothing is wrong with each of them alone\n"]
        for text in texts:
            print(text, flush=True)
        reports += texts
        if len(reports) >= 5:
            break
    return judge.programs, judge.runs, reports


def main():
    given = options(__doc__, replay=True, more={
        "--from": {"type": int, "default": 0, "dest": "first", "help": "number of the first program"},
        "--print": {"action": "store_true", "help": "with --replay: print the program, too"}})
    if given.replay is not None:
        if given.print:
            print(script([(0, made(given.seed, given.replay))]))
        print(report(Judge(given.pxl), given.seed, given.replay) or "nothing is wrong with it alone")
        return 0
    programs, runs, reports = fuzz(given.pxl, given.seconds, given.seed, given.first)
    print(f"{programs} programs, {runs} processes, {len(reports)} findings")
    return 1 if reports else 0


if __name__ == "__main__":
    sys.exit(main())
