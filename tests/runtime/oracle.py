"""Ops and their gradients against PyTorch: the fixtures of tests/oracle, written by tests/oracle/generate.py.

Each case is run as a program, in each of its dtypes. float32 must agree to 1e-5 and float16 to 4e-3, relative to the value and to the
largest value beside it.
"""
import json
import math
import re

TOLERANCE = {"float32": 1e-5, "float64": 1e-6, "float16": 4e-3}
# So many cases are one text: starting a process costs more than running a case.
BATCH = 40


def literal(spec, dtype):
    values = ", ".join(str(v).lower() for v in spec["values"])
    if not spec["values"]:
        return f"zeros({spec['shape']}, {dtype})"
    return f"array([{values}]).reshape({spec['shape']})"


def dtype_of(spec, dtype):
    return dtype if spec["floating"] else "bool" if spec["bool"] else "int32"


def program(number, case, dtype):
    names = list(case["inputs"])
    lines = [f"program case_{number} {{"]
    for name, spec in case["inputs"].items():
        kind = dtype_of(spec, dtype)
        values = dict(spec, values=[bool(v) for v in spec["values"]]) if spec["bool"] else spec
        lines.append(f"  variable {name}: {kind}{spec['shape']} = {literal(values, kind)}")
    expression = case["pxl"].replace("DTYPE", dtype)
    lines.append(f"  def f({', '.join(names)}) {{ return {expression} }}")
    lines.append(f"  info = ir.create_graph(f, {', '.join(names)}).call_with_info({', '.join(names)})")
    outputs = [f"y{i}" for i in range(len(case["outputs"]))]
    for i, name in enumerate(outputs):
        lines.append(f"  stream out {name} = info.outputs[{i}]")
    if "dy" in case:
        dy = ", ".join(f"constant({literal(s, dtype)}, {dtype})" for s in case["dy"])
        lines.append(f"  grads = info.backward([{dy}], [{', '.join(case['grads'])}])")
        for name in case["grads"]:
            lines.append(f"  stream out d_{name} = grads[{name}]")
            outputs.append(f"d_{name}")
    lines.append("}")
    lines.append(f"out = Session(case_{number}()).run()")
    for name in outputs:
        lines.append(f'print("@", {number}, "{name}", out.{name}.shape, out.{name}.dtype)')
        lines.append(f"print(out.{name}.reshape([-1]))")
    return "\n".join(lines) + "\n"


def parsed(text):
    """The printed arrays: {(case, output): (shape, dtype, values)}."""
    found = {}
    for block in text.split("@ ")[1:]:
        head, _, body = block.partition("\n")
        number, name, shape, dtype = re.fullmatch(r"(\d+) (\w+) \((.*)\) (\w+)", head).groups()
        words = body.replace("[", " ").replace("]", " ").split()
        special = {"True": 1.0, "False": 0.0}
        values = [special[w] if w in special else float(w) for w in words]
        found[int(number), name] = ([int(e) for e in shape.split(",") if e.strip()], dtype, values)
    return found


def difference(label, got, wanted, tolerance):
    shape, _, values = got
    if shape != wanted["shape"]:
        return f"{label} has shape {shape}, expected {wanted['shape']}"
    finite = [abs(v) for v in wanted["values"] if math.isfinite(v)]
    scale = max(finite, default=0.0)
    for i, (g, w) in enumerate(zip(values, wanted["values"])):
        if math.isnan(w) and math.isnan(g) or g == w:
            continue
        if not abs(g - w) <= tolerance * max(abs(w), 0.3 * scale, 1e-3):
            return f"{label}: element {i} is {g}, expected {w} (the largest is {scale})"
    return None


def problem_of(number, case, dtype, found):
    wanted = {f"y{i}": s for i, s in enumerate(case["outputs"])}
    wanted.update({f"d_{n}": s for n, s in case.get("grads", {}).items()})
    for name, spec in wanted.items():
        if (number, name) not in found:
            return f"{name} was not printed"
        problem = difference(name, found[number, name], spec, TOLERANCE[dtype])
        if problem:
            return problem
    return None


def oracle_tests(pxl, folder, add, run):
    """add(name, problem or None) for each. `run` runs a command and gives status, output and errors."""
    jobs = [(f"oracle: {path.stem}/{case['name']} {dtype}", case, dtype)
            for path in sorted(folder.glob("*.json"))
            for case in json.loads(path.read_text())
            for dtype in case["dtypes"]]
    for start in range(0, len(jobs), BATCH):
        batch = list(enumerate(jobs[start:start + BATCH]))
        texts = [program(number, case, dtype) for number, (_, case, dtype) in batch]
        code, out, err = run([str(pxl), "-"], stdin="".join(texts))
        found, errors = parsed(out), {}
        if code != 0:  # one fault stops them all: find whose it is
            found = {}
            for (number, _), text in zip(batch, texts):
                code, out, err = run([str(pxl), "-"], stdin=text)
                found.update(parsed(out))
                if code != 0:
                    errors[number] = f"exit status {code}\n{err[-1500:]}"
        for number, (name, case, dtype) in batch:
            problem = errors.get(number) or problem_of(number, case, dtype, found)
            add(name, problem and f"{case['pxl']}\n{problem}")
