"""Functions of functions by where they run, and inside each other: a test for each cell of the table in docs/language.md."""
import pathlib
import tempfile

from tests.support.harness import ROOT, parallel, run

PAGE = ROOT / "docs/language.md"
BEGIN, END = "<!-- features: begin -->\n", "<!-- features: end -->\n"
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
PLACES = ["planned", "reference", "tiles", "replicas", "ONNX", "REPL", "editor"]
INSIDE = {
    "`grad`": "grad((v) => sum(compute(v)))(x)",
    "`vmap`": "vmap((v) => compute(v))(stack([x * 0.5, x], axis = 0))[1]",
    "`scan`": "scan((s) => compute(s), x, none, count = 1)",
    "`repeat_while`": "repeat_while((v, n) => (compute(v), n + 1), (v, n) => n < 1, x, 0, bound = 1)[0]",
    "`conditional`": "conditional(sum(x) > -100, (v) => compute(v), (v) => v, [x], [x])",
    "`outlined def`": "shared(x)",
}
# The text of the error, by feature and place.
REFUSED = {}


def printed(pxl, text, arguments):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "feature.pxl"
        path.write_text(text)
        typed = text if arguments == ["repl"] else ""
        code, out, err = run([str(pxl), *arguments, *([] if typed else [path.name])], cwd=folder, env={"NO_COLOR": "1"}, stdin=typed)
    return [eval(line) for line in out.splitlines()] if code == 0 else None, err


def program(feature, head, expressions):
    declarations, expression, _, _ = FEATURES[feature]
    streams = "".join(f"  stream out y{i} = {e}\n" for i, e in enumerate(expressions))
    return PROGRAM.format(declarations=declarations, expression=expression, head=head, streams=streams)


def near(numbers, expected):
    return len(numbers) == len(expected) and all(abs(a - b) <= 1e-4 * (1 + abs(b)) for a, b in zip(numbers, expected))


def place_problem(pxl, feature, place):
    values = FEATURES[feature][2]
    replicas = place == "replicas"
    text = program(feature, " with replicated(2)" if replicas else "", ["compute(x)"])
    text += ONNX.format(x=X) if place == "ONNX" else RUN.format(x=f"[{X}, {X}]" if replicas else X, n=1)
    arguments = {"editor": ["check"], "REPL": ["repl"]}.get(place, ["--engine", place] if place in PLACES[:3] else [])
    lines, error = printed(pxl, text, arguments)
    if (feature, place) in REFUSED:
        return None if lines is None and REFUSED[feature, place] in error else f"no error `{REFUSED[feature, place]}`:\n{error}"
    if lines is None:
        return error
    expected = [] if place == "editor" else [values * 2 if replicas else values]
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


def table():
    lines = ["| | " + " | ".join(PLACES) + " | in " + " | in ".join(INSIDE) + " |", "|---" * (1 + len(PLACES) + len(INSIDE)) + "|"]
    for feature in FEATURES:
        cells = [REFUSED.get((feature, place), "yes") for place in PLACES] + ["yes"] * len(INSIDE)
        lines.append(f"| {feature} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def features_tests(pxl, tally, update=False):
    text = PAGE.read_text()
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    wanted = before + BEGIN + table() + END + after
    if update:
        PAGE.write_text(wanted)
    tally.add("docs: the table of functions of functions", None if PAGE.read_text() == wanted else "write it anew: python3 tests/run.py --only docs --update")
    jobs = [(f"docs: {feature}, {place}", lambda f=feature, p=place: place_problem(pxl, f, p)) for feature in FEATURES for place in PLACES]
    jobs += [(f"docs: {feature} inside others", lambda f=feature: inside_problem(pxl, f)) for feature in FEATURES]
    for name, problem in parallel(jobs, 2):
        tally.add(name, problem)
