"""`pxl profile` without a flag of the model: what it measures of a script."""
import json
import signal
import subprocess

from tests.cli.case import LIMIT, case, differ, holds, wait_until_it_works
from tests.support.harness import ROOT
from tests.support.programs import THREE_LAYERS

LOOP = "option runs: int = 40\n" + THREE_LAYERS % 32 + """for i in range(runs) {
  result = session.run(x = ones([32, 64]))
}
print("printed", runs)
"""
TRAINING = """from nn import Linear, Sequential
from losses import mse_loss
from optim import Adam, optimise
option runs: int = 40
program train {
  stream in x: float32[64, 256]
  net = Sequential(Linear(256), relu, Linear(256), relu, Linear(16)).bound(x, training = true)
  stream out loss = mse_loss(net(host_load(x)), zeros([64, 16]))
  optimise(Adam(), net.vars, grad(loss, net.vars), lr = 0.001)
}
session = Session(train())
x = ones([64, 256])
for i in range(runs) { result = session.run(x = x) }
"""
# Blocks are inlined, or outlined: then all of them call one graph. Others run in the body of a loop.
BLOCKS = """from nn import Linear, Sequential, TransformerEncoderLayer
from losses import mse_loss
from optim import SGD, optimise
module Encoder {
  KIND blocks = [TransformerEncoderLayer(16, 2, dim_feedforward = 32) for i in range(11)]
  steps = [Linear(16) for i in range(2)]
  head = Linear(16)
  build(x) {
    for block in blocks { x = block(x) }
    for step in steps { x = repeat(step, 3, x) }
    return head(x)
  }
}
program train {
  stream in x: float32[2, 4, 16]
  net = Encoder().bound(x, training = true)
  stream out loss = mse_loss(net(host_load(x)), zeros([2, 4, 16]))
  optimise(SGD(), net.vars, grad(loss, net.vars), lr = 0.1)
}
session = Session(train())
for i in range(4) { session.run(x = ones([2, 4, 16])) }
"""
# The example's script is measured to the end where it is short; others end after so many runs.
STEPS = 12


def near(a, b, part=0.02):
    return abs(a - b) <= part * max(abs(a), abs(b)) + 1e-9


def sums_problem(data):
    """Each total is the sum of its parts, and no part is negative."""
    parts = [p["seconds"] for p in data["parts"]]
    if not near(sum(parts), data["seconds"]) or min(parts) < -0.02 * data["seconds"]:
        return f"parts {data['parts']} of {data['seconds']} s"
    for s in data["sessions"]:
        if not near(sum(k["seconds"] for k in s["kernels"]), s["kernel_seconds"]):
            return f"{s['name']}: kernels take {s['kernel_seconds']} s"
        if s["kernel_seconds"] > 1.02 * s["run_seconds"] or s["run_seconds"] > 1.02 * s["loop_seconds"]:
            return f"{s['name']}: {s['kernel_seconds']} s in kernels, {s['run_seconds']} s in runs of {s['loop_seconds']} s"
        runs, t = s["timeline"]["runs"], s["timeline"]
        ends = [at + length for at, length in runs]
        if any(a > b for a, (b, _) in zip(ends, runs[1:])):
            return f"{s['name']}: runs overlap"
        if any(not (0 <= k < len(s["kernels"])) for k in t["kernel"]):
            return f"{s['name']}: the timeline has an unknown kernel"
    kernels = sum(s["kernel_seconds"] for s in data["sessions"])
    return None if near(kernels, data["parts"][0]["seconds"]) else f"{kernels} s in the kernels of the sessions"


@case
def a_measured_script_has_parts_that_add_up(cli):
    cli.write("loop.pxl", LOOP)
    code, out, err = cli.run("profile", "loop.pxl")
    differ("status", code, 0)
    for part in ("printed 40", "loop.pxl: ", "100.0%  total", "kernels", "profile of train: 40 runs in ", "loop.pxl:6 layers.*: ",
                 "this machine reaches", "planned (variables"):
        holds("summary", out, part)
    code, out, err = cli.run("profile", "--json", "loop.pxl", "--runs", "90")
    differ("json", (code, err), (0, ""))
    data = json.loads(out)
    differ("sums", sums_problem(data), None)
    session = data["sessions"][0]
    differ("runs", session["runs"], 90)
    differ("runs of kernels", {k["runs"] for k in session["kernels"]}, {90})
    differ("lines", {k["place"] for k in session["kernels"]} <= {"loop.pxl:6", "loop.pxl:13"}, True)


@case
def kernels_have_the_modules_of_the_calls_around_them(cli):
    blocks = [f"net.blocks.{i}" for i in range(11)]
    for kind in ("", "outlined"):
        cli.write("blocks.pxl", BLOCKS.replace("KIND", kind))
        code, out, err = cli.run("profile", "blocks.pxl", "-o", "blocks.json")
        differ("status", (code, err), (0, ""))
        data = json.loads(cli.read("blocks.json"))
        differ("sums", sums_problem(data), None)
        paths = {k["path"] for k in data["sessions"][0]["kernels"]}
        for block in blocks:
            inner = {p[len(block) + 1:].split(".")[0] for p in paths if p.startswith(block + ".")}
            differ(block, inner >= {"self_attn", "linear1", "linear2"}, True)
        differ("head", "net.head" in paths, True)
        shown = [line.split()[-1] for line in out.split("kernels by module")[1].splitlines() if "net.blocks." in line]
        differ("order", shown, blocks)


@case
def every_example_is_measured(cli):
    for example in sorted((ROOT / "examples").glob("*.pxl")):
        code, out, err = cli.run("profile", "--json", "--steps", STEPS, example, env={"PXL_DATA": "built-in"})
        if code == 65 and "no session ran" in err:
            continue
        if code != 0:
            raise AssertionError(f"{example.name}: exit status {code}\n{err[-600:]}")
        differ(example.name, sums_problem(json.loads(out)), None)


@case
def measuring_costs_at_most_three_percent(cli):
    """CPU time of 400 further runs. The least time of some attempts is compared, since a busy machine only adds time."""
    cli.write("train.pxl", TRAINING)
    least = {}
    for _ in range(8):
        for command in ("run", "profile"):
            few, many = (cli.processor_seconds(command, "train.pxl", "--runs", n) for n in (50, 450))
            least[command] = min(least.get(command, float("inf")), many - few)
        if least["profile"] <= 1.03 * least["run"]:
            return
    raise AssertionError(f"400 runs take {least['run']:.3f} s, and {least['profile']:.3f} s when they are measured")


@case
def a_measured_script_ends_after_steps_or_an_interrupt(cli):
    cli.write("loop.pxl", LOOP)
    code, out, _ = cli.run("profile", "--steps", "7", "--json", "loop.pxl")
    differ("steps", (code, json.loads(out)["sessions"][0]["runs"]), (0, 7))
    differ("no number", cli.run("profile", "--steps", "none", "loop.pxl")[0], 2)
    process = subprocess.Popen([str(cli.pxl), "profile", "loop.pxl", "--runs", "100000000", "-o", "page.html"], cwd=cli.folder,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until_it_works(process, 1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=LIMIT)
    differ("interrupted", process.returncode, 130)
    holds("what was measured", out, "profile of train: ")
    holds("the page", cli.read("page.html"), '"pxl-measurement/1"')


@case
def a_measured_script_is_written_in_each_form(cli):
    cli.write("loop.pxl", LOOP)
    for name, part in (("a.html", '"measured":[{"event":"profile"'), ("a.json", '"schema":"pxl-measurement/1"'), ("a.trace.json", '"traceEvents"'),
                       ("a.txt", "profile of train")):
        code, out, err = cli.run("profile", "loop.pxl", "-o", name)
        differ(name, (code, err), (0, ""))
        holds(name, cli.read(name), part)
    events = json.loads(cli.read("a.trace.json"))["traceEvents"]
    differ("lanes", {e["args"]["name"] for e in events if e["ph"] == "M"} >= {"train", "session.run", "thread 0"}, True)
    runs = [(e["ts"], e["ts"] + e["dur"]) for e in events if e["name"] == "run"]
    inside = [e for e in events if e["ph"] == "X" and e["tid"] == 1]
    differ("kernels are in runs", all(any(a - 1 <= e["ts"] and e["ts"] + e["dur"] <= b + 1 for a, b in runs) for e in inside[:40]), True)
    code, out, err = cli.run("profile", "--measure", "--machine", "bow", "loop.pxl", "-o", "both.html")
    differ("both", (code, err), (0, ""))
    page = cli.read("both.html")
    holds("both", page, '"pxl-measurement/1"')
    holds("both", page, '"name":"bow"')
    code, _, err = cli.run("profile", cli.write("none.pxl", "x = 1\n"))
    differ("nothing to measure", code, 65)
    holds("nothing to measure", err, "no session ran")
