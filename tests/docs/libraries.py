"""The names of other libraries and what pxl has for them: tests/docs/libraries.txt, which is a part of docs/coverage.md.

A section is a module, a line a public name of it. `NAME = EXPRESSION`: a name of pxl, or how an expression says it. `NAME : WORDS`: a form
of the language. `NAME - REASON`: it isn't there. The test resolves each expression, and lists PyTorch's names where PyTorch is installed.
"""
import collections
import json
import re
import tempfile
import pathlib

from tests.support.harness import TESTS, run

Row = collections.namedtuple("Row", "name kind text")  # kind: "=", ":" or "-"
TABLE = TESTS / "docs/libraries.txt"
PYTHON = "/usr/bin/python3"  # has Debian's PyTorch
IMPORTS = ["einsum", "images", "losses", "nn", "onnx.shapes as shapes", "onnx.signals as signals", "onnx.windows as windows", "optim", "sparse"]
ENUMERATE = """import importlib, json, sys
public = {}
for module in sys.argv[1:]:
    m = importlib.import_module(module)
    made_here = lambda x: getattr(x, "__module__", None) is None or x.__module__.startswith("torch")
    public[module] = [n for n in dir(m) if n[0] != "_" and callable(getattr(m, n)) and made_here(getattr(m, n))]
print(json.dumps(public))
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
            rows.append(Row(name, kind, text))
    return found


def state(row):
    if row.kind != "=":
        return {":": "another form", "-": "refused"}[row.kind]
    return "has" if row.text.split(".")[-1] == row.name else "another name" if re.fullmatch(r"[\w.]+", row.text) else "an expression"


def page():
    """The lines of docs/coverage.md."""
    out = ["## Names of other libraries", "", "What pxl has for each public name of PyTorch 1.13 and of JAX's NumPy, from `tests/docs/libraries.txt`.",
           "A test resolves each name and expression, and lists the names of PyTorch anew.", ""]
    for module, rows in tables().items():
        counts = collections.Counter(state(row) for row in rows)
        out += [f"### {module}", "", "; ".join(f"{kind}: {n}" for kind, n in sorted(counts.items())) + ".", "", "| name | | in pxl |", "|---|---|---|"]
        for row in rows:
            text = f"`{row.text}`" if row.kind == "=" else row.text
            out.append(f"| {row.name} | {state(row)} | {text.replace('|', chr(92) + '|')} |")
        out.append("")
    return out


def resolved(pxl):
    """Each expression is a value of pxl; one program has them all."""
    lines, where = [f"import {name}" for name in IMPORTS], {}
    for module, rows in tables().items():
        for row in rows:
            if row.kind == "=":
                where[len(lines) + 1] = f"{module}.{row.name}"
                lines.append(f"resolved = {row.text}")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "names.pxl"
        path.write_text("\n".join([*lines, "print(type(resolved))"]) + "\n")
        code, out, err = run([str(pxl), str(path)])
    at = [where.get(int(n), n) for n in re.findall(r"names\.pxl:(\d+)", err)]
    return None if code == 0 else f"{', '.join(at)}\n{err[-1500:]}"


def complete():
    """Names of PyTorch without a row, and rows without a name; none where PyTorch is not installed."""
    modules = [m for m in tables() if m.startswith("torch")]
    code, out, err = run([PYTHON, "-c", ENUMERATE, *modules], timeout=120)
    if code != 0:
        return None, "no PyTorch for " + PYTHON
    problems = []
    for module, public in json.loads(out).items():
        rows, public = {row.name for row in tables()[module]}, set(public) - FOREIGN
        if module == "torch.optim":
            rows.discard("Optimizer")
        problems += [f"{module}.{n} has no row" for n in sorted(public - rows)] + [f"{module} has no {n}" for n in sorted(rows - public)]
    return "\n".join(problems) or None, None


def names_tests(pxl, add, skip):
    add("docs: names of other libraries resolve", lambda: resolved(pxl))
    problem, absent = complete()
    if absent:
        skip("docs: names of PyTorch", absent)
    else:
        add("docs: names of PyTorch", problem)
