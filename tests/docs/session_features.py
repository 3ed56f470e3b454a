"""Rows of the table of features that concern sessions, errors, data and projects: a script, and what drives it in Python and C++.

A script has the helpers below. `feed` gives each replica the array, and `got` is the result of the first one. `{head}` is
` with replicated(2)` where the place is replicas.
"""
HELPERS = """def numbers(y) {{ return [float(v) for v in y.reshape([y.size])] }}
def show(y) {{ print(numbers(array(y))) }}
def feed(x) {{ return {feed} }}
def got(y) {{ return {got} }}
"""
ONNX = """from "net.onnx" import Model
program again {
  stream in x: float32[2]
  stream out y = Model().bound(x)(host_load(x))
}
show(Session(again()).run(x = [1, 2]).y)
"""
HOST = "none: a model is a graph, this is of the script"

SCALE = """from optim import SGD, optimise
module Scale() {{
  build(x: tensor[n]) {{
    param w: x.dtype[n] = 1
    return x * w
  }}
}}
program train{head} {{
  stream in x: float32[2]
  net = Scale().bound(x, training = true)
  y = net(host_load(x))
  optimise(SGD(), net.vars, grad(sum(y), net.vars), lr = -1)
  stream out seen = y
}}
"""
TRAINED = "s = Session(train())\nfirst = s.run(x = feed([1, 2]))\n"
PY_TRAINED = "s = m.Session('train')\ns.run(x=[1, 2])\n"
CPP_TRAINED = 'auto s = m.session("train").value();\nV x{1, 2}, one{1, 1};\ns.run({{"x", x}}).value();\n'
ROWS = "program rows(batch: size = 4){head} {{\n  stream in x: float32[batch, 2]\n  stream out y = sum(host_load(x), axis = 1)\n}}\n"
LOG = "program logs{head} {{\n  stream in x: float32[2]\n  variable w: float32[2] = 1\n  stream out y = add_(w, log(host_load(x)))\n}}\n"

# A feature has the text of the file, statements that use it, the lists that these print, drives in Python and C++, an ONNX cell.
# The cell has statements that write net.onnx, or the text of an error and statements, or a reason; then what the model gives for [1, 2].
FEATURES = {
    "`state`, `next`": (
        """module Smooth() {{
  build(x: tensor[n]) {{
    state average: x.dtype[n] = 0
    if self.training {{ next average = average * 0.5 + replicated_all_reduce(x, op = "mean") * 0.5 }}
    return x - average
  }}
}}
program smooth{head} {{
  stream in x: float32[2]
  net = Smooth().bound(x, training = true)
  stream out y = net(host_load(x))
}}
""",
        "s = Session(smooth())\nfirst = s.run(x = feed([2, 4]))\nshow(got(s.run(x = feed([2, 4])).y))\n", [[1, 2]],
        "s = m.Session('smooth')\ns.run(x=[2, 4])\nshow(s.run(x=[2, 4]).y)\n",
        'auto s = m.session("smooth").value();\nV x{2, 4};\ns.run({{"x", x}}).value();\nshow(s.run({{"x", x}}).value()["y"]);\n',
        ("a model keeps nothing between runs", 'export_onnx(smooth(), "net.onnx")\n'), None),
    "free sizes": (
        ROWS, "s = Session(rows())\nfor n in [4, 3] { show(got(s.run(x = feed(ones([n, 2]))).y)) }\n", [[2, 2, 2, 2], [2, 2, 2]],
        "s = m.Session('rows')\nfor n in (4, 3): show(s.run(x=np.ones((n, 2))).y)\n",
        'auto s = m.session("rows").value();\nfor (int64_t n : {4, 3}) {\n  V x(2 * n, 1);\n  show(s.run({{"x", {x, {n, 2}}}}).value()["y"]);\n}\n',
        'program pair(n: size = 5) {\n  stream in x: float32[n]\n  stream out y = host_load(x) * 2\n}\nexport_onnx(pair(n = 2), "net.onnx")\n', [2, 4]),
    "shared variables": (
        SCALE + "program evaluate(trained){head} {{\n  stream in x: float32[2]\n  net = Scale().bound(x, vars = trained)\n  stream out y = net(host_load(x))\n}}\n",
        TRAINED + "e = Session(evaluate(s.ir.net), variables = s)\nshow(got(e.run(x = feed([1, 1])).y))\n", [[2, 3]],
        PY_TRAINED + "e = m.Session('evaluate(variables.ir.net)', variables=s)\nshow(e.run(x=[1, 1]).y)\n",
        CPP_TRAINED + 'auto e = m.session("evaluate(variables.ir.net)", {.variables = &s}).value();\nshow(e.run({{"x", one}}).value()["y"]);\n',
        TRAINED + 'e = Session(evaluate(s.ir.net), variables = s)\nexport_onnx(e.ir, "net.onnx", weights = e)\n', [2, 6]),
    "`session.call`": (
        SCALE, TRAINED + 'show(s.call("net", [1.0, 1.0]))\n', [[2, 3]], PY_TRAINED + "show(s.call('net', np.ones(2, 'float32')))\n",
        CPP_TRAINED + 'const pxl::Value given[] = {pxl::Array::copy({one, {2}}).value()};\nshow(s.call("net", given).value());\n', HOST, None),
    "checkpoints by binding": (
        SCALE, TRAINED + 's.save("net.safetensors")\nt = Session(train())\nprint([len(t.restore("net.safetensors")["loaded"])])\nshow(got(t.run(x = feed([1, 1])).seen))\n',
        [[1], [2, 3]], PY_TRAINED + "s.save('net.safetensors')\nt = m.Session('train')\nshow([len(t.restore('net.safetensors')['loaded'])])\nshow(t.run(x=[1, 1]).seen)\n",
        CPP_TRAINED + 's.save("net.safetensors").value();\nauto t = m.session("train").value();\nshow(std::vector<double>{double(t.restore("net.safetensors").value().loaded.size())});\n'
        'show(t.run({{"x", one}}).value()["seen"]);\n', HOST, None),
    "`catch`, `fail`": (
        ROWS + "def checked(v) {{\n  if len(v) != 2 {{ fail(\"no pair\", kind = \"bad-row\", data = v) }}\n  return [v]\n}}\n",
        "s = Session(rows())\nfor v in [[1, 2], [3]] {\n  try { show(got(s.run(x = feed(checked(v))).y)) } catch bad_row as e { show(e.data) }\n}\n", [[3], [3]],
        "s = m.Session('rows')\nshow(s.run(x=m.checked([1, 2])).y)\ntry:\n    m.checked([3])\nexcept pxl.Error as e:\n    show(e.data if e.kind == 'bad-row' else [])\n",
        'auto s = m.session("rows").value();\nV x{1, 2};\nm.call("checked", std::vector<pxl::Value>{pxl::List{1, 2}}).value();\n'
        'show(s.run({{"x", {x, {1, 2}}}}).value()["y"]);\nauto bad = m.call("checked", std::vector<pxl::Value>{pxl::List{3}});\n'
        'if (!bad && bad.error().first().kind == "bad-row") show(*bad.error().first().data);\n', HOST, None),
    "`finite`": (
        LOG, "s = Session(logs())\ntry { s.run(x = feed([-1, 1]), finite = true) } catch not_finite { show(got(s.run(x = feed([1, 1]), finite = true).y)) }\n", [[1, 1]],
        "s = m.Session('logs')\ntry:\n    s.run(x=[-1, 1], finite=True)\nexcept pxl.Error as e:\n    show(s.run(x=[1, 1], finite=True).y if e.kind == 'not-finite' else [])\n",
        'auto s = m.session("logs").value();\nV bad{-1, 1}, one{1, 1};\nauto out = s.run({{"x", bad}}, pxl::RunOptions{.finite = true});\n'
        'if (!out && out.error().first().kind == "not-finite") show(s.run({{"x", one}}, pxl::RunOptions{.finite = true}).value()["y"]);\n', HOST, None),
    "streams of trees": (
        'program both{head} {{\n  stream in b: {{"s": float32[2], "t": float32[2]}}\n  tree = host_load(b)\n  stream out y = {{"sum": tree["s"] + tree["t"]}}\n}}\n',
        'show(got(Session(both()).run(b = {"s": feed([1, 2]), "t": feed([3, 4])}).y["sum"]))\n', [[4, 6]],
        "show(m.Session('both').run(b={'s': [1, 2], 't': [3, 4]}).y['sum'])\n",
        'auto s = m.session("both").value();\nV one{1, 2}, two{3, 4};\nshow(s.run({{"b.s", one}, {"b.t", two}}).value()["y.sum"]);\n',
        'program twice {\n  stream in b: {"s": float32[2]}\n  stream out y = {"sum": host_load(b)["s"] * 2}\n}\nexport_onnx(twice(), "net.onnx")\n', [2, 4]),
    "`batches`, `Replay`": (
        ROWS + 'from data import batches, Replay\ndef epoch() {{ return [b["x"] for b in batches({{"x": ones([5, 2])}}, 4)] }}\n'
        'def drawn() {{\n  memory = Replay(3, seed = 1)\n  memory.append(x = ones([2]))\n  return memory.sample(1)["x"]\n}}\n',
        "s = Session(rows())\nfor x in [*epoch(), drawn()] { show(got(s.run(x = feed(x)).y)) }\n", [[2, 2, 2, 2], [2], [2]],
        "s = m.Session('rows')\nfor x in [*m.epoch(), m.drawn()]: show(s.run(x=x).y)\n",
        'auto s = m.session("rows").value();\nconst pxl::Value each = m.call("epoch").value();\nfor (const pxl::Value& x : *each.as<pxl::List>()) show(s.run({{"x", x.as<pxl::Array>()->view()}}).value()["y"]);\n'
        'show(s.run({{"x", m.call("drawn").value().as<pxl::Array>()->view()}}).value()["y"]);\n', HOST, None),
    "projects": (
        "from .util import twice\nprogram doubled{head} {{\n  stream in x: float32[2]\n  stream out y = twice(host_load(x))\n}}\n",
        "show(got(Session(doubled()).run(x = feed([1, 2])).y))\n", [[2, 4]], "show(m.Session('doubled').run(x=[1, 2]).y)\n",
        'auto s = m.session("doubled").value();\nV x{1, 2};\nshow(s.run({{"x", x}}).value()["y"]);\n', 'export_onnx(doubled(), "net.onnx")\n', [2, 4]),
}
# A file of the folder may import these.
FILES = {"pxl.toml": 'name = "features"\n', "util.pxl": "def twice(v) { return v * 2 }\n"}


def text_of(feature, replicas=False):
    parts = {"head": " with replicated(2)" if replicas else "", "feed": "array([x, x])" if replicas else "x", "got": "y[0]" if replicas else "y"}
    return (HELPERS + FEATURES[feature][0]).format(**parts)
