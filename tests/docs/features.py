"""Features by where they run, and those of functions inside each other: a test for each cell of the tables in docs/language.md."""
import pathlib
import tempfile

from tests.docs.feature_hosts import HOSTS, printed_by_host
from tests.docs.session_features import FEATURES as SESSIONS
from tests.docs.session_features import FILES, HOST, text_of
from tests.docs.session_features import ONNX as READ_AGAIN
from tests.support.harness import ROOT, Unavailable, parallel, run

PAGE = ROOT / "docs/language.md"
X = "[[0.5, -1.0, 2.0], [1.5, 0.25, -0.5]]"

# A program computes the expression with a tensor x: float32[2, 3]. The lists have the result's elements and the gradient of their sum.
FEATURES = {
    "captures": ("", "scan((s, r) => (s * 0.5 + sum(x), s + r), constant(zeros([3])), x)[1]",
                 [0.5, -1, 2, 4.25, 3, 2.25], [4, 4, 4, 4, 4, 4]),
    "derivatives": ("", "grad((v) => sum(v ** 4))(x)", [0.5, -4, 32, 13.5, 0.0625, -0.5], [3, 12, 48, 27, 0.75, 3]),
    "`jvp`": ("", "jvp((v) => v ** 3, x, x)[1]", [0.375, -3, 24, 10.125, 0.046875, -0.375], [2.25, 9, 36, 20.25, 0.5625, 2.25]),
    "`vmap`": ("", "vmap((v) => v * sum(v))(x)", [0.75, -1.5, 3, 1.875, 0.3125, -0.625], [3, 3, 3, 2.5, 2.5, 2.5]),
    "`repeat_while`": ("", "repeat_while((v, n) => (v * 1.5, n + 1), (v, n) => sum(abs(v)) < 100, x, 0, bound = 30)[0]",
                       [12.814453, -25.628906, 51.257813, 38.443359, 6.407227, -12.814453], [25.628906] * 6),
    "`repeat`": ("", "repeat((v) => v * 1.5, constant(2), x, bound = 3)", [1.125, -2.25, 4.5, 3.375, 0.5625, -1.125], [2.25] * 6),
    "trees": ('def twice(t) { return {"a": t["a"] * 2, "b": t["b"] + 1} }\n',
              'ir.create_graph(twice, {"a": x, "b": x})({"a": x, "b": x})["b"]', [1.5, 0, 3, 2.5, 1.25, 0.5], [1] * 6),
    "`try`": ("def tried(v) {\n  try {\n    gone = relu(v) * 3\n    fail('no')\n  } catch fail { return v * 2 }\n}\n",
              "tried(x) + (try fail('no') else x)", [1.5, -3, 6, 4.5, 0.75, -1.5], [3] * 6),
    "records": ("record Pair(a: float32[2, 3], b: float32[2, 3])\ndef swap(p) { return Pair(p.b, p.a * 2) }\n",
                "ir.create_graph(swap, Pair(x, x))(Pair(x, x)).b", [1, -2, 4, 3, 0.5, -1], [2] * 6),
}

PROGRAM = """{declarations}def compute(x) {{ return {expression} }}
outlined def shared(x) {{ return compute(x) }}
def numbers(y) {{ return [float(v) for v in y.reshape([y.size])] }}
program p{head} {{
  stream in given: float32[2, 3]
  x = host_load(given)
{streams}}}
"""
RUN = "out = Session(p()).run(given = array({x}))\nfor i in range({n}) {{ print(numbers(getattr(out, f\"y{{i}}\"))) }}\n"
ONNX = """module Net() {{ build(x) {{ return compute(x) }} }}
export_onnx(Net().create_graph(float32[2, 3])[1], "net.onnx")
from "net.onnx" import Model
program q {{
  stream in given: float32[2, 3]
  x = host_load(given)
  stream out y = Model().bound(x)(x)
}}
print(numbers(Session(q()).run(given = array({x})).y))
"""
PLACES = ["planned", "reference", "tiles", "replicas", "ONNX", "Python", "C++", "REPL", "notebook", "editor"]
INSIDE = {
    "`grad`": "grad((v) => sum(compute(v)))(x)",
    "`vmap`": "vmap((v) => compute(v))(stack([x * 0.5, x], axis = 0))[1]",
    "`scan`": "scan((s) => compute(s), x, none, count = 1)",
    "`repeat_while`": "repeat_while((v, n) => (compute(v), n + 1), (v, n) => n < 1, x, 0, bound = 1)[0]",
    "`conditional`": "conditional(sum(x) > -100, (v) => compute(v), (v) => v, [x], [x])",
    "`outlined def`": "shared(x)",
}
DRIVES = {"Python": f"show(m.Session('p').run(given={X}).y0)\n",
          "C++": 'auto s = m.session("p").value();\nV x{' + X.replace("[", "").replace("]", "") + '};\nshow(s.run({{"given", {x, {2, 3}}}}).value()["y0"]);\n'}
# Refusals by feature and place: a text of the error.
REFUSED = {}


def printed(pxl, text, arguments):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            (pathlib.Path(folder) / name).write_text(content)
        path = pathlib.Path(folder) / "feature.pxl"
        path.write_text(text)
        typed = text if arguments == ["repl"] else ""
        code, out, err = run([str(pxl), *arguments, *([] if typed else [path.name])], cwd=folder, env={"NO_COLOR": "1"}, stdin=typed)
    # The REPL also shows what a run returns.
    return [eval(line) for line in out.splitlines() if line.startswith("[")] if code == 0 else None, err


def program(feature, head, expressions):
    declarations, expression, _, _ = FEATURES[feature]
    streams = "".join(f"  stream out y{i} = {e}\n" for i, e in enumerate(expressions))
    return PROGRAM.format(declarations=declarations, expression=expression, head=head, streams=streams)


def near(numbers, expected):
    return len(numbers) == len(expected) and all(abs(a - b) <= 1e-4 * (1 + abs(b)) for a, b in zip(numbers, expected))


def of_functions(feature, place):
    """What is run for a feature of functions in a place: its text, what drives it, the lists that it prints, and the text of its refusal."""
    replicas = place == "replicas"
    text = program(feature, " with replicated(2)" if replicas else "", ["compute(x)"])
    drive = DRIVES.get(place) or (ONNX.format(x=X) if place == "ONNX" else RUN.format(x=f"[{X}, {X}]" if replicas else X, n=1))
    return text, drive, [FEATURES[feature][2] * (2 if replicas else 1)], REFUSED.get((feature, place))


def of_sessions(feature, place):
    """The same for a feature of sessions. Without a text the refusal is a reason."""
    _, use, expected, in_python, in_cpp, onnx, of_onnx = SESSIONS[feature]
    refusal = None
    if place == "ONNX":
        if onnx == HOST:
            return None, None, None, HOST
        refusal, onnx = (onnx if isinstance(onnx, tuple) else (None, onnx + READ_AGAIN))
        expected = [of_onnx]
    drive = {"Python": in_python, "C++": in_cpp, "ONNX": onnx}.get(place, use)
    return text_of(feature, place == "replicas"), drive, expected, refusal


CELLS = {(of, feature, place): (of_functions if of == "functions" else of_sessions)(feature, place)
         for of, features in (("functions", FEATURES), ("sessions", SESSIONS)) for feature in features for place in PLACES}


def cell_problem(pxl, cell, by_host):
    place, (text, drive, expected, refusal) = cell[2], CELLS[cell]
    if place in by_host:
        found = by_host[place]
        if isinstance(found, Exception):
            raise Unavailable("the host does not run")
        result = found[" ".join(cell)]
        lines, error = (None, result) if isinstance(result, str) else (result, "")
    else:
        arguments = {"editor": ["check"], "REPL": ["repl"]}.get(place, ["--engine", place] if place in PLACES[:3] else [])
        lines, error = printed(pxl, text + drive, arguments)
    if refusal:
        return None if lines is None and refusal in error else f"no error `{refusal}`:\n{error}"
    if lines is None:
        return error
    expected = [] if place == "editor" else expected
    return None if len(lines) == len(expected) and all(map(near, lines, expected)) else f"{lines}, expected {expected}"


def inside_problem(pxl, feature):
    _, _, values, gradients = FEATURES[feature]
    lines, error = printed(pxl, program(feature, "", INSIDE.values()) + RUN.format(x=X, n=len(INSIDE)), [])
    if lines is None:
        return error
    for name, line in zip(INSIDE, lines):
        if not near(line, gradients if name == "`grad`" else values):
            return f"in {name}: {line}"
    return None


def table(of, features, inside):
    lines = ["| | " + " | ".join(PLACES + [f"in {name}" for name in inside]) + " |", "|---" * (1 + len(PLACES) + len(inside)) + "|"]
    for feature in features:
        cells = [CELLS[of, feature, place][3] or "yes" for place in PLACES] + ["yes"] * len(inside)
        lines.append(f"| {feature} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def features_tests(pxl, tally, update=False):
    text = wanted = PAGE.read_text()
    for of, features, inside in (("functions", FEATURES, INSIDE), ("sessions", SESSIONS, {})):
        begin, end = f"<!-- features of {of}: begin -->\n", f"<!-- features of {of}: end -->\n"
        before, rest = wanted.split(begin)
        wanted = before + begin + table(of, features, inside) + end + rest.split(end)[1]
    if update:
        PAGE.write_text(text := wanted)
    tally.add("docs: the tables of features", None if text == wanted else "write them anew: python3 tests/run.py --only docs --update")
    jobs = {host: [(" ".join(cell), *CELLS[cell][:2]) for cell in CELLS if cell[2] == host] for host in HOSTS}
    by_host = printed_by_host(pathlib.Path(pxl).resolve().parent, jobs, FILES)
    for host, found in by_host.items():
        tally.add(f"docs: features in {host}", found if isinstance(found, Unavailable) else str(found) if isinstance(found, Exception) else None)
    tests = [(f"docs: {cell[1]}, {cell[2]}", lambda c=cell: cell_problem(pxl, c, by_host)) for cell in CELLS if CELLS[cell][0]]
    tests += [(f"docs: {feature} inside others", lambda f=feature: inside_problem(pxl, f)) for feature in FEATURES]
    for name, problem in parallel(tests, 2):
        tally.add(name, problem)
