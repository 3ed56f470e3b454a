"""ONNX: the standard's backend tests, models of other writers against those writers, and round trips."""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from tests.docs import onnx_ops
from tests.support.harness import ROOT, TESTS

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
# Cases that fail, each with its reason; a case that fails besides, and one of these that passes, is a failure.
KNOWN = {
    "test_training_dropout": "expects the random numbers of NumPy",
    "test_training_dropout_default": "expects the random numbers of NumPy",
    "test_training_dropout_default_mask": "expects the random numbers of NumPy",
    "test_training_dropout_mask": "expects the random numbers of NumPy",
    "test_adam_multiple": "was computed with another epsilon than its model has",
    "test_castlike_BFLOAT16_to_FLOAT": "gives an operand of other extents than its model states",
    "test_castlike_BFLOAT16_to_FLOAT_expanded": "gives an operand of other extents than its model states",
    "test_if_opt": "gives an optional without a value",
    "test_resize_downsample_scales_cubic_align_corners": "expects an extent that is no integer",
    "test_resize_downsample_scales_linear_align_corners": "expects an extent that is no integer",
}
# At most so many are skipped: what needs strings, casts to bfloat16, NumPy's random numbers, or the op Gradient.
MOST_SKIPPED = 29


def python_with(module):
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def backend(pxl, add, skip):
    if not DATA.is_dir():
        skip("onnx: backend tests", "no libonnx-testdata")
        return
    done = subprocess.run([str(pxl), "onnx", "test", str(DATA)], capture_output=True, text=True, timeout=900)
    lines = done.stdout.splitlines()
    failed = {m[1]: m[2] for m in (re.match(r"failed (\S+): (.*)", line) for line in lines) if m}
    for name in sorted(set(failed) - set(KNOWN)):
        add(f"onnx: {name}", failed[name])
    for name in sorted(set(KNOWN) - set(failed)):
        add(f"onnx: {name}", f"passes, although it {KNOWN[name]}")
    last = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1] if lines else "")
    add("onnx: backend tests end with their counts", None if last else done.stdout[-2000:] + done.stderr[-2000:])
    if last:
        passed, wrong, skipped = map(int, last.groups())
        add(f"onnx: {lines[-1]}", None if skipped <= MOST_SKIPPED and passed + wrong + skipped >= 1072 else f"more than {MOST_SKIPPED} skipped")
        page = (ROOT / "docs/onnx.md").read_text()
        for line in lines[-5:]:
            add(f"onnx: docs/onnx.md has `{line}`", None if line in page else "the page has other counts")


# An example, its options, and a program of it: written as a model with the weights of a session, and read again.
AGAIN = """
import onnx
whole = {call}
before = Session(whole)
export_onnx(whole, "net.onnx", weights = before)
given = {given}
program again {{
  stream in x: given.spec
  facts, graph = onnx.load("net.onnx")().create_graph(x.spec)
  stream out logits = graph.bind(facts.init())(host_load(x))
}}
first, second = before.run({stream} = given).logits, Session(again()).run(x = given).logits
print("RESULT", first.shape == second.shape, first.dtype == second.dtype, float(max(abs(first - second))) <= 0.00001)
"""
EXAMPLES = [
    ("mnist.pxl", ["--train-size", "80", "--test-size", "80"], "infer(80)", "image", "normal(0, 1, [80, 28, 28])"),
    ("conv_mnist.pxl", ["--train-size", "64", "--test-size", "80", "--epochs", "1"], "infer(80)", "image", "normal(0, 1, [80, 28, 28])"),
    ("char_gpt.pxl", ["--steps", "2", "--length", "1"], "predict(len(characters))", "tokens",
     "randint(0, len(characters), [1, context])"),
]


def round_trips(pxl, add):
    """Our own nets out and in again give equal results."""
    for name, options, call, stream, given in EXAMPLES:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            (path.parent / "data").symlink_to(ROOT / "examples/data")
            path.write_text((ROOT / "examples" / name).read_text() + AGAIN.format(call=call, stream=stream, given=given))
            done = subprocess.run([str(pxl), "--quiet", str(path), *options], capture_output=True, text=True, timeout=300, cwd=folder)
            last = (done.stdout.splitlines() or [""])[-1]
            add(f"onnx: {name} out and in again", None if last == "RESULT true true true" else done.stdout[-1000:] + done.stderr[-3000:])


LOOP = """
def step(x, w) { return tanh(x * w) }
module Net {
  build(x: float32[3], w: float32[3]) { return repeat(ir.create_graph(step, x, w), 5, x, w) + 1 }
}
facts, graph = Net().create_graph(float32[3], float32[3])
export_onnx(graph, "net.onnx")
from "net.onnx" import Model
again = Model().create_graph(float32[3], float32[3])[1]
from testing import run_module
x, w = normal(0, 1, [3]), normal(0, 1, [3])
print([op.type for op in graph.ops] == [op.type for op in again.ops], [op.type for op in again.ops],
      float(max(abs(run_module(Net(), x, w) - run_module(Model(), x, w)))) == 0)
"""


def loops(pxl, add):
    """A repeat is a Loop outside, and a repeat again."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "loop.pxl"
        path.write_text(LOOP)
        done = subprocess.run([str(pxl), str(path)], capture_output=True, text=True, timeout=120, cwd=folder)
        add("onnx: a repeat out and in again", None if done.stdout == "true ['Loop', 'Add'] true\n" else done.stdout + done.stderr)
        done = subprocess.run([str(pxl), "import", "net.onnx", "-o", "net.pxl"], capture_output=True, text=True, timeout=120, cwd=folder)
        written = path.with_name("net.pxl")
        add("onnx: a repeat as a program", None if written.is_file() and "onnx.loop_repeat(" in written.read_text() else done.stdout + done.stderr)


CHECK = """import sys, onnx
for path in sys.argv[1:]:
    onnx.checker.check_model(path, full_check=True)
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    print(path.rpartition("/")[2], " ".join(kinds))
"""
# Models of tests/runtime/onnx_forms.pxl that are one node.
ONE_NODE = {"hardmax": "Hardmax", "lrn": "LRN", "quantize": "QuantizeLinear", "dequantize": "DequantizeLinear", "conv_bias": "Conv",
            "scan": "Scan", "scan_reverse": "Scan", "scan_captured": "Scan", "scan_count": "Loop"}


def forms(pxl, add, skip):
    """Each form out, in again, and through ONNX's checker."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(pxl), "--quiet", str(TESTS / "runtime/onnx_forms.pxl"), "--folder", folder], capture_output=True,
                              text=True, timeout=300)
        paths = [line for line in done.stdout.splitlines() if line.endswith(".onnx")]
        wrong = [line for line in done.stdout.splitlines() if not line.endswith(".onnx")]
        add("onnx: forms out and in again", None if done.returncode == 0 and paths and not wrong else "\n".join(wrong)[-3000:] + done.stderr[-3000:])
        python = python_with("onnx")
        if not python:
            skip("onnx: forms through the checker", "no python3-onnx")
            return
        done = subprocess.run([python, "-c", CHECK, *paths], capture_output=True, text=True, timeout=300)
        add("onnx: forms through the checker", None if done.returncode == 0 else done.stderr[-3000:])
        kinds = dict(line.split(".onnx ") for line in done.stdout.splitlines())
        add("onnx: forms that are one node", None if all(kinds.get(name) == node for name, node in ONE_NODE.items()) else
            str({name: kinds.get(name) for name in ONE_NODE}))


def nets(pxl, add, skip):
    python = python_with("torch, torchvision, onnx")
    if not python:
        skip("onnx: nets of PyTorch", "no python3-torch, python3-torchvision and python3-onnx")
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([python, str(TESTS / "runtime/onnx_torch.py"), str(pxl), folder], capture_output=True, text=True,
                              timeout=1500, cwd=ROOT)
        results = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0 or not results:
            add("onnx: nets of PyTorch", (done.stdout + done.stderr)[-6000:])
        for r in results:
            add(f"onnx: {r['name']}", r["problem"])


def onnx_tests(pxl, add, skip):
    add("onnx: the ops of docs/onnx.md", onnx_ops.page_problem())
    backend(pxl, add, skip)
    round_trips(pxl, add)
    loops(pxl, add)
    forms(pxl, add, skip)
    nets(pxl, add, skip)
