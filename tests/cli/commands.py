"""The command line: what each command prints, writes and exits with."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from tests.cli import checks, completions, control_characters, errors_handled, graph, measured, packages, planning, profile_systems, saves, source, streams, terminal, test_blocks, threads  # noqa: F401, their cases register themselves
from tests.cli.case import CASES, LIMIT, Cli, case, differ, holds, wait_until_it_works
from tests.support.harness import ROOT


# ---- objects ----------------------------------------------------------------------------------------------------

@case
def two_dashes_end_the_flags(cli):
    cli.write("-x.pxl", "print(1)\n"), cli.write("test", "print(2)\n"), cli.write("-e", "print(3)\n")
    cli.write("a.pxl", "option n: int = 0\noption quiet: bool = false\nprint(n, quiet)\n"), cli.write("b.pxl", "print(4)\n")
    for words, shown in ((("--", "-x.pxl"), "1\n"), (("run", "--", "-x.pxl"), "1\n"), (("--", "test"), "2\n"), (("run", "--", "-e"), "3\n"),
                         (("--quiet", "--", "a.pxl", "--n", "5"), "5 false\n"), (("a.pxl", "--"), "0 false\n"),
                         (("a.pxl", "--", "--n", "5", "--quiet"), "5 true\n"), (("a.pxl", "--n=5", "--"), "5 false\n"),
                         (("b.pxl", "--quiet", "--"), "4\n"), (("run", "--", "a.pxl", "--n", "7"), "7 false\n")):
        differ(" ".join(words), cli.run(*words), (0, shown, ""))
    cli.write("-y.pxl", "option n: int = 2\nprogram p {\n  x = variable(zeros([n]))\n  stream out y = x + 1\n}\nSession(p())\n")
    plain = cli.run("profile", "--machine", "bow", "--json", "./-y.pxl", "--n", "9")[1]
    for words in (("--json", "--", "-y.pxl", "--n", "9"), ("--json", "./-y.pxl", "--", "--n", "9")):
        differ(" ".join(words), cli.run("profile", "--machine", "bow", *words)[1].replace('"-y.pxl', '"./-y.pxl'), plain)
    for command in ("check", "schedule", "graph", "export", "test", "fmt"):
        differ(command, cli.run(command, "--", "-y.pxl")[0], 0)
    for words, status in ((("--",), 2), (("run", "--"), 2), (("b.pxl", "--", "--quiet"), 2), (("a.pxl", "--", "--"), 2), (("--", "nothing.pxl"), 66)):
        differ(" ".join(words), cli.run(*words)[0], status)


@case
def a_link_to_a_script_finds_what_is_beside_the_script(cli):
    cli.write("real/main.pxl", 'import helper\nprint(helper.x, read_text(beside("note.txt")))\n')
    cli.write("real/helper.pxl", 'x = 5\n'), cli.write("real/note.txt", "here"), cli.write("links/helper.pxl", "x = 6\n")
    (cli.folder / "links/main.pxl").symlink_to("../real/main.pxl")
    (cli.folder / "again.pxl").symlink_to("links/main.pxl")
    (cli.folder / "folder").symlink_to("real")
    for path in ("links/main.pxl", "again.pxl", "folder/main.pxl", "real/main.pxl"):
        differ(path, cli.run(path), (0, "5 here\n", ""))
        differ(f"check {path}", cli.run("check", path)[0], 0)


@case
def a_run_as_objects(cli):
    cli.write("a.pxl", "print(1, 2)\nprint([1][3 if time() > 0 else 0])\n")
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
    files = [*(ROOT / "interpreter/cli").rglob("*.cpp"), ROOT / "runtime/tiles/report/report_json.cpp"]
    sources = "".join(p.read_text() for p in files)
    events = set(re.findall(r'"event", "(\w+)"', sources))
    differ("events", sorted(events), sorted(re.findall(r"^\| `(\w+)` \|", text, re.M)))


# ---- help, manual -----------------------------------------------------------------------------------

def command_names(cli):
    lines = cli.run("help")[1].split("commands:")[1].split("flags:")[0].splitlines()
    return [line.split()[0] for line in lines if line.startswith("  ")]


@case
def help_tells_of_every_command(cli):
    names = command_names(cli)
    differ("help", cli.run("--help"), cli.run("help"))
    for name in names:
        differ(name, cli.run("help", name), cli.run(name, "--help"))
        wide = [line for line in cli.run("help", name)[1].splitlines() if len(line) > 100]
        differ(f"{name}: lines wider than 100 columns", wide, [])
        holds(name, cli.run("help", name)[1], f"usage: pxl {name}")
    code, _, err = cli.run("help", "schedul")
    differ("unknown", code, 2)
    holds("unknown", err, "did you mean `schedule`?")
    code, _, err = cli.run("chek")
    differ("mistyped", code, 2)
    holds("mistyped", err, "did you mean `check`?")


@case
def unknown_commands(cli):
    code, _, err = cli.run("grph")
    differ("status", code, 2)
    holds("near", err, "unknown command: `grph`; did you mean `graph`?")
    code, _, err = cli.run("nothing")
    differ("status", code, 2)
    holds("far", err, "unknown command: `nothing`\n")
    holds("far", err, "`pxl help` lists the commands")
    cli.write("script", "print(5)\n")
    differ("a file without a suffix", cli.run("script"), (0, "5\n", ""))


@case
def a_new_project_runs(cli):
    code, out, err = cli.run("new", "my_net")
    differ("status", (code, err), (0, ""))
    holds("next", out, "cd my_net")
    for command in re.findall(r"^  (pxl .*)", out, re.M):
        done = subprocess.run([str(cli.pxl), *command.split()[1:]], cwd=cli.folder / "my_net", capture_output=True, text=True, timeout=LIMIT)
        differ(command, (done.returncode, done.stderr), (0, ""))
        holds(command, done.stdout, "% right" if "train" in command else "1 passed, 0 failed")
    folder = cli.folder / "my_net"
    differ("files", sorted(p.name for p in folder.iterdir()), ["README.md", "net.pxl", "pxl.toml", "train.pxl", "weights.safetensors"])
    holds("name", (folder / "README.md").read_text(), "# my_net\n")
    differ("canonical", cli.run("fmt", "--check", "my_net")[0], 0)
    differ("checked", cli.run("check", "my_net"), (0, "", ""))
    # The page's next steps work.
    for words in re.findall(r"^\| `pxl ([^`]*)`", (folder / "README.md").read_text(), re.M):
        done = subprocess.run([str(cli.pxl), *words.split()], cwd=folder, capture_output=True, text=True, timeout=LIMIT)
        differ(words, done.returncode, 0)
    for bad in (("new",), ("new", "my_net"), ("new", "a", "b"), ("new", ".")):
        differ(" ".join(bad), cli.run(*bad)[0], 2)


@case
def the_version_tells_what_was_built(cli):
    code, out, err = cli.run("--version")
    differ("status", (code, err), (0, ""))
    version = re.search(r"^project\(pxl VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M).group(1)
    day = re.search(rf"^## {version} \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(), re.M).group(1)
    first, *rest = out.splitlines()
    differ("version", first, f"pxl {version} ({day})")
    facts = dict(line.split(": ", 1) for line in rest)
    differ("facts", list(facts), ["commit", "compiler", "engines", "instruction sets", "line editor"])
    if not re.fullmatch(r"[0-9a-f]{7,40}|unknown", facts["commit"]):
        raise AssertionError(facts["commit"])
    if not re.fullmatch(r"(g\+\+|clang) \d+\.\d+.*", facts["compiler"]):
        raise AssertionError(facts["compiler"])
    engines = re.findall(r"^PXL_ENGINE\((\w+),", (ROOT / "runtime/execute/engines/engines.inc").read_text(), re.M)
    differ("engines", facts["engines"].split(", "), engines)
    sets, _, used = facts["instruction sets"].partition("; on this processor ")
    holds("instruction sets", sets.split(", "), used)
    refused, _, why = cli.run("--version", env={"PXL_ISA": "mmx"})
    differ("unknown set", refused, 2)
    holds("unknown set", why, f"no kernels were built for the instruction set `mmx`\n  there are {sets}\n")
    event = json.loads(cli.run("--json", "--version")[1])
    differ("event", [event[k] for k in ("event", "version", "date", "commit", "engines", "instruction_set", "line_editor")],
           ["version", version, day, facts["commit"], engines, used, facts["line editor"]])
    holds("manual", cli.run("man")[1], f'.TH PXL 1 {day} "pxl {version}"')


@case
def the_manual_is_sound(cli):
    code, out, err = cli.run("man")
    differ("status", (code, err), (0, ""))
    for name in command_names(cli):
        holds("manual", out, f".SS {name}".replace("-", "\\-"))
    if shutil.which("mandoc"):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning"], input=out, capture_output=True, text=True)
        differ("mandoc", (done.returncode, done.stdout), (0, ""))


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
    differ("a wrong flag of run", cli.run("run", "--wrong")[0], 2)
    differ("inputs that fail", cli.run("repl", "--no-init", stdin="1 + nothing\n2\n")[:2], (1, "2\n"))
    differ("a wrong option", cli.run("-", "--wrong", "1", stdin="option right: int = 1")[0], 2)
    process = subprocess.Popen([str(cli.pxl), "-e", "print(1)\nwhile true { pass }"], cwd=cli.folder, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, bufsize=0)
    wait_until_it_works(process)
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
def engines_run_sessions(cli):
    cli.write("a.pxl", "program p {\n  variable w: float32[2] = 1\n  stream out y = exp(w)\n}\n"
                       "s = Session(p())\nprint(s.engine, s.run().y)\n")
    for words, engine in (((), "planned"), (("--engine", "reference"), "reference"), (("run", "--engine", "reference"), "reference")):
        differ(f"by {words}", cli.run(*words, "a.pxl")[:2], (0, f"{engine} [2.7182817 2.7182817]\n"))
    code, _, err = cli.run("--engine", "planed", "a.pxl")
    differ("status of an unknown engine", code != 0, True)
    holds("message", err, 'unknown engine "planed"')
    holds("hint", err, "planned")


@case
def schedules_show_passes(cli):
    cli.write("a.pxl", "program p {\n  variable w: float32[8] = 2\n  stream out z = tanh(w * exp(0.5)) + 1\n}\n")
    code, out, err = cli.run("schedule", "--passes", "a.pxl")
    differ("status", (code, err), (0, ""))
    for line in ("Graph : ", "after fuse_elementwise:", "(w float32[8], ", "tanh+add"):
        holds("passes", out, line)
    differ("a pass that changes nothing is left out", "after sparse_updates" in out, False)
    events = [json.loads(line) for line in cli.run("schedule", "--passes", "--json", "a.pxl")[1].splitlines()]
    differ("events", {e["event"] for e in events}, {"pass"})
    differ("before the first", events[0]["pass"], "")


@case
def compare_names_the_first_difference(cli):
    cli.write("a.pxl", "program p {\n  variable w: float32[2] = 2\n  y = exp(w) + gelu(w)\n"
                       "  stream out z = y * 3 # last\n}\nprint(Session(p()).run().z)\n")
    code, out, err = cli.run("compare", "a.pxl")
    differ("engines", (code, err), (0, ""))
    holds("what agrees", out, "tensors agree: planned and reference")
    code, out, _ = cli.run("compare", "--engine", "tiles", "--engine", "planned", "a.pxl")
    differ("other engines", (code, "tensors agree: tiles and planned" in out), (0, True))
    # Values of the program, of which one is then changed.
    cli.write("b.pxl", "program p {\n  variable w: float32[2] = [1.0, 2.0]\n  y = exp(w)\n  z = y * 3\n  stream out s = z + 1\n}\n"
                       "Session(p()).run()\n")
    for last, expected in ((3.0, 0), (4.0, 1)):
        cli.write("save.pxl", f'save("v.npz", {{"exp_out": exp(array([1.0, 2.0])), "mul_out": exp(array([1.0, 2.0])) * {last},'
                              ' "other": array([1.0])})\n')
        differ("saved", cli.run("save.pxl")[0], 0)
        code, out, err = cli.run("compare", "b.pxl", "--against", "v.npz")
        differ(f"values times {last}", code, expected)
        holds("the place", err, "b.pxl:4:" if expected else "no tensor is called other")
        if expected:
            holds("the tensor", err, "`mul_out` of float32[2] differs: element 1")
    for words, why in ((("--engine", "planned", "--engine", "planned"), "two engines are compared"), (("--engine", "plan"), "unknown engine"),
                       (("--tolerance", "x"), "is a number from 0"), (("--against", "v.npz", "--engine", "tiles", "--engine", "planned"), "takes one engine")):
        code, _, err = cli.run("compare", "b.pxl", *words)
        differ(f"status of {words}", code != 0, True)
        holds("message", err, why)


@case
def the_environment_seeds_draws(cli):
    draws = lambda seed: cli.run("-e", "print(normal(0, 1, [4]))", env={"PXL_SEED": seed})
    differ("a seed", draws("5")[0], 0)
    differ("a seed, again", draws("5"), draws("5"))
    differ("another seed differs", draws("6") != draws("5"), True)
    differ("no seed differs from run to run", draws("") != draws(""), True)
    for bad in ("x", "-3", "1.5", str(2 ** 64)):
        differ(f"the seed {bad}", draws(bad), (2, "", f"error: PXL_SEED is `{bad}`, not an integer from 0 to 2^64 - 1\n"))


@case
def settings_are_checked(cli):
    def said(**env):
        return cli.run("-e", "print(1)", env=env)
    for name, value, why in (("PXL_PIN", "true", "is `true`; it is one of: on, off\n  did you mean `on`?"),
                             ("PXL_FUSE", "0", "is `0`; it is one of: on, off\n  did you mean `off`?"),
                             ("PXL_GEMM", "paked", "is `paked`; it is one of: packed, library\n  did you mean `packed`?"),
                             ("PXL_VERIFY", "2", "is `2`; it is one of: 0, 1, run, text"),
                             ("PXL_THREADS", "abc", "is `abc`, not an integer from 1 to 64"),
                             ("PXL_THREADS", "0", "is `0`, not an integer from 1 to 64")):
        status, out, err = said(**{name: value})
        differ(f"{name}={value}", (status, out), (2, ""))
        holds("message", err, f"error: {name} {why}")
    differ("empty is unset", said(PXL_PIN="", PXL_THREADS=""), (0, "1\n", ""))
    differ("a setting that there is not", said(PXL_THREAD="2"),
           (0, "1\n", "note: the environment has PXL_THREAD, which is no setting of pxl: did you mean `PXL_THREADS`?\n"))


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


# ---- files and outputs ------------------------------------------------------------------------------------------

@case
def folders_stand_for_their_programs(cli):
    cli.write("a/good.pxl", "x = 1\ntest \"one\" { assert x == 1 }\n")
    cli.write("a/b/bad.pxl", "x = = 1\n")
    cli.write("a/.hidden/bad.pxl", "x = = 1\n")
    cli.write("empty/notes.txt", "")
    code, out, err = cli.run("check", "a")
    differ("check", (code, out), (65, ""))
    holds("check", err, "a/b/bad.pxl:1:5: error")
    differ("check names each file once", err.count("error:"), 1)
    code, out, err = cli.run("test", "a")
    differ("test", code, 1)
    holds("test", out, "1 passed, 1 failed")
    for command in ("check", "test", "fmt"):
        code, out, err = cli.run(command, "empty")
        differ(command, (code, out), (2, ""))
        holds(command, err, f"{command}: there is no .pxl file below `empty`")


@case
def outputs_that_cannot_be_written(cli):
    if not os.path.exists("/dev/full"):
        return
    program = cli.write("p.pxl", "program p {\n  stream in x: float32[2]\n  stream out y = host_load(x) + 1\n}\n")
    for words in (["--version"], ["help"], ["man"], ["doc"], ["doc", "--html", "gelu"], ["explain"], ["completions", "bash"],
                  ["schedule", program], ["graph", program], ["-e", "print(1)"], ["--json", "-e", "print(1)"], ["fmt", "-"],
                  ["-e", "for i in range(1000000000) { print(i) }"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([str(cli.pxl), *map(str, words)], stdin=open(program), stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=LIMIT, cwd=cli.folder)
        differ(f"{words}: status", done.returncode, 1)
        holds(f"{words}", done.stderr, "cannot write standard output: No space left on device [write]")


@case
def a_reader_that_has_seen_enough(cli):
    """A command whose reader closes the pipe ends with SIGPIPE, silently, as other commands do."""
    for words in (["doc"], ["man"], ["-e", "for i in range(1000000000) { print(i) }"]):
        reads, writes = os.pipe()
        os.close(reads)
        process = subprocess.Popen([str(cli.pxl), *words], stdout=writes, stderr=subprocess.PIPE)
        os.close(writes)
        differ(f"{words}", (process.wait(timeout=LIMIT), process.stderr.read()), (-signal.SIGPIPE, b""))
        process.stderr.close()


@case
def errors_name_their_kind(cli):
    code, _, err = cli.run("-", stdin="x = ones([2]) @ ones([3])\n")
    holds("an error of the program", err.splitlines()[0], "inner dimensions differ: 2 (ones([2]), axis -1) and 3 (ones([3]), axis 0) [shape]")
    holds("a missing file", cli.run("none.pxl")[2], "No such file or directory [file]")
    holds("several", cli.run("check", "-", stdin="a = bb\nc = dd\n")[2].splitlines()[0], "unknown name `bb` [unknown-name]")
    defaults = "def f(a = [i for i in range(3)], g = (x) => [q for q in x]) { return a }\nmodule M(k: int = sum([j for j in range(3)])) { build(x) { return x } }\na = f()\n"
    differ("comprehensions in defaults", cli.run("check", "-", stdin=defaults), (0, "", ""))
    differ("usage has none", "[" in cli.run("--wrong")[2], False)
    # A terminal is told where to read on, once.
    main, terminal = os.openpty()
    process = subprocess.Popen([str(cli.pxl), "check", cli.write("b.pxl", "a = bb\nc = dd\n")], stdin=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    shown = b""
    try:
        while part := os.read(main, 4096):
            shown += part
    except OSError:
        pass  # the other end is closed
    os.close(main)
    process.wait(timeout=LIMIT)
    differ("told once", shown.count(b"pxl explain unknown-name tells more"), 1)


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
