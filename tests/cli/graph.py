"""The commands that show: `pxl schedule`, `pxl graph` and `pxl doc`."""
import html.parser
import json
import re
import shutil
import subprocess
import xml.etree.ElementTree

from tests.cli.case import LIMIT, case, differ, holds

# ---- schedule and graph -----------------------------------------------------------------------------------------

NET = """from nn import Linear

module Block(d: int) {
  up = Linear(2 * d)
  down = Linear(d)
  build(x) { return x + down(relu(up(x))) }
}
module Net(n: int) {
  blocks = [Block(8) for i in range(n)]
  outlined heads = [Linear(8) for i in range(3)]
  build(x) {
    for b in blocks { x = b(x) }
    for h in heads { x = h(x) }
    return x
  }
}
program train(n: int = 2) {
  stream in x: float32[4, 8]
  facts, g = Net(n).create_graph(x.spec)
  stream out y = g.bind(facts.init())(host_load(x))
}
program infer(n: int) { stream out y = variable(ones([n])) + 1 }
Session(train()).run(x = ones([4, 8]))
"""


@case
def schedule_is_what_print_schedule_prints(cli):
    cli.write("net.pxl", NET)
    cli.write("show.pxl", NET.replace("Session(train()).run(x = ones([4, 8]))", "print(train().main_graph)"))
    code, out, err = cli.run("show.pxl")
    differ("script", (code, err), (0, ""))
    differ("main", cli.run("schedule", "--graph", "main", "net.pxl"), (0, out, ""))
    code, text, err = cli.run("schedule", "net.pxl")
    differ("status", (code, err), (0, ""))
    for part in ("Graph : Net_subgraph(0)", "Graph : Linear_subgraph(1)", out):
        holds("schedule", text, part)
    code, text, _ = cli.run("schedule", "--plan", "-g", "main", "net.pxl")
    differ("plan", (code, text.split("\n")[0][:6]), (0, "Plan :"))
    code, text, _ = cli.run("schedule", "--program", "infer(n = 3)", "net.pxl")
    differ("another program", (code, "(3,) float32" in text, "MatMul" in text), (0, True, False))
    code, _, err = cli.run("schedule", "--graph", "Net_subgraph(1)", "net.pxl")
    differ("no such graph", code, 2)
    holds("suggestion", err, "did you mean")
    differ("a file with an error", cli.run("schedule", cli.write("bad.pxl", "x = y"))[0], 65)


@case
def schedule_as_objects(cli):
    cli.write("net.pxl", NET)
    code, out, err = cli.run("schedule", "--json", "net.pxl")
    events = [json.loads(line) for line in out.splitlines()]
    differ("status", (code, err), (0, ""))
    ops = [e for e in events if e["event"] == "op" and e["graph"] == "Net_subgraph(0)"]
    differ("positions", [e["position"] for e in ops], list(range(len(ops))))
    differ("calls", sum(e["calls"] == ["Linear_subgraph(1)"] for e in ops), 3)
    differ("operand", set(ops[0]["inputs"][0]), {"name", "dtype", "shape"})


@case
def schedule_into_a_closed_pipe(cli):
    cli.write("net.pxl", NET.replace("n: int = 2", "n: int = 200"))
    done = subprocess.run(f"'{cli.pxl}' schedule net.pxl | head -1", shell=True, cwd=cli.folder, capture_output=True, text=True,
                          timeout=LIMIT)
    differ("result", (done.returncode, done.stdout, done.stderr), (0, "Graph : \n", ""))


@case
def graph_draws_modules_and_called_graphs(cli):
    cli.write("net.pxl", NET)
    code, dot, err = cli.run("graph", "net.pxl")
    differ("status", (code, err), (0, ""))
    for part in ('label="train"', 'label="Net_subgraph(0), called once"', 'label="Linear_subgraph(1), called 3 times"',
                 'label="blocks.0"', 'label="up"', "MatMul\\n"):
        holds("dot", dot, part)
    code, shallow, _ = cli.run("graph", "--depth", "0", "net.pxl")
    differ("status", code, 0)
    holds("boxes", shallow, "blocks.0\\n6 ops")
    code, _, err = cli.run("graph", "--json", "-o", "net.json", "net.pxl")
    differ("json", (code, err), (0, ""))
    graphs = json.loads(cli.read("net.json"))["graphs"]
    for g in graphs:
        ids = {n["id"] for n in g["nodes"]}
        differ("ends of edges", [e for e in g["edges"] if e["from"] not in ids or e["to"] not in ids], [])
    differ("a wrong ending", cli.run("graph", "-o", "net.xyz", "net.pxl")[0], 2)
    differ("a wrong depth", cli.run("graph", "-d", "x", "net.pxl")[0], 2)
    code, out, err = cli.run("graph", "-o", "net.svg", "net.pxl", env={"PATH": str(cli.folder)})
    differ("without dot", (code, (cli.folder / "net.svg").exists()), (1, False))
    holds("without dot", err, "is not installed")
    if shutil.which("dot"):
        differ("svg", cli.run("graph", "-o", "net.svg", "net.pxl"), (0, "", ""))
        root = xml.etree.ElementTree.parse(cli.folder / "net.svg").getroot()
        differ("root", root.tag, "{http://www.w3.org/2000/svg}svg")


@case
def programs_of_one_name_are_chosen_by_line(cli):
    cli.write("two.pxl", "program p(n: int) {\n  stream out y = constant(zeros([n + 2]))\n}\na = p(1)\nb = p(2)\n"
              "many = [p(n) for n in range(7, 9)]\n")
    differ("all graphs", cli.run("graph", "two.pxl")[0], 0)
    for label, shape in (("p:4", "(3,)"), ("p:5", "(4,)"), ("p:6#1", "(9,)"), ("p:6#2", "(10,)")):
        code, out, err = cli.run("schedule", "--program", label, "two.pxl")
        differ(label, (code, err), (0, ""))
        holds(label, out, shape)
        differ(f"graph of {label}", cli.run("graph", "--program", label, "two.pxl")[0], 0)
    code, out, err = cli.run("schedule", "--program", "p", "two.pxl")
    differ("all", (code, [line for line in out.splitlines() if line.startswith("Program")]),
           (0, ["Program : p:4", "Program : p:5", "Program : p:6#1", "Program : p:6#2"]))
    code, out, err = cli.run("schedule", "--program", "p:9", "two.pxl")
    differ("no such line", code, 2)
    holds("no such line", err, "no program `p:9` is built")
    code, out, err = cli.run("schedule", "--program", "p(n = 30)", "two.pxl")
    differ("a call", (code, err), (0, ""))
    holds("a call", out, "(32,)")


@case
def large_graphs_stay_readable(cli):
    """2,000 ops, with and without modules: boxes stay few, nothing is lost, and graphviz is done in seconds."""
    flat = "".join(f"  y{i + 1} = tanh(y{i} * 2) + y{i // 2}\n" for i in range(700))
    cli.write("flat.pxl", "program p {\n  variable w: float32[4] = 1\n  y0 = w + 1\n" + flat + "  stream out y = y700\n}\n")
    cli.write("deep.pxl", NET.replace("Session(train()).run(x = ones([4, 8]))", "").replace("n: int = 2", "n: int = 300"))
    for name, least in (("flat.pxl", 2100), ("deep.pxl", 1800)):
        code, out, _ = cli.run("graph", "--json", name)
        graphs = json.loads(out)["graphs"]
        every = sorted(op for g in graphs for n in g["nodes"] for op in n["ops"])
        if len(every) < least:
            raise AssertionError(f"{name}: only {len(every)} ops")
        code, dot, err = cli.run("graph", name)
        differ("status", (code, err), (0, ""))
        boxes = re.findall(r"^ +g\d+_n\d+ \[label=\"(.*?)\"", dot, re.M)
        if len(boxes) > 360:
            raise AssertionError(f"{name}: {len(boxes)} boxes")
        stands = sum(int(m.group(1)) if (m := re.search(r"(\d+) (?:ops|calls)\b", b)) else 0 for b in boxes)
        if not 0.9 * len(every) <= stands <= len(every):
            raise AssertionError(f"{name}: the boxes stand for {stands} of {len(every)} ops")
    code, out, _ = cli.run("graph", "deep.pxl")
    holds("modules of a list", out, "blocks.0 to blocks.")
    if shutil.which("dot"):
        took = cli.processor_seconds("graph", "-o", "deep.svg", "deep.pxl")
        holds("deep.svg", cli.read("deep.svg"), "</svg>")
        if took > 30:
            raise AssertionError(f"graphviz took {took:.0f} s of a processor")


# ---- documentation ----------------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Checks that elements nest, and collects links and anchors."""
    EMPTY = {"br", "meta"}

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.anchors, self.problems = [], [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.links += [attributes[k] for k in ("href", "src") if k in attributes]
        self.anchors.add(attributes.get("id"))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"</{tag}> at {self.getpos()}")


@case
def pages_of_ops_modules_and_files(cli):
    code, out, err = cli.run("doc", "gelu")
    differ("status", (code, err), (0, ""))
    for part in ("gelu(t)", "formula", "example", "GeluGrad", "definition", "void gelu(ReferenceContext& c) {"):
        holds("op", out, part)
    holds("declaration", cli.run("doc", "nn.Linear")[1], "out_features: int")
    holds("word", cli.run("doc", "param")[1], "param")
    holds("built-in", cli.run("doc", "range")[1], "range(start")
    holds("method", cli.run("doc", "str.split")[1], "str.split(sep = none, maxsplit = -1)")
    holds("method", cli.run("doc", "str.split")[1], "['a', 'b,c']")
    out = cli.run("doc", "str")[1]
    holds("built-in and values", out, 'function str(x = "")')
    holds("built-in and values", out, "method str.zfill(width")
    names = cli.run("doc", "--names")[1].split("\n")
    for name in ("gelu", "nn.Linear", "session.run", "range", "param"):
        if name not in names:
            raise AssertionError(f"{name} is not among the names")
        differ(f"doc {name}", cli.run("doc", name)[0], 0)
    cli.write("mine.pxl", "# Layers of mine.\n\n## Doubles `x` <twice>.\n##\n##     print(Twice()(2) < 5)\nmodule Twice(n: int = 2) {\n"
              "  build(x) { return x * n }\n}\n## How often.\noption often: int = 3\ndef _hidden() { return 1 }\n")
    code, out, err = cli.run("doc", "mine.pxl")
    differ("status", (code, err), (0, ""))
    for part in ("Layers of mine.", "module Twice(n: int = 2)", "Doubles `x` <twice>.", "option often: int = 3"):
        holds("file", out, part)
    if "_hidden" in out:
        raise AssertionError(out)
    for name in ("gelu", "nn", "optim", "ops.var_updates", "mine.pxl", "session", ""):
        code, out, err = cli.run("doc", "--html", *([name] if name else []))
        differ("status", (code, err), (0, ""))
        page = Page(out)
        differ(f"{name}: elements", (page.open, page.problems), ([], []))
        differ(f"{name}: links", [l for l in page.links if not (l.startswith("#") and l[1:] in page.anchors)], [])
    differ("to a file", cli.run("doc", "-o", "nn.html", "nn"), (0, "", ""))
    holds("to a file", cli.read("nn.html"), "<!doctype html>")
    code, _, err = cli.run("doc", "nn.Linaer")
    differ("unknown", code, 2)
    holds("unknown", err, "did you mean `nn.Linear`?")
    entry = json.loads(cli.run("doc", "--json", "gelu")[1])["entries"][0]
    differ("object", (entry["kind"], entry["signature"]), ("op", "gelu(t)"))
