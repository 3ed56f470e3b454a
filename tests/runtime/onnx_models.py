"""ONNX: the standard's backend tests, models of other writers against those writers, and round trips."""
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

from tests.docs import onnx_ops
from tests.support.harness import ROOT, TESTS

DATA = pathlib.Path("/usr/share/libonnx-testdata/data")
# Cases that fail in each release, and those that fail in one. A case that fails besides, and one of these that passes, is a failure.
KNOWN = {
    "test_training_dropout": "expects the random numbers of NumPy",
    "test_training_dropout_default": "expects the random numbers of NumPy",
    "test_training_dropout_default_mask": "expects the random numbers of NumPy",
    "test_training_dropout_mask": "expects the random numbers of NumPy",
    "test_adam_multiple": "was computed with another epsilon than its model has",
    "test_cast_FLOAT_to_BFLOAT16": "expects elements cut off, not rounded",
    "test_castlike_FLOAT_to_BFLOAT16": "gives an operand of other extents than its model states",
    "test_castlike_FLOAT_to_BFLOAT16_expanded": "gives an operand of other extents than its model states",
    "test_resize_downsample_scales_cubic_align_corners": "expects an extent that is no integer",
    "test_resize_downsample_scales_linear_align_corners": "expects an extent that is no integer",
}
IN_RELEASE = {
    "1.12": {
        "test_castlike_BFLOAT16_to_FLOAT": "gives an operand of other extents than its model states",
        "test_castlike_BFLOAT16_to_FLOAT_expanded": "gives an operand of other extents than its model states",
    },
    "1.17": {
        "test_averagepool_3d_dilations_large_count_include_pad_is_1_ceil_mode_is_True": "counts places beyond the padding",
        "test_dft_inverse": "expects rounding errors where the result is 0",
        "test_dft_inverse_opset19": "expects rounding errors where the result is 0",
        "test_qlinearmatmul_2D_int8_float16": "expects numbers that wrap, and the standard limits them",
        "test_qlinearmatmul_2D_int8_float32": "expects numbers that wrap, and the standard limits them",
        "test_qlinearmatmul_3D_int8_float16": "expects numbers that wrap, and the standard limits them",
        "test_qlinearmatmul_3D_int8_float32": "expects numbers that wrap, and the standard limits them",
    },
}


def python_with(module):
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", f"import {module}"], capture_output=True).returncode == 0:
            return python
    return None


def release_of_data():
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libonnx-testdata"], capture_output=True, text=True)
    return ".".join(done.stdout.split(".")[:2])


def backend(pxl, add, skip):
    if not DATA.is_dir():
        skip("onnx: backend tests", "no libonnx-testdata")
        return
    release = release_of_data()
    known = KNOWN | IN_RELEASE.get(release, {})
    done = subprocess.run([str(pxl), "onnx", "test", str(DATA)], capture_output=True, text=True, timeout=3000)
    lines = done.stdout.splitlines()
    failed = {m[1]: m[2] for m in (re.match(r"failed (\S+): (.*)", line) for line in lines) if m}
    for name in sorted(set(failed) - set(known)):
        add(f"onnx: {name}", failed[name])
    for name in sorted(set(known) - set(failed)):
        add(f"onnx: {name}", f"passes, although it {known[name]}")
    counts = [line for line in lines if re.search(r"\d+ passed, \d+ failed, \d+ skipped$", line)]
    page = (ROOT / "docs/onnx.md").read_text()
    block = re.search(rf"^Release {re.escape(release)} .*:\n\n```\n((?:.*\n)*?)```$", page, re.M)
    add(f"onnx: docs/onnx.md has the counts of release {release}", None if block and counts and block[1].splitlines() == counts else
        "\n".join(counts) + done.stderr[-2000:])


def later_opsets(pxl, add, skip):
    """Ops that changed or came after opset 17, which Debian's data are of."""
    python = python_with("onnx, torchvision")
    if not python:
        skip("onnx: opsets 18 to 21", "no python3-onnx and python3-torchvision")
        return
    with tempfile.TemporaryDirectory() as folder:
        made = subprocess.run([python, str(TESTS / "runtime/onnx_opsets.py"), folder], capture_output=True, text=True, timeout=300)
        done = subprocess.run([str(pxl), "onnx", "test", folder], capture_output=True, text=True, timeout=300)
        last = (done.stdout.splitlines() or [""])[-1]
        add("onnx: opsets 18 to 21", None if made.returncode == 0 and last == f"{made.stdout.strip()} passed, 0 failed, 0 skipped" else
            made.stderr[-2000:] + done.stdout[-3000:] + done.stderr[-1000:])


def node_variants(pxl, seconds, add, skip):
    """Random variants of nodes against NumPy."""
    python = python_with("numpy")
    if not python:
        skip("onnx: variants of nodes", "no python3-numpy")
        return
    done = subprocess.run([python, str(TESTS / "fuzz/onnx_nodes.py"), "--pxl", str(pxl), "--seconds", str(seconds)], capture_output=True,
                          text=True, timeout=1200)
    add("onnx: variants of nodes", None if done.returncode == 0 else (done.stdout + done.stderr)[-4000:])


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


BFLOAT16_MODEL = """import sys, onnx
from onnx import TensorProto as T, helper as h
w = h.make_tensor("w", T.BFLOAT16, [4], bytes.fromhex("803f 0040 cd3d 7f43".replace(" ", "")), raw=True)  # 1, 2, 0.1, 255
nodes = [h.make_node("Cast", ["x"], ["a"], to=T.BFLOAT16), h.make_node("Add", ["a", "w"], ["s"]), h.make_node("Identity", ["s"], ["t"]),
         h.make_node("Mul", ["t", "t"], ["q"]), h.make_node("Cast", ["q"], ["y"], to=T.FLOAT), h.make_node("Greater", ["a", "w"], ["over"])]
value = lambda name, kind: h.make_tensor_value_info(name, kind, [4])
graph = h.make_graph(nodes, "g", [value("x", T.FLOAT)], [value("y", T.FLOAT), value("over", T.BOOL)], [w])
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 15)]), sys.argv[1])
"""
BFLOAT16 = """
import onnx
from testing import run_module
y, over = run_module(onnx.load("net.onnx")(), array([1.00390625, 3.1415927, 0.3, 1.9921875]))
print(y.tolist(), y.dtype, over.tolist())
"""


def nearest_bfloat16(value):
    bits = struct.unpack("I", struct.pack("f", value))[0]
    return struct.unpack("f", struct.pack("I", (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000))[0]


def bfloat16(pxl, add, skip):
    """Nodes on bfloat16 round each result."""
    python = python_with("onnx")
    if not python:
        skip("onnx: bfloat16", "no python3-onnx")
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-c", BFLOAT16_MODEL, f"{folder}/net.onnx"], check=True, timeout=120)
        (pathlib.Path(folder) / "net.pxl").write_text(BFLOAT16)
        done = subprocess.run([str(pxl), "net.pxl"], capture_output=True, text=True, timeout=120, cwd=folder)
        given, weights = [nearest_bfloat16(x) for x in (1.00390625, 3.1415927, 0.3, 1.9921875)], [1.0, 2.0, nearest_bfloat16(0.1), 255.0]
        sums = [nearest_bfloat16(a + b) for a, b in zip(given, weights)]
        expected = f"{[nearest_bfloat16(s * s) for s in sums]} float32 {str([a > b for a, b in zip(given, weights)]).lower()}\n"
        add("onnx: bfloat16", None if done.stdout == expected else f"expected {expected}{done.stdout}{done.stderr}")


AXES_MODEL = """import sys, numpy, onnx
from onnx import TensorProto as T, helper as h, numpy_helper
w = numpy_helper.from_array(numpy.arange(6, dtype="f4").reshape(3, 2), "w")
nodes = [h.make_node("MatMul", ["x", "w"], ["m"]), h.make_node("Shape", ["m"], ["s"]), h.make_node("Gather", ["s", "at"], ["n"]),
         h.make_node("Concat", ["n", "rest"], ["shape"], axis=0), h.make_node("Reshape", ["m", "shape"], ["y"])]
known = [w, numpy_helper.from_array(numpy.array([0]), "at"), numpy_helper.from_array(numpy.array([-1]), "rest")]
graph = h.make_graph(nodes, "g", [h.make_tensor_value_info("x", T.FLOAT, ["batch", "length", 3])],
                     [h.make_tensor_value_info("y", T.FLOAT, ["batch", None])], known)
onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)]), sys.argv[1])
nodes = [h.make_node("Nonsense", ["x"], ["a"], name="first"), h.make_node("Relu", ["a"], ["b"]), h.make_node("StringNormalizer", ["b"], ["y"], name="second")]
onnx.save(h.make_model(h.make_graph(nodes, "g", graph.input, graph.output), opset_imports=[h.make_opsetid("", 17)]), sys.argv[2])
"""
AXES = """
import onnx
from "net.onnx" import Model
from testing import run_module
for shape in [[2, 4, 3], [5, 1, 3]] {
  x = arange(shape[0] * shape[1] * 3, dtype = float32).reshape(shape)
  y = run_module(Model(), x)
  print(y.shape, all(y == (x @ arange(6, dtype = float32).reshape([3, 2])).reshape([shape[0], -1])))
}
print(run_module(Model(batch = 2), ones([2, 7, 3])).shape)
with expect_error("axis 0 of the input has 2 elements, not 3") { Model(batch = 3).create_graph(float32[2, 7, 3]) }
"""


def dynamic_axes(pxl, add, skip):
    """Named axes are parameters of the module; nodes without a meaning are named together."""
    python = python_with("onnx")
    if not python:
        skip("onnx: named axes", "no python3-onnx")
        return
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-c", AXES_MODEL, f"{folder}/net.onnx", f"{folder}/strange.onnx"], check=True, timeout=120)
        (pathlib.Path(folder) / "net.pxl").write_text(AXES)

        def run(*words):
            return subprocess.run([str(pxl), *words], capture_output=True, text=True, timeout=120, cwd=folder)

        done = run("net.pxl")
        wanted = "(2, 8) true\n(5, 2) true\n(2, 14)\n"
        add("onnx: named axes", None if (done.stdout, done.returncode) == (wanted, 0) else done.stdout + done.stderr)
        done = run("import", "net.onnx", "-o", "written.pxl")
        text = (pathlib.Path(folder) / "written.pxl").read_text() if done.returncode == 0 else done.stderr
        add("onnx: named axes in the text", None if "module Model(batch = none, length = none)" in text else text)
        done = run("import", "strange.onnx")
        add("onnx: nodes without a meaning", None if done.returncode not in (0, 70) and all(w in done.stderr for w in (
            "2 nodes have no meaning", "`first` (Nonsense)", "`second` (StringNormalizer)")) else done.stdout + done.stderr)


CHECK = """import sys, onnx
for path in sys.argv[1:]:
    onnx.checker.check_model(path, full_check=True)
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    print(path.rpartition("/")[2], " ".join(kinds))
"""
# Models of tests/runtime/onnx_forms.pxl that are one node.
ONE_NODE = {"hardmax": "Hardmax", "lrn": "LRN", "quantize": "QuantizeLinear", "dequantize": "DequantizeLinear", "conv": "Conv", "conv_bias": "Conv",
            "conv_transpose_bias": "ConvTranspose",
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


# Nets of ours as models, run by another reader of the format.
OTHER_READER = """
from nn import Conv2d, LayerNorm, Linear
module Images {
  first, second, dense = Conv2d(8, 3, padding = 1), Conv2d(12, 3, stride = 2, groups = 2), Linear(10)
  build(x) {
    x = max_pool(relu(self.first(x)), [2, 2], [2, 2])
    x = average_pool(leaky_relu(self.second(x)), [3, 3])
    return softmax(self.dense(x.reshape([x.shape[0], -1])), axis = -1)
  }
}
module Depthwise {
  each, up = Conv2d(6, 3, groups = 6, padding = 1, bias = false), Conv2d(4, 1)
  build(x) { return sigmoid(self.up(relu(self.each(x)))) }
}
module Back {
  build(x) {
    param weight: float32[6, 4, 3, 3] = normal(0, 0.3)
    param bias: float32[4] = normal(0, 1)
    return tanh(conv_transpose(x, weight, stride = [2, 2], padding = [1, 1, 1, 1], bias = bias))
  }
}
module Dense {
  up, down = Linear(32), Linear(5)
  build(x) { return log_softmax(self.down(elu(self.up(x))), axis = -1) }
}
program infer(net, spec) {
  stream in x: spec
  facts, graph = net.create_graph(spec)
  stream out y = graph.bind(facts.init())(host_load(x))
}
random_seed(3)
cases = [("images", Images(), [2, 2, 20, 20]), ("depthwise", Depthwise(), [2, 6, 9, 8]), ("back", Back(), [2, 6, 5, 4]), ("dense", Dense(), [3, 7])]
for name, net, shape in cases {
  ir = infer(net, float32[*shape])
  session, x = Session(ir), normal(0, 1, shape)
  export_onnx(ir, f"{name}.onnx", weights = session)
  save(f"{name}.npz", {"x": x, "y": session.run(x = x).y})
}
"""
BY_OPENCV = """import sys, cv2, numpy
for name in sys.argv[1:]:
    net, case = cv2.dnn.readNetFromONNX(name + ".onnx"), numpy.load(name + ".npz")
    net.setInput(case["x"])
    y = net.forward()
    assert y.shape == case["y"].shape, (name, y.shape, case["y"].shape)
    apart = numpy.abs(y - case["y"]).max()
    assert apart < 1e-5, (name, apart)
"""


def other_reader(pxl, add, skip):
    python = python_with("cv2, numpy")
    if not python:
        skip("onnx: our nets by OpenCV", "no python3-opencv")
        return
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "nets.pxl").write_text(OTHER_READER)
        done = subprocess.run([str(pxl), "nets.pxl"], capture_output=True, text=True, timeout=120, cwd=folder)
        if done.returncode == 0:
            done = subprocess.run([python, "-c", BY_OPENCV, "images", "depthwise", "back", "dense"], capture_output=True, text=True,
                                  timeout=300, cwd=folder)
        add("onnx: our nets by OpenCV", None if done.returncode == 0 else (done.stdout + done.stderr)[-3000:])


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


def reader_tests(pxl, add, skip):
    """Programs that read models and write them, without training and without timing."""
    backend(pxl, add, skip)
    dynamic_axes(pxl, add, skip)
    loops(pxl, add)
    forms(pxl, add, skip)
    bfloat16(pxl, add, skip)
    node_variants(pxl, 1, add, skip)


def onnx_tests(pxl, add, skip):
    add("onnx: the ops of docs/onnx.md", onnx_ops.page_problem)
    reader_tests(pxl, add, skip)
    round_trips(pxl, add)


def other_writers(pxl, add, skip):
    """Models that PyTorch writes, and ours as OpenCV reads them."""
    later_opsets(pxl, add, skip)
    node_variants(pxl, 60, add, skip)
    other_reader(pxl, add, skip)
    nets(pxl, add, skip)
