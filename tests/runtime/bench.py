"""The commands that measure: they run, say what they should, and say why where they cannot."""
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tests.support.harness import ROOT

LOOP = """
program p {
  variable w: float32[16, 16] = 0.5
  stream in x: float32[4, 16]
  stream out y = gelu(host_load(x) @ w)
}
s = Session(p())
for i in range(20) { s.run(x = ones([4, 16])) }
"""


def call(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=600, cwd=ROOT)
    return done.returncode, done.stdout, done.stderr


def absent():
    """Without the other programs, bench/run says so and succeeds."""
    code, out, err = call(sys.executable, "bench/run", "--yardsticks", ROOT / "nowhere")
    return None if code == 0 and "not on this machine" in out else f"status {code}\n{out}{err}"


def absent_wide():
    """Without the yardsticks, bench/wide says so and succeeds."""
    code, out, err = call(sys.executable, "bench/wide", "--yardsticks", ROOT / "nowhere")
    return None if code == 0 and "not on this machine" in out else f"status {code}\n{out}{err}"


def table():
    """The table's ratios follow from its figures."""
    record = {"figures": {"NumPy": 10.0, "PyTorch": 20.0, "hand-written limit": 80.0, "pxl": 60.0}, "rounds": 3, "processor": "P",
              "date": "2020-01-02"}
    with tempfile.TemporaryDirectory() as folder:
        kept = pathlib.Path(folder) / "figures.json"
        kept.write_text(json.dumps({"xf": record}))
        code, out, err = call(sys.executable, "bench/run", "--table", kept)
    wanted = "| 10.0 | 20.0 | – | 80.0 | 60.0 | 3.00 | 0.75 |"
    return None if code == 0 and wanted in out and "2020-01-02" in out else f"status {code}\n{out}{err}"


def profile(pxl, flag):
    """`pxl run --profile` prints a table to standard error, and nothing without it."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "loop.pxl"
        script.write_text(LOOP)
        code, out, err = call(pxl, "run", *flag, script)
    if code != 0:
        return f"status {code}\n{out}{err}"
    if not flag:
        return None if err == "" else f"without --profile there is\n{err}"
    for pattern in (r"^profile of p: 20 runs in ", r"^ *share +us/run +runs +GF/s +GB/s +roof +line, module, op$", r"% .* 20 .* \d+%  \S*loop\.pxl:\d+.*: MatMul",
                    r"total of \d+ kernels?$", r"in session\.run, outside kernels$", r"outside session\.run$", r"100\.0% .* total$", r"^memory: .* planned"):
        if not re.search(pattern, err, re.M):
            return f"no line {pattern!r} in\n{err}"
    return None


def layer_times(pxl, layers, outline):
    """Milliseconds to build and plan a transformer's training program: the fastest of some rounds."""
    code, out, err = call(pxl, "bench/layers.pxl", "--layers", layers, "--rounds", 4, *outline)
    found = re.search(r"([\d.]+) ms to build, ([\d.]+) ms to plan", out)
    if code != 0 or not found:
        raise RuntimeError(f"status {code}\n{out}{err}")
    return sum(float(g) for g in found.groups())


def linear(pxl, outline):
    """Twice the layers take about twice as long to build and plan. A busy machine gets several attempts."""
    tried = []
    for _ in range(4):
        few, many = layer_times(pxl, 12, outline), layer_times(pxl, 24, outline)
        if many <= 2.6 * few:
            return None
        tried.append(f"12 layers {few:.1f} ms, 24 layers {many:.1f} ms: {many / few:.2f} times")
    return "\n".join(tried)


def schedules(pxl, kind):
    """The IPU model's schedule of twice the layers takes about twice as long."""
    tried = []
    for _ in range(4):
        code, out, err = call(pxl.parent / "bench_runtime", f"--benchmark_filter=schedule_on_tiles/{kind}/(12|24)$",
                              "--benchmark_min_time=0.1", "--benchmark_format=json")
        if code != 0:
            return f"status {code}\n{out}{err}"
        found = json.loads(out)["benchmarks"]
        if failed := [b["error_message"] for b in found if b.get("error_occurred")]:
            return "\n".join(failed)
        runs = {b["name"].rsplit("/", 1)[-1]: b["cpu_time"] for b in found if b["run_type"] == "iteration"}
        few, many = runs["12"], runs["24"]
        if 1.2 * few <= many <= 2.7 * few:
            return None
        tried.append(f"12 layers {few:.0f} ms, 24 layers {many:.0f} ms: {many / few:.2f} times")
    return "\n".join(tried)


def kernels(pxl):
    """bench_runtime runs every kernel that it has, once or twice."""
    code, out, err = call(pxl.parent / "bench_runtime", "--benchmark_min_time=0.00001", "--benchmark_filter=-build/.*")
    return None if code == 0 and "softmax/" in out and "float16" in out else f"status {code}\n{out[-1500:]}{err[-1500:]}"


def ops():
    """bench/ops prints a row, or says what it lacks."""
    code, out, err = call(sys.executable, "bench/ops", "prod over columns")
    row = re.search(r"^prod over columns/\S+ +[\d.]+ +[\d.]+ +[\d.]+$", out, re.M)
    return None if code == 0 and row or "is not" in err else f"status {code}\n{out}{err}"


def calls(pxl):
    """bench/calls counts the instructions of ops on small arrays, or says what it lacks; each is at most so many."""
    bounds = {"start": 42_000_000, "none": 2800, "add": 7000, "exp": 7500, "sum of rows": 11000, "stack": 12000}
    code, out, err = call(sys.executable, "bench/calls", "--exact", *bounds, "--pxl", pxl)
    if "not on this machine" in err:
        return None
    counts = {name: int(n.replace(",", "")) for name, n in re.findall(r"^\| ([^|]+) \| ([\d,]+) \|$", out, re.M)}
    if code != 0 or counts.keys() != bounds.keys():
        return f"status {code}\n{out}{err}"
    above = [f"{name}: {counts[name]} instructions, at most {most}" for name, most in bounds.items() if counts[name] > most]
    return "\n".join(above) or None


def planning(pxl):
    """bench/planning counts the instructions of building and planning, or says what it lacks; they grow no faster than n log n."""
    rows = ["readers of one tensor", "overwrites"]
    code, out, err = call(sys.executable, "bench/planning", *rows, "--ops", "200", "--pxl", pxl)
    if "not on this machine" in err:
        return None
    growth = {name: float(ratio) for name, ratio in re.findall(r"^\| ([^|]+) \| [\d,]+ \| [\d,]+ \| ([\d.]+) \|$", out, re.M)}
    if code != 0 or list(growth) != rows:
        return f"status {code}\n{out}{err}"
    above = [f"{name}: twice the ops take {ratio} times the instructions for each" for name, ratio in growth.items() if ratio > 1.25]
    return "\n".join(above) or None


def planning_functions(pxl):
    """No function that builds or plans grows faster than n log n, however small its share is yet."""
    code, out, err = call(sys.executable, "bench/planning", "--functions", "--ops", "2000", "chain", "calls", "--pxl", pxl)
    if "not on this machine" in err:
        return None
    return None if code == 0 and out.count("\n") == 2 else f"status {code}\n{out}{err}"


def instruction_sets(pxl):
    """bench/instruction_sets prints a row of two figures and their ratio; a set that there is not is refused."""
    code, out, err = call(sys.executable, "bench/instruction_sets", "--only", "add", "--rounds", 1, "--scale", 0.01, "--pxl", pxl)
    rows = re.findall(r"^\| `add`, float(?:32|16)(?: \| -?[\d.]+)+ \|$", out, re.M)
    refused, _, why = call(sys.executable, "bench/instruction_sets", "--sets", "mmx", "--pxl", pxl)
    return None if code == 0 and len(rows) == 2 and refused == 2 and "there are baseline" in why else f"status {code}\n{out}{err}{why}"


def team(pxl, data):
    """bench/threads prints a row of ratios, or says what it lacks."""
    code, out, err = call(sys.executable, "bench/threads", "--only", "small16", "--rounds", 1, "--beside", "1", "--pxl", pxl,
                          *(["--data", data] if data else []))
    row = re.search(r"^\| `small16` \| [\d.]+ \([\d.]+ to [\d.]+\) \|$", out, re.M)
    return None if code == 0 and (row or "not on this machine" in out) else f"status {code}\n{out}{err}"


def messages(pxl):
    """bench/collectives prints a row for each size, or says what it lacks."""
    code, out, err = call(sys.executable, "bench/collectives", "--only", "messages", "--ranks", "2", "--rounds", 1, "--most", 1 << 16,
                          "--build", pxl.parent)
    rows = re.findall(r"^\| 2 \| \d+ KiB \| [\d.]+ \| [\d.]+ \| [\d.]+ \|$", out, re.M)
    return None if code == 0 and (len(rows) == 4 or "not on this machine" in out) else f"status {code}\n{out}{err}"


def starting(pxl):
    """A process takes little longer for its first training step than Python with NumPy takes to start. `pxl -e 1` takes no
    longer than `python3 -c 1`."""
    tried = []
    for _ in range(4):
        code, out, err = call(sys.executable, "bench/start", "--rounds", 5, "--pxl", pxl)
        fastest = {name: float(ms) for name, ms in re.findall(r"^(.*): .* fastest ([\d.]+) ms", out, re.M)}
        if "pxl bench/first_step.pxl" not in fastest:
            return f"status {code}\n{out}{err}"
        if code == 0 and fastest["pxl bench/first_step.pxl"] <= 1.5 * fastest.get("python3 -c 'import numpy'", math.inf):
            return None
        tried.append(out)
    return "\n".join(tried)


PLAN = re.compile(r"arena (\d+) bytes, constants (\d+) bytes")
BUFFER = re.compile(r"^  b\d+: (arena|variable|constant|input|output)[ \d]*, (\d+) bytes(?:, live (\d+)\.\.(\d+))?", re.M)


def planned(pxl, script, *args):
    """Sizes of the main graph's plan, in bytes: the arena, the peak of its live tensors, variables, constants; and the peak of the
    process's resident memory."""
    with tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([str(pxl), str(script), *map(str, args)], stdout=subprocess.DEVNULL, stderr=err, cwd=ROOT,
                                   env=dict(os.environ, PXL_PRINT="plan"))
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        err.seek(0)
        text = err.read()
    main = text[text.rfind("Plan : "):]
    if status != 0 or not (found := PLAN.search(main)):
        raise RuntimeError(f"status {status}\n{text[-2000:]}")
    live, variables = {}, 0
    for kind, size, first, last in BUFFER.findall(main):
        if kind == "variable":
            variables += int(size)
        if first:
            for p in range(int(first), int(last) + 1):
                live[p] = live.get(p, 0) + int(size)
    return {"arena": int(found.group(1)), "constants": int(found.group(2)), "peak": max(live.values(), default=0),
            "variables": variables, "resident": 1024 * usage.ru_maxrss}


def arena(pxl, script, *args):
    """A step's memory is at most 1.1 times variables and the peak of live tensors; gaps between tensors are the rest."""
    m = planned(pxl, script, *args)
    bound = 1.1 * (m["variables"] + m["peak"])
    return None if m["variables"] + m["arena"] <= bound and m["peak"] > 0 else f"{m}: at most {bound:.0f}"


def resident(pxl):
    """The process grows by what the plan says: variables, arena, constants; the program keeps the variables' initial values."""
    with tempfile.TemporaryDirectory() as folder:
        tiny = pathlib.Path(folder) / "tiny.pxl"
        tiny.write_text(LOOP)
        base = planned(pxl, tiny)["resident"]
    for batch in (8, 512):
        m = planned(pxl, "bench/memory.pxl", "--batch", batch)
        inputs = 4 * batch * 785
        grown, predicted = m["resident"] - base, 2 * m["variables"] + m["arena"] + m["constants"] + 2 * inputs
        if grown > 1.1 * predicted + 12e6:  # libraries' own buffers
            return f"batch {batch}: grown by {grown} bytes, predicted {predicted} ({m})"
    return None


def host_programs(pxl):
    """Programs of bench/host print what their twins in Python print."""
    done = subprocess.run([str(ROOT / "bench/host"), "--small", "--turns", "1", "--pxl", str(pxl)], capture_output=True, text=True,
                          timeout=120)
    return None if done.returncode == 0 else done.stdout + done.stderr


def bench_tests(pxl, add, data=None):
    add("bench: programs of bench/host beside Python's", lambda: host_programs(pxl))
    for batch in (8, 512):
        add(f"bench: memory of a step, batch {batch}", lambda: arena(pxl, "bench/memory.pxl", "--batch", batch))
    for workload in ("sgd8", "adam8", "sgd512", "inf80", "small16", "xf") if data else ():
        add(f"bench: memory of a step of {workload}", lambda: arena(pxl, f"bench/{workload}.pxl", "--data", data, "--curve", 1))
    add("bench: the process's memory", lambda: resident(pxl))
    add("bench: the first step", lambda: starting(pxl))
    if (pxl.parent / "bench_runtime").exists():
        add("bench: kernels", lambda: kernels(pxl))
        for kind in ("unrolled", "outlined"):
            add(f"bench: the IPU model's schedule is linear in the layers, {kind}", lambda: schedules(pxl, kind))
    add("bench: building is linear in the layers", lambda: linear(pxl, []))
    add("bench: building is linear in the layers, outlined", lambda: linear(pxl, ["--outline"]))
    add("bench: bench/run without the other programs", absent)
    add("bench: bench/wide without the other programs", absent_wide)
    add("bench: the table of bench/run", table)
    add("bench: single ops", ops)
    add("bench: calls of ops on small arrays", lambda: calls(pxl))
    add("bench: planning takes n log n instructions", lambda: planning(pxl))
    add("bench: each function of planning takes n log n instructions", lambda: planning_functions(pxl))
    add("bench: instruction sets", lambda: instruction_sets(pxl))
    add("bench: two threads against one", lambda: team(pxl, data))
    add("bench: all-reduce beside MPI's", lambda: messages(pxl))
    add("bench: a profile", lambda: profile(pxl, ["--profile"]))
    add("bench: no profile", lambda: profile(pxl, []))
