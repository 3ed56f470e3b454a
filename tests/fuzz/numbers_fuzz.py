#!/usr/bin/env python3
"""Numbers and elements of every dtype, against NumPy and Python.

A number beside elements is rounded to nearest in their dtype, or refused: a case is an op, a dtype, and numbers at, beyond and
between those of the dtype. A number beyond the range is an error. A fraction beside ints makes float32 of an array, and is an
error beside a tensor of a graph. These cases run on arrays and in graphs, by the planned engine, by definitions and on tiles.
Other cases compare ints of any two dtypes, read elements as numbers and text, and divide floats of the host.

    python3 tests/fuzz/numbers_fuzz.py --seconds 30 --seed 1
    python3 tests/fuzz/numbers_fuzz.py --seed 1 --replay 17     # one batch again
"""
import math
import random
import re
import sys

from frame import ENGINES, batches, numpy, options, run_in

np = numpy()
BATCH = 120  # cases a process
DTYPES = {np.dtype(name): name for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
                                             "float16", "float32", "float64")}
INTS = [2**b + d for b in (0, 7, 8, 11, 15, 16, 24, 31, 32, 53, 62) for d in (-1, 0, 1)] + [2**63 - 1, 300, 70000]
FLOATS = [0.5, 1.5, 0.1, 2.5e-8, 65504.0, 65519.9, 65520.0, 70000.5, 3.4028235e38, 3.4028236e38, 1e39, 1e-46, 1e300, 2.0,
          16777217.0, 2049.0, math.inf]


def text(v):
    return f"({v})" if isinstance(v, int) else f"({'-' if v < 0 else ''}{abs(v)!r})"


def held(v, dtype):
    """The number in the dtype, or None where it is refused."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            rounded = dtype.type(v)
        return None if np.isinf(rounded) and not (isinstance(v, float) and math.isinf(v)) else rounded
    if isinstance(v, float):
        return None
    info = np.iinfo(dtype)
    return dtype.type(v) if info.min <= v <= info.max else None


class Case:
    """`pxl` is an expression of x; `f` what NumPy makes of the elements and the numbers in their dtype."""

    def __init__(self, rng):
        self.dtype = rng.choice(list(DTYPES))
        self.in_graph = rng.random() < 0.6
        pool = INTS + (FLOATS if self.dtype.kind == "f" or rng.random() < 0.3 else [])
        self.v, self.w = (rng.choice(pool) * rng.choice([1, 1, -1]) for _ in range(2))
        top = np.iinfo(self.dtype) if self.dtype.kind != "f" else None
        self.x = [rng.choice([0, 1, 2, 3, 100]) for _ in range(3)]
        if top:
            self.x[2] = rng.choice([top.min, min(top.max, 2**63 - 1), 5])
        self.name, self.pxl, self.f, self.uses = rng.choice(OPS)

    def expectation(self):
        dtype, numbers = self.dtype, [self.v, self.w][:self.uses]
        if dtype.kind != "f" and any(isinstance(n, float) for n in numbers):
            if self.in_graph:
                return None
            dtype = np.dtype("float32")
        numbers = [held(n, dtype) for n in numbers]
        if any(n is None for n in numbers):
            return None
        with np.errstate(all="ignore"):
            x = np.array(self.x, dtype=self.dtype).astype(dtype)
            return np.asarray(self.f(x, *numbers))

    def verdict(self, value, error):
        want = self.expectation()
        if want is None:
            if error is None:
                return f"{value}, where the number must be refused"
            return None if "cannot become" in error else f"another error: {error}"
        if value is None:
            return f"error: {error}"
        got = np.array(read(value))
        if want.dtype.kind == "f":
            got = got.astype(want.dtype)
        return None if np.array_equal(got, want, equal_nan=want.dtype.kind == "f") else f"{value}, not {want.tolist()}"

    def line(self, number):
        x = f"array({self.x}, {DTYPES[self.dtype]})"
        e = self.pxl.format(x="X", v=text(self.v), w=text(self.w))
        variable = f"variable({x}, dtype = {DTYPES[self.dtype]})"
        value = f"eval({e.replace('X', variable)})" if self.in_graph else f"({e.replace('X', x)})"
        return f"print({number}, {value}.tolist())"


class Exact:
    """A case whose value is known: its expression is a list."""

    def verdict(self, value, error):
        if value is None:
            return f"error: {error}"
        return None if repr(read(value)) == repr(self.want) else f"{value}, not {self.want}"

    def line(self, number):
        return f"print({number}, {self.pxl})"


def ints(rng, dtype):
    """Ints of a dtype, and how they are written: large ones of uint64 as complements."""
    info = np.iinfo(dtype)
    values = [rng.choice([v for v in (*INTS, *(-v for v in INTS), info.min, info.max) if info.min <= v <= min(info.max, 2**63 - 1)])
              for _ in range(3)]
    written = f"array({values}, {DTYPES[np.dtype(dtype)]})"
    if np.dtype(dtype) == np.uint64 and rng.random() < 0.6:
        return [2**64 - 1 - v for v in values], f"(~{written})"
    return values, written


class Comparison(Exact):
    def __init__(self, rng):
        (a, left), (b, right) = (ints(rng, rng.choice([d for d in DTYPES if d.kind != "f"])) for _ in range(2))
        sign, f = rng.choice([("==", int.__eq__), ("!=", int.__ne__), ("<", int.__lt__), ("<=", int.__le__), (">", int.__gt__),
                              (">=", int.__ge__)])
        self.pxl, self.want = f"({left} {sign} {right}).tolist()", [f(x, y) for x, y in zip(a, b)]


class Reading(Exact):
    def __init__(self, rng):
        values, written = ints(rng, "uint64")
        v = values[0]
        self.want = [values, float(v), v, f"{v:x}", f"{v:,}", str(v), v in values[1:], values.index(max(values)),
                     sorted(values) == values, {v: 1}[v]]
        x = f"{written}[0]"
        self.pxl = (f"[{written}.tolist(), float({x}), int({x}), f'{{{x}:x}}', f'{{{x}:,}}', str({x}), int({x}) in {written}[1:], "
                    f"int(argmax({written})), bool(all(sort({written})[0] == {written})), {{int({x}): 1}}[int({x})]]")


class Division(Exact):
    def __init__(self, rng):
        def number():
            return rng.choice([rng.uniform(-10, 10), rng.randrange(-9, 9), 0.1, 0.3, 1e10, 1e300, math.inf, 2.5e-8]) * rng.choice([1, -1])
        a, b = float(number()), number() or 1
        self.pxl, self.want = f"[{text(a)} // {text(b)}, {text(a)} % {text(b)}]", [a // b, a % b]


def read(value):
    return eval(value, {"nan": math.nan, "inf": math.inf, "true": True, "false": False})


def clip(x, v, w):
    return np.minimum(np.maximum(x, v), w)


# Name, expression, meaning, and how many numbers it has.
OPS = [
    ("add", "X + {v}", lambda x, v: x + v, 1),
    ("rsub", "{v} - X", lambda x, v: v - x, 1),
    ("mul", "X * {v}", lambda x, v: x * v, 1),
    ("equal", "X == {v}", lambda x, v: x == v, 1),
    ("less", "X < {v}", lambda x, v: x < v, 1),
    ("maximum", "maximum(X, {v})", np.maximum, 1),
    ("where", "where(X == X, {v}, X)", lambda x, v: np.where(x == x, v, x), 1),
    ("clip", "clip(X, max = {v})", np.minimum, 1),
    ("clip", "clip(X, {v}, {w})", clip, 2),
    ("pad", "pad(X, [1, 0], {v})", lambda x, v: np.concatenate([np.array([v], dtype=x.dtype), x]), 1),
    ("increment_mod", "increment_mod(X, {v}, 1)", lambda x, v: np.fmod(x + v, x.dtype.type(1)), 1),
]


def is_ordered(case):
    """Bounds in the wrong order are another error."""
    return isinstance(case, Exact) or case.name != "clip" or case.uses == 1 or float(case.v) <= float(case.w)


def run(pxl, cases, engine):
    lines = "\n".join(c.line(i) for i, c in enumerate(cases)) + "\n"
    done = run_in(engine, [pxl, "repl"], lines)
    values = {int(m[1]): m[2] for m in re.finditer(r"^(\d+) (\[.*\])$", done.stdout, re.M)}
    errors = {int(m[1]) - 1: m[2] for m in re.finditer(r"^\[(\d+)\]:\d+:\d+: error: (.*)$", done.stderr, re.M)}
    if done.returncode < 0 or done.returncode > 123:
        return values, errors, f"exit status {done.returncode}"
    return values, errors, None


def batch_of(seed, number):
    rng = random.Random(seed * 1000003 + number)
    cases = []
    while len(cases) < BATCH:
        case = rng.choice([Case, Case, Case, Comparison, Reading, Division])(rng)
        if is_ordered(case):
            cases.append(case)
    return cases


def main():
    o = options(__doc__, seconds=10, replay=True)
    tried = failures = 0
    for number, in batches(o.seconds) if o.replay is None else [[o.replay]]:
        cases = batch_of(o.seed, number)
        for engine in ENGINES:
            values, errors, ended = run(o.pxl, cases, engine)
            if ended:
                print(f"batch {number}, {engine}: {ended}")
                failures += 1
            for i, case in enumerate(cases):
                why = case.verdict(values.get(i), errors.get(i))
                tried += 1
                if why:
                    failures += 1
                    print(f"batch {number}, {engine}: {case.line(i)}: {why}")
    print(f"{tried} numbers and elements, {failures} failures")
    sys.exit(failures > 0)


main()
