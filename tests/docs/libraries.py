"""The names of other libraries and what pxl has for them: tests/docs/libraries.txt, which is a part of docs/coverage.md.

A section is a module, a line a public name of it. `NAME = EXPRESSION # CALL`: a name of pxl, or how an expression says it. `NAME : WORDS`: a
form of the language. `NAME - REASON`: it isn't there.

A call is the arguments, in pxl, and behind ` ~ ` what the other library computes, in Python; without it that is the name with the same
arguments. `#= OURS ~ THEIRS` are two whole expressions. The test compares the numbers. NumPy stands for JAX. One word in place of a call says
why there is none: dtype, draws (random), files, weights (tests/oracle or tests/lang/stdlib compares the layer) or onnx (the tests of ONNX do). The test also
lists PyTorch's names where PyTorch is installed, and reads JAX's from tests/docs/jax_names.txt.
"""
import collections
import json
import re
import tempfile
import pathlib

from tests.support.harness import TESTS, run

Row = collections.namedtuple("Row", "name kind text call")  # kind: "=", ":" or "-"
TABLE = TESTS / "docs/libraries.txt"
JAX = TESTS / "docs/jax_names.txt"
PYTHON = "/usr/bin/python3"  # has Debian's PyTorch and NumPy
IMPORTS = ["einsum", "images", "losses", "minimise", "nn", "onnx.shapes as shapes", "onnx.signals as signals", "onnx.windows as windows", "optim", "sparse", "testing"]
UNCALLED = {"dtype", "draws", "files", "weights", "onnx"}
# The arrays of calls; z has complex numbers, pairs in pxl.
ARRAYS = {"x": [[0.5, -1.25, 2.0], [-0.75, 1.5, 0.25]], "y": [[1.5, 0.5, -2.0], [0.25, -1.0, 2.5]], "p": [[0.5, 1.25, 2.0], [0.75, 1.5, 0.25]],
          "u": [0.25, -0.5, 0.75], "v": [1.0, -2.0, 3.0], "a": [[4.0, 1.0, 0.5], [1.0, 3.0, -0.5], [0.5, -0.5, 2.0]],
          "k": [6, -3, 4], "l": [1, 2, 3], "b": [True, False, True], "c": [False, False, True],
          "w": [[[[(i * 7 % 32) / 8 - 2 for i in range(16 * c + 4 * r, 16 * c + 4 * r + 4)] for r in range(4)] for c in range(2)]],
          "z": [[[0.5, 1.0], [-1.25, 0.5], [2.0, 0.0]], [[-0.75, 2.0], [1.5, -1.0], [0.25, 0.5]]]}
ENUMERATE = """import importlib, json, sys
public = {}
for module in sys.argv[1:]:
    m = importlib.import_module(module)
    made_here = lambda x: getattr(x, "__module__", None) is None or x.__module__.startswith("torch")
    public[module] = [n for n in dir(m) if n[0] != "_" and callable(getattr(m, n)) and made_here(getattr(m, n))]
print(json.dumps(public))
"""
# Computes [[module, expression], ...] from its input: lists of [shape, numbers], or the error's text.
THEIRS = """import importlib, json, sys, warnings
import numpy, torch
from torch.nn import functional as F
warnings.filterwarnings("ignore")
arrays, calls = json.load(sys.stdin)
def rate(scheduler, steps, **options):
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    schedule = scheduler(optimiser, **options)
    for _ in range(steps):
        optimiser.step()
        schedule.step()
    return schedule.get_last_lr()[0]
def flat(value):
    if isinstance(value, (list, tuple)):
        return [part for item in value for part in flat(item)]
    value = value.detach().numpy() if isinstance(value, torch.Tensor) else numpy.asarray(value)
    if value.dtype.kind == "c":
        value = numpy.stack([value.real, value.imag], -1)
    return [[list(value.shape), [repr(float(v)) for v in value.reshape(-1)]]]
given = {n: numpy.array(v, numpy.array(v).dtype if n in "bc" else numpy.int32 if n in "kl" else numpy.float32) for n, v in arrays.items()}
given["z"] = given["z"][..., 0] + 1j * given["z"][..., 1]
found = []
for module, text in calls:
    torches = module.startswith("torch")
    names = {n: torch.from_numpy(v) for n, v in given.items()} if torches else {n: v.copy() for n, v in given.items()}
    try:
        m = importlib.import_module(module.replace("jax.numpy", "numpy"))
        found.append(flat(eval(text, {**names, "m": m, "F": F, "torch": torch, "numpy": numpy, "rate": rate})))
    except Exception as e:
        found.append(f"{type(e).__name__}: {e}")
print(json.dumps(found))
"""
# Prints the numbers of a value, or of each in a list.
FLAT = """
def flat(value) {
  if isinstance(value, (list, tuple)) {
    parts = []
    for item in value { parts = parts + flat(item) }
    return parts
  }
  given = array(eval(value) if type(value) == "tensor" else value)
  return [[list(given.shape), [str(float(v)) for v in cast(given, float64).reshape([-1])]]]
}
"""
FOREIGN = {"Tensor", "LinAlgError", "Optimizer", "Counter", "bisect_right", "wraps", "factory_kwargs"}  # names that modules import


def tables():
    """{module: [Row, ...]}, in the order of the file."""
    found = {}
    for line in TABLE.read_text().splitlines():
        if line.startswith("["):
            rows = found.setdefault(line[1:-1], [])
        else:
            name, kind, text = line.split(" ", 2)
            text, _, call = text.partition(" #")
            rows.append(Row(name, kind, text, call))
    return found


def state(row):
    if row.kind != "=":
        return {":": "another form", "-": "refused"}[row.kind]
    return "has" if row.text.split(".")[-1] == row.name else "another name" if re.fullmatch(r"[\w.]+", row.text) else "an expression"


def page():
    """The lines of docs/coverage.md."""
    out = ["## Names of other libraries", "", "What pxl has for each public name of PyTorch 1.13 and of JAX's NumPy, from `tests/docs/libraries.txt`.",
           "A test resolves each name and expression, calls it, and compares the numbers with those of PyTorch and NumPy. Dtypes, files, draws and",
           "layers with weights are compared elsewhere. It also lists the names of PyTorch anew, and compares those of JAX with a list.", ""]
    for module, rows in tables().items():
        counts = collections.Counter(state(row) for row in rows)
        out += [f"### {module}", "", "; ".join(f"{kind}: {n}" for kind, n in sorted(counts.items())) + ".", "", "| name | | in pxl |", "|---|---|---|"]
        for row in rows:
            text = f"`{row.text}`" if row.kind == "=" else row.text
            out.append(f"| {row.name} | {state(row)} | {text.replace('|', chr(92) + '|')} |")
        out.append("")
    return out


def sides(module, row):
    """What pxl and what the other library computes, as expressions."""
    ours, _, theirs = row.call.partition(" ~ ")
    if ours[0] == "=":
        return ours[2:], theirs
    arguments = ours[1:]
    made = "m.NAME()" if module == "torch.nn" else "m.NAME"
    return f"({row.text})({arguments})", theirs or f"{made.replace('NAME', row.name)}({arguments.replace(' = ', '=')})"


def agree(ours, theirs):
    def close(a, b):
        return a == b or a != a and b != b or abs(a - b) <= 1e-5 + 1e-5 * abs(b)
    return len(ours) == len(theirs) and all(
        s == t and all(close(float(p), float(q)) for p, q in zip(a, b, strict=True)) for (s, a), (t, b) in zip(ours, theirs))


def compared(pxl):
    """Problems of rows: those without a call, errors, and other numbers than the other library's."""
    compares = "".join(p.read_text() for folder, kind in (("oracle", "*.py"), ("lang/stdlib", "*.pxl")) for p in sorted((TESTS / folder).rglob(kind)))
    lines, where, calls, problems = [f"import {name}" for name in IMPORTS], {}, [], []
    for name, value in ARRAYS.items():
        lines.append(f"{name} = array({json.dumps(value)}, {'bool' if name in 'bc' else 'int32' if name in 'kl' else 'float32'})")
    lines += FLAT.strip().splitlines()
    for module, rows in tables().items():
        for row in rows:
            at = f"{module}.{row.name}"
            if row.kind != "=":
                continue
            lines.append(f"resolved = {row.text}")
            where[len(lines)] = at
            if row.call[1:] in UNCALLED:
                layer = row.text.split(".")[-1]
                if row.call[1:] == "weights" and not re.search(rf"\b{layer}\b", compares):
                    problems.append(f"{at}: nothing in tests/oracle and tests/lang/stdlib names {row.text}")
            elif not row.call:
                problems.append(f"{at} has no call")
            else:
                ours, theirs = sides(module, row)
                lines.append(f"print(to_json(flat({ours})))")
                where[len(lines)] = at
                calls.append((at, module, theirs))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "names.pxl"
        path.write_text("\n".join(lines) + "\n")
        code, out, err = run([str(pxl), str(path)])
    if code:
        at = [where.get(int(n), n) for n in re.findall(r"names\.pxl:(\d+):\d+: error", err)]
        return f"{', '.join(at)}\n{err[-1500:]}", None
    code, found, err = run([PYTHON, "-c", THEIRS], stdin=json.dumps([ARRAYS, [call[1:] for call in calls]]), timeout=120)
    if code:
        return "\n".join(problems) or None, "no PyTorch for " + PYTHON
    for (at, _, text), ours, theirs in zip(calls, out.splitlines(), json.loads(found), strict=True):
        if isinstance(theirs, str):
            problems.append(f"{at}: {text}: {theirs}")
        elif not agree(json.loads(ours), theirs):
            problems.append(f"{at}: pxl {json.loads(ours)}, the other library {theirs}"[:400])
    return "\n".join(problems) or None, None


def unequal(module, public):
    """Public names of a module without a row, and rows without such a name."""
    rows = {row.name for row in tables()[module]}
    return [f"{module}.{n} has no row" for n in sorted(public - rows)] + [f"{module} has no {n}" for n in sorted(rows - public)]


def jax_names():
    """{module: names} of JAX's NumPy."""
    lines = [line for line in JAX.read_text().splitlines() if line and line[0] != "#"]
    found = collections.defaultdict(set)
    for module, names in (line.split(":") for line in lines):
        found[module].update(names.split())
    return found


def complete():
    """Names of PyTorch without a row, and rows without a name; none where PyTorch is not installed."""
    modules = [m for m in tables() if m.startswith("torch")]
    code, out, err = run([PYTHON, "-c", ENUMERATE, *modules], timeout=120)
    if code != 0:
        return None, "no PyTorch for " + PYTHON
    problems = []
    for module, public in json.loads(out).items():
        problems += unequal(module, set(public) - FOREIGN | ({"Optimizer"} if module == "torch.optim" else set()))
    return "\n".join(problems) or None, None


def names_tests(pxl, add, skip):
    problem, absent = compared(pxl)
    add("docs: names of other libraries resolve, and compute the same", problem)
    if absent:
        skip("docs: numbers of other libraries", absent)
    add("docs: names of JAX", "\n".join(p for module, public in jax_names().items() for p in unequal(module, public)) or None)
    problem, absent = complete()
    if absent:
        skip("docs: names of PyTorch", absent)
    else:
        add("docs: names of PyTorch", problem)
