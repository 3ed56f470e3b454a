"""The commands that read programs and run nothing: `pxl fmt` and `pxl check`."""
import json
import os
import re
import subprocess

from tests.cli.case import LIMIT, case, differ, holds
from tests.support.harness import ROOT

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
    holds("standard error", err, "bad.pxl:1:5: error: `(` is not closed")
    differ("text", cli.read("bad.pxl"), "x = (1\ny=2\n")
    differ("the other file", cli.read("ugly.pxl"), NEAT)
    differ("a missing file", cli.run("fmt", "none.pxl")[0], 66)
    differ("no file", cli.run("fmt")[0], 2)
    code, _, err = cli.run("fmt", "--chek", "a.pxl")
    differ("unknown flag", code, 2)
    holds("suggestion", err, "did you mean `--check`?")


@case
def the_programs_of_the_project_are_in_canonical_form(cli):
    folders = [ROOT / f for f in ("examples", "stdlib", "bench", "tests/golden", "tests/repeat")]
    code, out, err = cli.run("fmt", "--check", *folders)
    differ("status (`pxl fmt` mends what is named)", (code, out, err), (0, "", ""))


@case
def a_folder_has_pipes(cli):
    cli.write("a.pxl", 'test "one" { assert 1 == 1 }\n')
    os.mkfifo(cli.folder / "x.pxl")
    for command in ("check", "fmt", "test"):
        code, out, err = cli.run(command, ".")
        differ(f"status of {command}", (code, "x.pxl" in out + err), (0, False))


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
    holds("notes", err, "line 18 takes too long")
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
    differ("fitting", cli.run("check", "--program", "p(3)", "a.pxl", "--size", "3")[0], 0)
    code, out, err = cli.run("check", "--program", "p(4)", "a.pxl", "--size=3")
    differ("status", code, 65)
    holds("error", err, "a.pxl:4:7: error: matmul: inner dimensions differ")
    differ("a call that does not parse", cli.run("check", "-p", "p(", "a.pxl")[0], 65)
    differ("an option that is not there", cli.run("check", "a.pxl", "--sise", "3")[0], 2)


@case
def check_is_fast_enough_for_every_save(cli):
    layers = "".join(f"module L{i}(n: int) {{\n  build(x: tensor[..., d]) {{\n    param w: x.dtype[d, n] = normal(0, 0.02)\n"
                     f"    return gelu(x @ w)\n  }}\n}}\n\n" for i in range(140))
    cli.write("a.pxl", layers + "module Net {\n" + "".join(f"  l{i} = L{i}(64)\n" for i in range(20)) + "  build(x) {\n"
              + "".join(f"    x = l{i}(x)\n" for i in range(20)) + "    return x\n  }\n}\nprogram p {\n"
              "  stream in a: float32[8, 64]\n  facts, g = Net().create_graph(a.spec)\n  net = g.bind(facts.init())\n"
              "  stream out y = net(host_load(a))\n}\n")
    differ("result", cli.run("check", "a.pxl"), (0, "", ""))
    # CPU time, so that other work on the machine does not count.
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
    differ("summary", events[1], {"event": "checked", "file": "a.pxl", "errors": 1, "warnings": 0, "programs": ["p"], "unchecked": []})
    differ("fault", events[2]["fault"], "unreadable")
    holds("text for people", err, "a.pxl:1:5: error: unknown name `undefined_one`")


# ---- models as imports --------------------------------------------------------------------------------------------

@case
def a_model_is_imported_by_its_file(cli):
    cli.write("make.pxl", "from nn import Linear\nmodule Net {\n  fc = Linear(4)\n  build(x: float32[2, 3]) { return relu(fc(x)) }\n}\n"
                          "facts, graph = Net().create_graph(float32[2, 3])\nexport_onnx(graph.bind(facts.init_zero()), \"models/net.onnx\")\n")
    (cli.folder / "models").mkdir()
    differ("export", cli.run("make.pxl"), (0, "", ""))
    use = 'from "models/net.onnx" import Model as Net\nprint([op.type for op in Net().create_graph(float32[2, 3])[1].ops])\n'
    cli.write("use.pxl", use), cli.write("deep/use.pxl", use.replace("models/", "../models/"))
    differ("imported", cli.run("use.pxl"), (0, "['MatMul', 'Add', 'Relu']\n", ""))
    differ("by a path from the file's folder", cli.run("deep/use.pxl"), (0, "['MatMul', 'Add', 'Relu']\n", ""))
    differ("canonical", cli.run("fmt", "--check", "use.pxl"), (0, "", ""))
    # A check reads what is imported.
    cli.write("wrong.pxl", 'from "models/net.onnx" import Model\nModel().create_graph(float32[2, 5])\n')
    code, out, err = cli.run("check", "wrong.pxl")
    differ("check", code, 65)
    holds("check", err, "wrong.pxl:2:22: error: ")


@case
def a_file_that_the_command_line_does_not_name_is_not_overwritten(cli):
    cli.write("net.pxl", "program p {\n  variable w: float32[20] = 1\n  stream out y = w\n}\n")
    differ("export", cli.run("export", "net.pxl"), (0, "", ""))
    model = (cli.folder / "net.onnx").read_bytes()
    own = {"net.pxl": (cli.folder / "net.pxl").read_text(), "net.onnx": "mine", "net.safetensors": "mine", "other.safetensors": "mine"}
    # Each command, what it is told to write, and the file that it would overwrite besides.
    commands = [(["export", "net.pxl"], "net.onnx"), (["import", "in.onnx", "-o", "other.pxl"], "other.safetensors"),
                (["import", "in.onnx"], "in.pxl"), (["new", "folder"], "folder")]
    (cli.folder / "folder").mkdir()
    for arguments, file in commands:
        (cli.folder / "in.onnx").write_bytes(model)
        own.setdefault(file, "mine")
        for name, text in own.items():
            if name != "folder":
                (cli.folder / name).write_text(text)
        code, out, err = cli.run(*arguments)
        differ(f"{arguments}", code, 2)
        holds(f"{arguments}", err, f"`{file}`")
        differ(f"{arguments}: files", {name: (cli.folder / name).read_text() for name in own if name != "folder"},
               {name: text for name, text in own.items() if name != "folder"})
        if arguments[0] != "new":
            differ(f"{arguments} --force", cli.run(arguments[0], "--force", *arguments[1:]), (0, "", ""))
            differ(f"{arguments}: still mine", (cli.folder / file).read_bytes() == b"mine", False)


@case
def a_model_that_cannot_be_imported_is_an_error_of_the_users_line(cli):
    cli.write("here.txt", "")
    for line, place, status, words in (
            ('from "nothing.onnx" import Model', "a.pxl:2:1", 66, "cannot read the model nothing.onnx: there is no such file"),
            ('m = onnx.load("nothing.onnx")', "a.pxl:2:5", 66, "cannot read the model nothing.onnx: there is no such file"),
            ('from "here.txt" import Model', "a.pxl:2:1", 65, "cannot import `here.txt`: files that can be imported end in .onnx")):
        cli.write("a.pxl", f"import onnx\n{line}\n")
        code, out, err = cli.run("a.pxl")
        differ(line, (code, err.splitlines()[0].split(" [")[0]), (status, f"{place}: error: {words}"))
        holds(line, err, f"    2 | {line}\n")
