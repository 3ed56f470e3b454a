#!/usr/bin/env python3
"""Signs of zeros, NaN and infinities of every op: the same for each engine, instruction set and way to plan, and for arrays.

A program has a tensor or two of a random shape and floating dtype, whose elements are -0, 0, NaN, infinities and small whole
numbers, and some of the ops of docs/ops.md that take them: all of one or two tensors whose other parameters have defaults, and
those of FORMS below. The comparison of an element is whether it is -0, 0, NaN, -inf, inf, a negative or a positive number.

    python3 tests/fuzz/zeros_fuzz.py --seconds 30 --seed 1
    python3 tests/fuzz/zeros_fuzz.py --seed 1 --replay 17     # one program again
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from frame import ROOT, batches, options

# The first is what the others are compared with.
WAYS = [{}, {"PXL_FUSE": "off"}, {"PXL_THREADS": "3"}, {"PXL_ENGINE": "reference"},
        {"PXL_ENGINE": "tiles", "PXL_MACHINE": "mk2,tiles=4"}, {"PXL_ENGINE": "tiles", "PXL_MACHINE": "mk2,tiles=13"}]
OPS = 24  # a program
# Ops whose zeros have no defined sign. Sums of products start from 0 or from the first product, and the rest of a
# difference rounds to either side.
UNSIGNED_ZERO = {"det", "fft", "fft2", "ifft", "ifft2", "irfft", "irfft2", "lrn", "rfft", "rfft2"}
# Decompositions have several results, or refuse most matrices.
DECOMPOSITIONS = {"cholesky", "eigh", "inverse", "qr", "slogdet", "svd"}
# x is [rows, columns], y the same.
FORMS = [f"{f}(x, axis = {a})" for f in ("max", "min", "sum", "mean", "prod", "l1", "l2", "median") for a in (0, 1)]
FORMS += [f"clip(x, {a}, {b})" for a in ("-0.0", "0.0", "-1") for b in ("-0.0", "0.0", "1")]
FORMS += ["max_pool(reshape(x, [1, 1, rows, columns]), [2, 2], padding = [1, 1, 1, 1])", "max_pool(reshape(x, [1, rows, columns]), [3], [2])",
          'scatter_reduce(x, index, "max", axis_size = 2)', 'scatter_reduce(x, index, "min", axis_size = 2)', "softmax(x, 1)", "log_softmax(x, 1)",
          "maximum(x, y, x * y)", "minimum(x, y, x + y)", "where(x > y, x, y)", "concat(x, y)", "clip(maximum(x, y), -1, 0)",
          "relu(max(x, axis = 0))", "max(relu(x), axis = 1)", "min(maximum(x, y), axis = 0)", "topk(x, 1)[0]", "argmax(x, 1)", "argmin(x, 0)"]
HEAD = """def classes(v) {
  v = array(v, float64)
  return where(isnan(v), 6, where(v == 0, where(1 / v > 0, 1, 0), where(isinf(v), where(v > 0, 5, 4), where(v > 0, 3, 2))))
}
def show(name, v) {
  r = classes(v)
  print(name, "".join([str(int(c)) for c in r.reshape([r.size]).tolist()]))
}
"""


def op_forms():
    """Calls of the ops in docs/ops.md with x and y."""
    text = (ROOT / "docs/ops.md").read_text().split("\n## ops.collectives")[0]
    forms = []
    for name, params, kinds in re.findall(r"^### `(\w+)\(([^`]*)\)`\n\n.*?\n\n([^\n]*)", text, re.M):
        required = [p for p in params.split(", ") if " = " not in p and p]
        if "dtypes" not in kinds and "numbers" not in kinds and "floats" not in kinds or name.endswith("_") or name in UNSIGNED_ZERO | DECOMPOSITIONS:
            continue
        if len(required) == 1 and required[0] in ("t", "x", "*ts"):
            forms.append(f"ops.{name}(x)")
        elif required in (["lhs", "rhs"], ["t", "slope"]):
            forms.append(f"ops.{name}(x, y)")
    return forms


def make(seed, number, forms):
    """The calls of a program, and its text before them."""
    r = random.Random(f"{seed} {number}")
    rows, columns = r.choice([1, 2, 3, 5, 8, 17, 33]), r.choice([1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 33, 65])
    dtype = r.choice(["float32", "float32", "float16", "float64"])
    values = r.choice([["-0.0", "0.0"], ["-0.0", "0.0", "-1.0", "1.0"], ["-0.0", "0.0", "nan", "-inf", "inf", "1.0", "-2.0", "0.5"],
                       ["-0.0"] * 15 + ["0.0"], ["0.0"] * 15 + ["-0.0"]])
    text = HEAD + f"rows, columns = {rows}, {columns}\nindex = array([{', '.join(str(r.randrange(2)) for _ in range(rows))}])\n"
    for name in "ab":
        elements = [[number_text(r.choice(values)) for _ in range(columns)] for _ in range(rows)]
        text += f"{name} = array([{', '.join('[' + ', '.join(row) + ']' for row in elements)}], {dtype})\n"
    return r.sample(forms, min(OPS, len(forms))), text


def program(calls, text):
    outs = "".join(f"  stream out v{i} = {call}\n" for i, call in enumerate(calls))
    text += f"program p {{\n  x, y = variable(a), variable(b)\n{outs}}}\nr = Session(p()).run()\nx, y = a, b\n"
    return text + "".join(f"show({i}, r.v{i})\nshow({i}, {call})\n" for i, call in enumerate(calls))


def run(pxl, text, way):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "zeros.pxl"
        path.write_text(text)
        return subprocess.run([pxl, "run", path.name], cwd=folder, env=dict(os.environ, NO_COLOR="1", **way), capture_output=True,
                              text=True, timeout=300)


def accepted(pxl, calls, text, forms):
    """The output of the first way; ops that do not take these operands leave the calls, and `forms`."""
    while calls:
        done = run(pxl, program(calls, text), WAYS[0])
        if done.returncode == 0:
            return done.stdout
        found = re.search(r"^zeros\.pxl:(\d+):", done.stderr, re.M)
        line = program(calls, text).splitlines()[int(found.group(1)) - 1] if found else ""
        number = re.search(r"stream out v(\d+)|show\((\d+)", line)
        if done.returncode != 65 or not number:
            return f"exit status {done.returncode}\n{done.stderr[-2000:]}"
        call = calls.pop(int(number.group(1) or number.group(2)))
        forms.remove(call)
    return ""


def differences(pxl, calls, text, first):
    """[(call, way, found, other)] of the classes that are not the same in each way."""
    found, n = [], len(calls)
    lines = first.splitlines()
    for i in range(n):
        if lines[2 * i] != lines[2 * i + 1]:
            found.append((calls[i], "an array", lines[2 * i], lines[2 * i + 1]))
    for way in WAYS[1:]:
        done = run(pxl, program(calls, text), way)
        if done.returncode != 0:
            found.append(("", way, "", f"exit status {done.returncode}\n{done.stderr[-2000:]}"))
            continue
        for i, (one, other) in enumerate(zip(lines, done.stdout.splitlines())):
            if one != other:
                found.append((calls[i // 2] + (" of arrays" if i % 2 else ""), way, one, other))
    return found


def number_text(v):
    return {"nan": 'float("nan")', "inf": 'float("inf")', "-inf": '-float("inf")'}.get(v, v)


def main():
    given = options(__doc__, replay=True)
    told = json.loads(subprocess.run([given.pxl, "--json", "--version"], check=True, capture_output=True, text=True).stdout)
    built = told["instruction_sets"]
    WAYS.extend({"PXL_ISA": name} for name in built[:built.index(told["instruction_set"])])  # those that run here
    forms, failures, programs, tries = sorted(set(op_forms() + FORMS)), {}, 0, 0
    for at, in batches(given.seconds) if given.replay is None else [[given.replay]]:
        calls, text = make(given.seed, at, list(forms))
        first = accepted(given.pxl, calls, text, forms)
        if first.startswith("exit"):
            failures[first] = at
        elif calls:
            tries += len(calls)
            for call, way, one, other in differences(given.pxl, calls, text, first):
                failures.setdefault(f"{call}: {way}", f"program {at}: {one} is {other}")
        programs += 1
        if given.replay is not None:
            print(program(calls, text))
    for what, which in failures.items():
        print(f"{what}: {which}")
    print(f"{programs} programs, {tries} calls in {len(WAYS)} ways and on arrays, {len(forms)} forms, {len(failures)} differences")
    return 1 if failures or not tries else 0


if __name__ == "__main__":
    sys.exit(main())
