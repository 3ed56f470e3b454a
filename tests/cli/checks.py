"""Errors of a script are found before it runs; `check` warns and mends; a script that fails may leave its session to the
REPL."""
import json

from tests.cli.case import case, differ, holds
from tests.support.harness import ROOT

PROGRAM = "program p {\n  stream in x: float32[2]\n  stream out y = host_load(x) + 1\n}\nsession = Session(p())\nprint(\"ready\")\n"


@case
def mistakes_are_found_before_a_script_runs(cli):
    for line, said in (("print(loses)", "unknown name `loses`"), ("session.run(z = [1, 2])", "no input stream `z`"),
                       ("session.run(x = ones([3]))", "expected float32[2], got float32[3]"), ("session.run()", "missing input `x` float32[2]"),
                       ("session.run(x = [1, 2]).out", "has no member `out`"), ("session.save(\"model.pt\")", ".safetensors"),
                       ("uniform(0, 1, [2, 3]) @ uniform(0, 1, [2, 3])", "inner dimensions differ"), ("save(\"model.pt\", ones([2]))", "model.pt")):
        code, out, err = cli.run("-", stdin=PROGRAM + line + "\n")
        differ(line, (out, code != 0), ("", True))
        holds(line, err, said)
    differ("what only a run knows", cli.run("-", stdin="print(\"ready\")\nassert time() < 0\n")[:2], (1, "ready\n"))
    # Code that does not run is looked at too; code that depends on a run is not.
    differ("a function that is not called", cli.run("-", stdin="def f() { return nothing_known }\nprint(1)\n")[:2], (65, ""))
    differ("values of options", cli.run("-", "--n", "3", stdin="option n: int = 2\nx = zeros([n]) + zeros([3])\nprint(x.shape)\n")[:2], (0, "(3,)\n"))
    differ("values of options that do not fit", cli.run("-", stdin="option n: int = 2\nprint(1)\nx = zeros([n]) + zeros([3])\n")[:2], (65, ""))


@case
def a_program_that_nobody_builds_stops_no_script(cli):
    """Its defaults may be wrong for it: the script decides what it is given. A program without parameters is checked."""
    body = "  stream in x: float32[2, 3]\n  stream out y = host_load(x) @ ones([4, 2])\n}\nprint(\"runs\")\n"
    path = cli.write("a.pxl", "program p(width: int = 3) {\n" + body)
    differ("with parameters", cli.run(path)[:2], (0, "runs\n"))
    code, _, err = cli.run("check", path)
    differ("check", code, 65)
    holds("check", err, "inner dimensions differ")
    differ("without parameters", cli.run(cli.write("b.pxl", "program p {\n" + body))[:2], (65, ""))
    # A `try` takes a finding where a `catch` names its kind.
    differ("a catch of another kind", cli.run("-", stdin="try { x = laod(\"a\") } catch { }\nprint(1)\n")[:2], (65, ""))
    differ("a catch of the kind", cli.run("-", stdin="try { x = laod(\"a\") } catch unknown_name { x = 2 }\nprint(x)\n")[:2], (0, "2\n"))
    differ("of shapes", cli.run("-", stdin="try { x = ones([2, 3]) @ ones([2, 4]) } catch shape { x = 2 }\nprint(x)\n")[:2], (0, "2\n"))


@case
def check_mends_what_it_can(cli):
    path = cli.write("a.pxl", "losses = [0.5, 0.25]\nfor x in losses:\n  if x === 0.5 && true { println(x) }\nprint(loses.mean(), silu(1.0))\n")
    code, out, err = cli.run("check", "--fix", path)
    differ("fixed", (code, out), (0, ""))
    differ("text", (cli.folder / "a.pxl").read_text(),
           "losses = [0.5, 0.25]\nfor x in losses {\n  if x == 0.5 and true { print(x) }\n}\nprint(mean(losses), swish(1.0))\n")
    holds("told", err, "fixed: Change to `losses`")
    differ("again", cli.run("check", "--fix", path), (0, "", ""))
    text = "print(1 +\n"
    path = cli.write("b.pxl", text)
    differ("nothing to mend", (cli.run("check", "--fix", path)[0], (cli.folder / "b.pxl").read_text()), (65, text))


@case
def check_warns(cli):
    path = cli.write("a.pxl", "from nn import Linear\ndef f(x) {\n  y = 2\n  return x\n  print(x)\n}\nx = 3\nx == f(4)\nprint(x)\n")
    code, _, err = cli.run("check", path)
    differ("status", code, 0)
    for kind in ("unused-import", "unused-variable", "unreachable", "unused-value"):
        holds(kind, err, f"[{kind}]")
    err = cli.run("check", "--allow", "unused-import,unreachable", path)[2]
    differ("left out", ("[unused-import]" in err, "[unreachable]" in err, "[unused-value]" in err), (False, False, True))
    differ("an unknown kind", cli.run("check", "--allow", "unused-imports", path)[0], 2)
    path = cli.write("b.pxl", "# allow: unused-import\nfrom nn import Linear\nprint(1)\n")
    differ("a comment", cli.run("check", path), (0, "", ""))
    path = cli.write("c.pxl", "from nn import Linear  # allow: unused-import\nfrom nn import Conv2d\n# allow: unused-variable\n"
                              "def f() {\n  a = 1\n  return 2\n}\ndef g() {\n  b = 1\n  return f()\n}\nprint(g())\n")
    err = cli.run("check", path)[2]
    differ("a comment is of its statement", [name in err for name in ("`Linear`", "`Conv2d`", "`a`", "`b`")], [False, True, False, True])
    events = [json.loads(line) for line in cli.run("check", "--json", "a.pxl")[1].splitlines()]
    differ("events", (events[0]["severity"], events[-1]["errors"], events[-1]["warnings"]), ("warning", 0, 4))
    differ("a run is silent", cli.run("a.pxl"), (0, "3\n", ""))


TRAINED = """from nn import Linear
from losses import mse_loss
from optim import SGD, optimise
program train {{
  stream in x: float32[4, 3]
  net = Linear(2).bound(x, training = true)
  variable scale: float32[] = 1
  {seed}
  {taken}
  h = scale * net(dropout(host_load(x), seed, 0.5))
  stream out loss = mse_loss(h, zeros([4, 2]))
  optimise(SGD(), net.vars, grad(loss, net.vars), lr = 0.1)
  {after}
}}
train()
"""


@case
def check_warns_of_what_does_not_train(cli):
    """Each warning, and programs beside it that are right."""
    def given(seed="seed = constant([1, 2], uint32)", taken="pass", after="scaled_add_(scale, grad(loss, scale), b = -0.1)"):
        cli.write("t.pxl", TRAINED.format(seed=seed, taken=taken, after=after))
        return [e["code"] for e in map(json.loads, cli.run("check", "--json", "t.pxl")[1].splitlines()) if e["event"] == "diagnostic"]
    fresh = "stream in seeds: uint32[2]\n  seed = host_load(seeds)"
    differ("a constant seed", given(), ["fixed-seed"])
    differ("split from a constant", given("seed = split_random_seed(constant([1, 2], uint32), 2)[1]"), ["fixed-seed"])
    differ("a variable seed", given("variable seed: uint32[2] = [1, 2]"), ["fixed-seed"])
    differ("a variable seed that is replaced", given("variable seed: uint32[2] = [1, 2]", "copy_var_update_(seed, split_random_seed(seed, 2)[1])"), [])
    differ("a seed of a stream", given(fresh), [])
    differ("a variable that nothing trains", given(fresh, after="pass"), ["untrained-variable"])
    differ("a variable that an op changes", given(fresh, after="scaled_add_(scale, loss, b = 0.1)"), [])
    differ("a program that trains nothing", given(fresh, after="pass\n}\nprogram infer {\n  variable w: float32[] = 2\n  stream out y = w * 2"), ["untrained-variable"])
    for text, kinds in [("sum = sum([1, 2])\nprint(sum)\n", ["shadowed-builtin"]), ("total = sum([1, 2])\nsize = 3\nlog = []\nprint(total, size, log)\n", []),
                        ("square = (x) => x * x\nprint(square(3))\n", []), ("def f(len) { return len(3) }\nprint(f((x) => x))\n", [])]:
        cli.write("s.pxl", text)
        differ(text, [e["code"] for e in map(json.loads, cli.run("check", "--json", "s.pxl")[1].splitlines()) if e["event"] == "diagnostic"], kinds)


@case
def check_warns_of_nothing_in_our_programs(cli):
    events = [json.loads(line) for line in cli.run("check", "--json", *[str(ROOT / folder) for folder in ("examples", "bench", "stdlib", "tests/golden", "tests/text")])[1].splitlines()]
    differ("warnings", [(e["file"], e["line"], e["code"]) for e in events if e["event"] == "diagnostic"], [])
    differ("files", sum(e["event"] == "checked" for e in events) > 60, True)


@case
def an_error_leaves_the_session_to_the_repl(cli):
    path = cli.write("a.pxl", "option n: int = 2\nx = n * 10\nassert time() < 0\ny = 3\n")
    code, out, err = cli.run("--on-error", "repl", path, "--n", "4", stdin="x + 1\n")
    differ("the session", (code, out), (1, "41\n"))
    holds("the error", err, "assertion failed")
    path = cli.write("b.pxl", "print(5)\n")
    differ("no error", cli.run("--on-error", "repl", path, stdin="6\n"), (0, "5\n", ""))
    differ("no such way", cli.run("--on-error", "stop", path)[0], 2)
    differ("-i keeps it too", cli.run("-i", "a.pxl", stdin="x + 1\n")[:2], (1, "21\n"))
