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


CACHE = """from memory import KVCache
program step(length: int) {
  stream in x: float32[1, 1, 1, 64]
  cache = KVCache(length).bound(x, x)
  x_now = host_load(x)
  keys, values, allowed = cache(x_now, x_now * 2)
  scores = where(allowed, x_now @ transpose(keys, [0, 1, 3, 2]), -1e9)  # allow: other-meaning
  stream out y = softmax(scores, -1) @ values
}
step(64)
"""


@case
def a_step_with_a_cache_writes_a_row(cli):
    path = cli.write("cache.pxl", CACHE)
    arenas = []
    for length in (64, 4096):
        code, out, _ = cli.run("schedule", "--plan", "--program", f"step({length})", path)
        differ("status", code, 0)
        copies = re.findall(r"CopyVarUpdate\S+ \(b(\d+), b(\d+)\)", out)
        differ("caches in place", [a == b for a, b in copies].count(True) >= 2, True)
        arenas.append(int(re.search(r"arena (\d+) bytes", out)[1]))
    # Scores have a number for each position; keys and values, of 64 numbers each, are not copied.
    holds("bytes", str(arenas[1] - arenas[0] <= 4 * 4 * (4096 - 64)), "True")


LAYERS = """from memory import KVCache
option length: int = 64
module Net() {
  caches = [KVCache(length), KVCache(length)]
  build(x) {
    for cache in caches { x = cache(x, x)[1][:1] + x }
    return x
  }
}
program step {
  stream in x: float32[1, 256]
  net = Net().bound(x)
  stream out y = net(host_load(x))
}
session = Session(step())
x = ones([1, 256])
times = []
for i in range(20) {
  began = time()
  session.run(x = x)
  times.append(time() - began)
}
print(min(times[2:]))
"""


@case
def a_step_with_two_caches_copies_none(cli):
    """The second update may fail when the first has been made: it is undone by its part."""
    path = cli.write("layers.pxl", LAYERS)
    short, long = (float(cli.run(path, "--length", str(length))[1]) for length in (64, 262144))
    # A copy of four times 256 MB takes some 100 ms, a step 10 us.
    holds("time", str(long < 1000 * short), "True")


SIZES = """program infer(batch: size = 8) {
  stream in x: float32[batch, 3]
  stream out total = sum(host_load(x), axis = 1)
}
"""


@case
def a_call_chooses_a_size_for_all_commands(cli):
    path = cli.write("sizes.pxl", SIZES)
    for command, *options in (["schedule"], ["graph", "-o", "g.json"], ["profile", "--machine", "bow", "-o", "p.json"], ["export", "-o", "o.onnx"], ["check"]):
        code, out, err = cli.run(command, "--program", "infer(batch = 5)", *options, path)
        differ(command, (code, "batch = 8" in err), (0, False))
        if command == "schedule":
            holds(command, out, "(5, 3) float32")
        elif options and command != "export":
            holds(command, (cli.folder / options[-1]).read_text().replace(" ", ""), "[5,3]")
        differ("wrong size", cli.run(command, "--program", "infer(batch = -1)", *options, path)[0], 65)


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


UNREAD = """points = load("points.{suffix}")
count = read_text("count.txt")
program train(n: int) {{
  stream in x: float32[n]
  stream out y = sum(host_load(x))
}}
Session(train({extent}))
"""
LOOKS = (["schedule"], ["graph"], ["graph", "-o", "net.html"], ["graph", "-o", "net.svg"], ["profile", "--machine", "bow"],
         ["profile", "--machine", "bow", "-o", "net.html"])


@case
def a_look_that_can_build_no_program_says_why_and_writes_no_file(cli):
    cli.write("count.txt", "3")
    cli.write("unread.pxl", UNREAD.format(suffix="csv", extent="int(count)"))
    for command in LOOKS:
        code, out, err = cli.run(*command, "unread.pxl")
        differ(f"{command}", (code, out, (cli.folder / "net.html").exists()), (65, "", False))
        for part in ("unread.pxl:1:10: error: no program is built: `points.csv` was not read", "unread.pxl:2: `count.txt` was not read",
                     "--run reads files", '--program "train(n = ...)" builds'):
            holds(f"{command}", err, part)
    cli.write("points.csv", "a,b\n1,2\n")
    for options in (["--run"], ["--program", "train(3)"]):
        for command in LOOKS:
            if "net.svg" in command:
                continue
            code, out, err = cli.run(*command, *options, "unread.pxl")
            differ(f"{command} {options}", (code, err), (0, ""))
            if "-o" not in command:
                holds(f"{command} {options}", out, "train" if command[0] == "profile" else "3")


@case
def a_look_knows_the_headers_of_files(cli):
    cli.write("write.pxl", """save("points.npy", zeros([5, 3]))
save("points.npz", {"a": zeros([5, 3])})
save("points.safetensors", {"a": zeros([5, 3])})
save("points.png", cast(zeros([5, 3]), uint8))
""")
    differ("files", cli.run("write.pxl")[0], 0)
    for suffix, extent in (("npy", "points.shape[1]"), ("npz", 'points["a"].shape[1]'), ("safetensors", 'len(points["a"]) - 2'),
                           ("png", "points.shape[1]")):
        cli.write("known.pxl", UNREAD.format(suffix=suffix, extent=extent))
        code, out, err = cli.run("schedule", "known.pxl")
        differ(suffix, (code, err, "(3,) float32" in out), (0, "", True))
        # The script may write something before.
        cli.write("written.pxl", 'save("x.txt.npy", zeros([2]))\n' + UNREAD.format(suffix=suffix, extent=extent))
        differ(f"{suffix} after a save", cli.run("schedule", "written.pxl")[0], 65)
    cli.write("damaged.pxl", UNREAD.format(suffix="npy", extent="points.shape[1]"))
    for damaged in ("", "no header"):
        cli.write("points.npy", damaged)
        differ("a damaged file is unknown", cli.run("schedule", "damaged.pxl")[0], 65)
    cli.write("damaged.pxl", UNREAD.format(suffix="npz", extent='points["a"].shape[1]'))
    whole = (cli.folder / "points.npz").read_bytes()
    for damaged in (b"", whole[:-1], whole[:40], whole[:-22] + b"PK" + whole[-20:]):
        (cli.folder / "points.npz").write_bytes(damaged)
        differ(f"{len(damaged)} bytes of an archive are unknown", cli.run("schedule", "damaged.pxl")[0], 0 if damaged == whole else 65)


@case
def a_look_knows_the_graph_of_a_model(cli):
    cli.write("write.pxl", """from nn import Linear
facts, graph = Linear(30).create_graph(float32[2, 4000])
export_onnx(graph.bind(facts.init()), "net.onnx")
""")
    differ("a model", cli.run("write.pxl")[0], 0)
    cli.write("use.pxl", """import onnx
Model = onnx.load("net.onnx")
program infer {
  stream in x: float32[2, 4000]
  net = Model().bound(x)
  stream out y = net(host_load(x))
}
session = Session(infer())
""")
    for command in LOOKS:
        code, out, err = cli.run(*command, "use.pxl")
        differ(f"{command}", (code, err), (0, ""))
        if command[0] == "schedule":
            holds("the op", out, "MatMul")
    whole = (cli.folder / "net.onnx").read_bytes()
    for damaged in (b"", b"no model", whole[:len(whole) // 2]):
        (cli.folder / "net.onnx").write_bytes(damaged)
        differ(f"{len(damaged)} bytes of a model are unknown", cli.run("schedule", "use.pxl")[0], 65)


@case
def options_of_a_script_follow_its_file(cli):
    cli.write("sized.pxl", "option size: int = 2\noption fast: bool = false\nprogram p(n: int = size) { stream in x: float32[n]\n"
              "stream out y = sum(host_load(x)) }\nSession(p())\n")
    for command in (["schedule"], ["graph"], ["profile", "--machine", "bow", "--json"]):
        for options in (["--size", "7"], ["--size=7", "--fast"], ["--no-fast", "--", "--size", "7"]):
            code, out, err = cli.run(*command, "sized.pxl", *options)
            differ(f"{command} {options}", (code, err), (0, ""))
            holds(f"{command} {options}", out, "7")
        differ(f"{command}: an unknown option", cli.run(*command, "sized.pxl", "--sise", "7")[0], 2)
    cli.write("other.pxl", "x = 1\n")
    differ("several files", cli.run("check", "sized.pxl", "--size", "7", "other.pxl")[0], 0)
    code, _, err = cli.run("check", "sized.pxl", "--size", "x", "other.pxl")
    differ("a wrong value", code, 65 if code == 65 else 2)


@case
def modules_alone_are_drawn(cli):
    cli.write("layers.pxl", "from nn import Linear\nmodule Block(width: int) {\n  up = Linear(width)\n"
              "  build(x) {\n    param scale: float32[width] = 1\n    return up(x) * scale\n  }\n}\n"
              "module Net {\n  blocks = [Block(8)]\n  build(x) { return blocks[0](x) }\n}\n")
    code, out, err = cli.run("graph", "layers.pxl")
    differ("status", (code, err), (0, ""))
    for part in ("Block(width: int)", "scale: float32[width]", 'label="blocks"', "Linear"):
        holds("picture", out, part)
    code, out, _ = cli.run("graph", "--json", "layers.pxl")
    event = json.loads(out)
    differ("uses", [(u["user"], u["used"], u["member"]) for u in event["uses"]], [(0, 2, "up"), (1, 0, "blocks")])
    differ("page", cli.run("graph", "layers.pxl", "-o", "layers.html"), (0, "", ""))
    holds("page", cli.read("layers.html"), "Block(width: int)")
    differ("a file of nothing", cli.run("graph", cli.write("empty.pxl", "x = 1\n"))[0], 65)


@case
def a_model_is_drawn(cli):
    cli.write("write.pxl", """import onnx
module Net { build(x: float32[n, 3]) {
  param w: float32[3, 2] = 1
  return relu(x @ w) } }
program p { stream in x: float32[4, 3]
facts, g = Net().create_graph(x.spec)
stream out y = g.bind(facts.init())(host_load(x)) }
export_onnx(p(), "net.onnx")
""")
    differ("model", cli.run("write.pxl")[::2], (0, ""))
    for command in (["graph"], ["schedule"], ["profile", "--machine", "bow"], ["graph", "-o", "net.html"], ["check"]):
        code, out, err = cli.run(*command, "net.onnx")
        differ(f"{command}", (code, err), (0, ""))
    holds("page", cli.read("net.html"), "MatMul")
    cli.write("bad.onnx", "nothing")
    code, out, err = cli.run("graph", "bad.onnx", "-o", "bad.html")
    differ("a damaged model", (code in (65, 66), out, (cli.folder / "bad.html").exists()), (True, "", False))
