"""The command line: what each command prints, writes and exits with.

Each case is a function that gets a folder of its own and the command, and gives the problem or None.
"""
import html.parser
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 60

CASES = []


def case(body):
    CASES.append((body.__name__.replace("_", " "), body))
    return body


class Cli:
    def __init__(self, pxl, folder):
        self.pxl, self.folder = pxl, folder

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name):
        return (self.folder / name).read_text()

    def run(self, *arguments, stdin="", env=None):
        done = subprocess.run([str(self.pxl), *map(str, arguments)], cwd=self.folder, input=stdin, capture_output=True,
                              text=True, errors="replace", timeout=LIMIT, env=dict(os.environ, NO_COLOR="1", **(env or {})))
        return done.returncode, done.stdout, done.stderr


    def processor_seconds(self, *arguments):
        """What the command takes of a processor, user and system."""
        process = subprocess.Popen([str(self.pxl), *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime


def differ(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, expected {wanted!r}")


def holds(what, text, part):
    if part not in text:
        raise AssertionError(f"{what} lacks `{part}`:\n{text}")


# ---- fmt --------------------------------------------------------------------------------------------------------

UGLY, NEAT = "x=f( 1 )   # a\n", "x = f(1)  # a\n"


@case
def fmt_rewrites_a_file_and_keeps_its_mode(cli):
    path = cli.write("a.pxl", UGLY)
    path.chmod(0o640)
    differ("result", cli.run("fmt", "a.pxl"), (0, "", ""))
    differ("text", cli.read("a.pxl"), NEAT)
    differ("mode", path.stat().st_mode & 0o777, 0o640)
    before = path.stat().st_mtime_ns
    differ("again", cli.run("fmt", "a.pxl"), (0, "", ""))
    differ("an untouched file's time", path.stat().st_mtime_ns, before)


@case
def fmt_reads_standard_input(cli):
    differ("result", cli.run("fmt", "-", stdin=UGLY), (0, NEAT, ""))


@case
def fmt_check_names_files_and_changes_none(cli):
    cli.write("ugly.pxl", UGLY), cli.write("neat.pxl", NEAT), cli.write("more/ugly.pxl", UGLY), cli.write("more/x.txt", UGLY)
    differ("result", cli.run("fmt", "--check", "ugly.pxl", "neat.pxl"), (1, "ugly.pxl\n", ""))
    differ("folder", cli.run("fmt", "--check", "."), (1, "./more/ugly.pxl\n./ugly.pxl\n", ""))
    differ("neat", cli.run("fmt", "--check", "neat.pxl"), (0, "", ""))
    differ("text", cli.read("ugly.pxl"), UGLY)


@case
def fmt_diff_is_what_patch_understands(cli):
    text = "".join(f"line{i} = {i}\n" for i in range(40))
    ugly = text.replace("line3 = 3\n", "line3=3\n").replace("line30 = 30\n", "line30=\\\n".replace("\\\n", "30\n\n\n"))
    cli.write("a.pxl", ugly)
    code, out, err = cli.run("fmt", "--diff", "a.pxl")
    differ("status", (code, err), (0, ""))
    differ("hunks", out.count("@@ -"), 2)
    differ("text", cli.read("a.pxl"), ugly)
    done = subprocess.run(["patch", "-s", "a.pxl"], cwd=cli.folder, input=out, capture_output=True, text=True)
    differ("patch", (done.returncode, done.stderr), (0, ""))
    cli.write("b.pxl", ugly)
    cli.run("fmt", "b.pxl")
    differ("patched", cli.read("a.pxl"), cli.read("b.pxl"))


@case
def fmt_leaves_what_does_not_parse(cli):
    cli.write("bad.pxl", "x = (1\ny=2\n"), cli.write("ugly.pxl", UGLY)
    code, out, err = cli.run("fmt", "bad.pxl", "ugly.pxl")
    differ("status", (code, out), (65, ""))
    holds("standard error", err, "bad.pxl:1:5: error: `(` is never closed")
    differ("text", cli.read("bad.pxl"), "x = (1\ny=2\n")
    differ("the other file", cli.read("ugly.pxl"), NEAT)
    differ("a missing file", cli.run("fmt", "none.pxl")[0], 66)
    differ("no file", cli.run("fmt")[0], 2)
    code, _, err = cli.run("fmt", "--chek", "a.pxl")
    differ("unknown flag", code, 2)
    holds("suggestion", err, "did you mean `--check`?")


# ---- check ------------------------------------------------------------------------------------------------------

WANTED = re.compile(r"#\s*expect error(?: line (\d+)| at (\d+):(\d+))?: ?(.*)$", re.M)
# Errors of these come while running, and those of the last two from options and test blocks.
RUN_TIME = re.compile(r"session|machine|checkpoint|save|restore|load|run|transfer|eval|mnist|expect_error_none|option|test_blocks")


@case
def check_finds_the_errors_of_the_test_programs_and_no_others(cli):
    found = missed = fine = 0
    for path in sorted(p for f in ("examples", "stdlib", "bench", "tests/lang", "tests/golden", "tests/repeat")
                       for p in (ROOT / f).rglob("*.pxl")):
        text = path.read_text(errors="replace")
        if "helpers" in path.parts or "# skip:" in text or "# exit:" in text:
            continue
        done = subprocess.run([str(cli.pxl), "--quiet", "check", path.name], cwd=path.parent, capture_output=True, text=True,
                              timeout=LIMIT, env=dict(os.environ, NO_COLOR="1"))
        wanted = WANTED.findall(text)
        if not wanted:
            differ(f"{path.relative_to(ROOT)} runs; what check says of it", (done.returncode, done.stdout, done.stderr), (0, "", ""))
            fine += 1
        elif done.returncode == 65 and wanted[0][3] in done.stderr:
            found += 1
        else:
            missed += 1
            if not RUN_TIME.search(str(path.relative_to(ROOT))) and not RUN_TIME.search(text):
                raise AssertionError(f"{path.relative_to(ROOT)}: no `{wanted[0][3]}` in {done.returncode} {done.stderr}")
    if found < 8 * missed or fine < 60:
        raise AssertionError(f"{found} errors found, {missed} missed, {fine} programs without errors")


@case
def check_reports_several_errors_and_runs_nothing(cli):
    cli.write("a.pxl", """data = mnist()
save("made.npy", ones([2]))
print("not printed")
def never_called(x) { return x + nowhere }
x = undefined_one
y = x + 1
program p {
  stream in a: float32[2, 3]
  t = host_load(a)
  u = t @ t
  v = u + 1
  w = t + ones([5])
}
program q(n: int) { stream in a: float32[n] }
losses = []
for image, labels in data.train.batches(8) { losses.append(1.0) }
print(losses[0])
while true { z = 1 }
session = Session(p())
print(session.run(a = ones([2, 3])).nothing)
""")
    code, out, err = cli.run("check", "a.pxl")
    differ("status and output", (code, out), (65, ""))
    heads = [line for line in err.splitlines() if ": error: " in line]
    differ("errors", [h.split(": error: ")[0] for h in heads], ["a.pxl:4:34", "a.pxl:5:5", "a.pxl:10:7", "a.pxl:12:7"])
    holds("notes", err, "a.pxl: not checked: program q is not built: `n` has no default")
    holds("notes", err, "line 18 takes more than")
    differ("files", sorted(p.name for p in cli.folder.iterdir()), ["a.pxl"])


@case
def check_builds_programs_with_given_arguments(cli):
    cli.write("a.pxl", """option size: int
program p(n: int) {
  stream in a: float32[2, n]
  t = host_load(a) @ ones([size, 2])
}
""")
    differ("unknown", cli.run("--quiet", "check", "a.pxl"), (0, "", ""))
    differ("fitting", cli.run("check", "--set", "size=3", "--program", "p(3)", "a.pxl")[0], 0)
    code, out, err = cli.run("check", "--set", "size=3", "--program", "p(4)", "a.pxl")
    differ("status", code, 65)
    holds("error", err, "a.pxl:4:7: error: matmul: inner dimensions differ")
    differ("a call that does not parse", cli.run("check", "-p", "p(", "a.pxl")[0], 65)
    differ("an option that is not there", cli.run("check", "--set", "sise=3", "a.pxl")[0], 2)


@case
def check_is_fast_enough_for_every_save(cli):
    layers = "".join(f"module L{i}(n: int) {{\n  build(x: tensor[..., d]) {{\n    param w: x.dtype[d, n] = normal(0, 0.02)\n"
                     f"    return gelu(x @ w)\n  }}\n}}\n\n" for i in range(140))
    cli.write("a.pxl", layers + "module Net {\n" + "".join(f"  l{i} = L{i}(64)\n" for i in range(20)) + "  build(x) {\n"
              + "".join(f"    x = l{i}(x)\n" for i in range(20)) + "    return x\n  }\n}\nprogram p {\n"
              "  stream in a: float32[8, 64]\n  facts, g = Net().create_graph(a.spec)\n  net = g.bind(facts.init())\n"
              "  stream out y = net(host_load(a))\n}\n")
    differ("result", cli.run("check", "a.pxl"), (0, "", ""))
    # Of the processor's time: other work on the machine does not count.
    best = min(cli.processor_seconds("check", "a.pxl") for _ in range(5))
    if best > 0.1:
        raise AssertionError(f"1,000 lines took {best:.3f} s")


@case
def check_as_objects(cli):
    cli.write("a.pxl", "x = undefined_one\nprogram p { stream in a: float32[2]\n b = host_load(a) }\n")
    code, out, err = cli.run("check", "--json", "a.pxl", "none.pxl")
    events = [json.loads(line) for line in out.splitlines()]
    differ("status", code, 66)
    differ("events", [e["event"] for e in events], ["diagnostic", "checked", "diagnostic"])
    first = events[0]
    differ("place", [first[k] for k in ("file", "line", "column", "end_line", "end_column")], ["a.pxl", 1, 5, 1, 18])
    differ("summary", events[1], {"event": "checked", "file": "a.pxl", "errors": 1, "programs": ["p"], "unchecked": []})
    differ("fault", events[2]["fault"], "unreadable")
    holds("text for people", err, "a.pxl:1:5: error: unknown name `undefined_one`")


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
        start = time.monotonic()
        differ("svg", cli.run("graph", "-o", "deep.svg", "deep.pxl"), (0, "", ""))
        if time.monotonic() - start > 30:
            raise AssertionError("graphviz took more than 30 s")


# ---- documentation ----------------------------------------------------------------------------------------------

class Page(html.parser.HTMLParser):
    """Checks that elements nest, and collects links and anchors."""
    EMPTY = {"meta"}

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
    for part in ("gelu(t)", "formula", "example", "GeluGrad"):
        holds("op", out, part)
    holds("declaration", cli.run("doc", "nn.Linear")[1], "out_features: int")
    holds("word", cli.run("doc", "param")[1], "param")
    cli.write("mine.pxl", "# Layers of mine.\n\n## Doubles `x` <twice>.\n##\n##     print(Twice()(2) < 5)\nmodule Twice(n: int = 2) {\n"
              "  build(x) { return x * n }\n}\n## How often.\noption often: int = 3\ndef _hidden() { return 1 }\n")
    code, out, err = cli.run("doc", "mine.pxl")
    differ("status", (code, err), (0, ""))
    for part in ("Layers of mine.", "module Twice(n: int = 2)", "Doubles `x` <twice>.", "option often: int = 3"):
        holds("file", out, part)
    if "_hidden" in out:
        raise AssertionError(out)
    for name in ("gelu", "nn", "optim", "ops.var_updates", "mine.pxl", ""):
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


# ---- objects ----------------------------------------------------------------------------------------------------

@case
def a_run_as_objects(cli):
    cli.write("a.pxl", "print(1, 2)\nprint([1][3])\n")
    code, out, err = cli.run("--json", "a.pxl")
    events = [json.loads(line) for line in out.splitlines()]
    differ("status", code, 1)
    differ("events", [e["event"] for e in events], ["output", "diagnostic", "exit"])
    differ("output", "".join(e["text"] for e in events if e["event"] == "output"), "1 2\n")
    differ("exit", events[-1]["status"], 1)
    differ("the same", cli.run("run", "--json", "a.pxl")[1].splitlines()[:2], out.splitlines()[:2])


@case
def tests_as_objects(cli):
    cli.write("a.pxl", 'test "good" { assert true }\ntest "bad" { assert 1 == 2 }\n')
    code, out, err = cli.run("test", "--json", "a.pxl")
    events = [json.loads(line) for line in out.splitlines()]
    differ("status", code, 1)
    differ("events", [(e["event"], e.get("title")) for e in events],
           [("test", "good"), ("diagnostic", None), ("test", "bad"), ("summary", None)])
    differ("summary", events[-1], {"event": "summary", "passed": 1, "failed": 1})
    holds("text for people", err, "1 passed, 1 failed")


@case
def every_event_is_documented(cli):
    text = (ROOT / "docs/json.md").read_text()
    files = [*(ROOT / "interpreter/cli").glob("*.cpp"), ROOT / "runtime/tiles/report_json.cpp"]
    sources = "".join(p.read_text() for p in files)
    events = set(re.findall(r'"event", "(\w+)"', sources))
    differ("events", sorted(events), sorted(re.findall(r"^\| `(\w+)` \|", text, re.M)))


# ---- help, manual, completion -----------------------------------------------------------------------------------

def command_names(cli):
    lines = cli.run("help")[1].split("commands:")[1].split("flags:")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


@case
def help_tells_of_every_command(cli):
    names = command_names(cli)
    differ("help", cli.run("--help"), cli.run("help"))
    for name in names:
        differ(name, cli.run("help", name), cli.run(name, "--help"))
        holds(name, cli.run("help", name)[1], f"usage: pxl {name}")
    code, _, err = cli.run("help", "schedul")
    differ("unknown", code, 2)
    holds("unknown", err, "did you mean `schedule`?")
    code, _, err = cli.run("chek")
    differ("mistyped", code, 2)
    holds("mistyped", err, "did you mean `check`?")


@case
def the_manual_is_sound(cli):
    code, out, err = cli.run("man")
    differ("status", (code, err), (0, ""))
    for name in command_names(cli):
        holds("manual", out, f".SS {name}".replace("-", "\\-"))
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=out, capture_output=True, text=True)
        differ("mandoc", (done.returncode, done.stdout), (0, ""))


@case
def completion_works_in_the_shells(cli):
    cli.write("net.pxl", ""), cli.write("notes.txt", "")
    for shell, script in (
            ("bash", 'source ./pxl.bash; try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pxl; echo "${COMPREPLY[@]}"; }\n'
                     'try pxl sch; try pxl fmt --ch; try pxl check n; try pxl completions z; try pxl help ma'),
            ("fish", "source ./pxl.fish; for l in 'pxl sch' 'pxl fmt --ch' 'pxl check n' 'pxl completions z' 'pxl help ma'\n"
                     "complete -C $l | string replace -r '\\t.*' '' | string join ' '\nend")):
        cli.write(f"pxl.{shell}", cli.run("completions", shell)[1])
        if not shutil.which(shell):
            continue
        done = subprocess.run([shell, "-c", script], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT,
                              env=dict(os.environ, HOME=str(cli.folder)))
        differ(f"{shell}: standard error", done.stderr, "")
        lines = done.stdout.splitlines()
        differ(f"{shell}: command", lines[0], "schedule")
        differ(f"{shell}: flag", lines[1], "--check")
        holds(f"{shell}: file", lines[2], "net.pxl")
        differ(f"{shell}: word", lines[3:5], ["zsh", "man"])
    cli.write("_pxl", cli.run("completions", "zsh")[1])
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-f", "-c", "autoload -U compinit; compinit -u -d dump; source ./_pxl; whence -w _pxl; "
                               "print $_comps[pxl]"], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT)
        differ("zsh", (done.stdout, done.stderr), ("_pxl: function\n_pxl\n", ""))
    differ("another shell", cli.run("completions", "tcsh")[0], 2)


# ---- exit statuses ----------------------------------------------------------------------------------------------

@case
def every_exit_status(cli):
    program = "program p {\n  stream in x: float32[2]\n  stream out y = host_load(x) + 1\n}\n"
    for wanted, text in ((0, "print(1)"), (1, "assert false"), (65, "x = "), (65, "x = y"),
                         (65, "x = ones([2]) @ ones([3])"), (3, "exit(3)"),
                         (1, program + "Session(p()).run()"), (1, program + "Session(p()).run(z = 1)"),
                         (1, program + "Session(p()).run(x = ones([3]))"),
                         (1, program + "Session(p()).run(x = [1, 2], x2 = 1)"),
                         (1, program + 'Session(p()).run(x = "a")'), (0, "")):
        differ(text or "nothing", cli.run("-", stdin=text)[0], wanted)
    differ("a missing file", cli.run("nowhere.pxl")[0], 66)
    differ("a folder", cli.run(".")[0], 66)
    differ("a wrong flag", cli.run("--wrong")[0], 2)
    differ("a wrong option", cli.run("-", "--wrong", "1", stdin="option right: int = 1")[0], 2)
    process = subprocess.Popen([str(cli.pxl), "-e", "print(1)\nwhile true { pass }"], cwd=cli.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, bufsize=0)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    differ("interrupted", process.wait(timeout=LIMIT), 130)
    process.stdout.close(), process.stderr.close()


@case
def nancheck_stops_a_run(cli):
    text = "program p {\n  variable w: float32[2] = -1\n  stream out y = log(w)\n}\nprint(Session(p()).run().y)\n"
    cli.write("a.pxl", text)
    differ("without", cli.run("a.pxl")[:2], (0, "[nan nan]\n"))
    for words in (("--nancheck", "a.pxl"), ("run", "--nancheck", "a.pxl")):
        code, _, err = cli.run(*words)
        differ("status", code, 1)
        holds("message", err, "makes NaN")


@case
def a_chart_names_its_axes(cli):
    cli.write("a.pxl", 'plot([1, 4, 9], x_label = "step", y_label = "loss")\n')
    code, out, err = cli.run("a.pxl")
    lines = out.splitlines()
    differ("status", (code, err), (0, ""))
    differ("above its axis", lines[0].strip(), "loss")
    differ("below its numbers", lines[-1].strip(), "step")


@case
def progress_of_loops_that_do_nothing(cli):
    cli.write("a.pxl", 'for i in progress(range(200000), "n") { pass }\nfor i in progress([], "none") { pass }\n')
    code, _, err = cli.run("a.pxl")
    differ("status", code, 0)
    if not re.search(r"^n: 100%\|.*\| 200000/200000 \[\d\d:\d\d<00:00, [\d.]+[kM]it/s\]$", err, re.M):
        raise AssertionError(err)
    holds("nothing", err, "0/0 [00:00<00:00, ?it/s]")


@case
def errors_of_a_run_name_what_was_called(cli):
    program = "program p {\n  stream in x: float32[2]\n  stream out y = host_load(x) + 1\n}\n"
    holds("missing", cli.run("-", stdin=program + "Session(p()).run()")[2], "error: session.run: missing input `x` float32[2]")
    holds("shape", cli.run("-", stdin=program + "Session(p()).run(x = ones([3]))")[2], "error: session.run: stream `x`: expected")
    holds("composite", cli.run("-", stdin="cross_entropy_with_grad(ones([2, 3]), array([1, 2, 0]))")[2],
          "error: cross_entropy_with_grad: ")
    huge = "program p {\n  stream in x: float32[1000000, 1000000]\n  stream out y = host_load(x) + 1\n}\nSession(p())"
    code, _, err = cli.run("-", stdin=huge)
    differ("status", code, 1)
    holds("larger than memory", err, "float32 (1000000, 1000000)")


@case
def the_programs_of_the_project_are_in_canonical_form(cli):
    folders = [ROOT / f for f in ("examples", "stdlib", "bench", "tests/golden", "tests/repeat")]
    code, out, err = cli.run("fmt", "--check", *folders)
    differ("status (`pxl fmt` mends what is named)", (code, out, err), (0, "", ""))


def cli_tests(pxl, add, parallel):
    def one(body):
        with tempfile.TemporaryDirectory() as folder:
            try:
                body(Cli(pxl, pathlib.Path(folder)))
            except (AssertionError, subprocess.TimeoutExpired) as problem:
                return str(problem)
            return None

    for name, problem in parallel([(f"cli: {name}", lambda body=body: one(body)) for name, body in CASES], 2):
        add(name, problem)
