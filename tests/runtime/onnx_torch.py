"""Models that torch.onnx writes, imported by pxl, against PyTorch; models that pxl writes, against onnx's checker.

    python3 tests/runtime/onnx_torch.py build/release/pxl FOLDER [--time]

Prints a JSON line for each: {"name", "problem"}; with --time the milliseconds of a run besides.
"""
import json
import os
import pathlib
import subprocess
import sys
import time
import warnings

import numpy
import onnx
import torch
import torchvision

warnings.filterwarnings("ignore")
PXL, FOLDER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
TIMED = "--time" in sys.argv
ROOT = pathlib.Path(__file__).resolve().parents[2]

RUN = """import onnx
x = load("x.npy")
program infer {{
  stream in image: x.spec
  facts, graph = onnx.load("{name}.onnx")().create_graph(x.spec)
  stream out y = graph.bind(facts.init())(host_load(image))
  assert len(graph.ops) < 2000
}}
with Session(infer()) as session {{
  save("y.npy", session.run(image = x).y)
  best = 1e9
  for i in range({repeats}) {{
    start = time()
    session.run(image = x)
    best = min(best, time() - start)
  }}
  print(best)
}}
"""


def pxl(*arguments, timeout=600):
    done = subprocess.run([str(PXL), *map(str, arguments)], cwd=FOLDER, capture_output=True, text=True, timeout=timeout)
    if done.returncode != 0:
        raise AssertionError(done.stdout[-1500:] + done.stderr[-3000:])
    return done.stdout


def randomised(model):
    """Statistics of normalisations that are not 0 and 1, and no weights that are all 0, as in the head of a new ViT."""
    torch.manual_seed(7)
    with torch.no_grad():
        for p in model.parameters():
            if not p.any():
                p.normal_(0, 0.05)
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.running_mean.normal_(0, 0.1)
            m.running_var.uniform_(0.5, 1.5)
    return model.eval()


def from_torch(name, model, x):
    model = randomised(model)
    torch.onnx.export(model, x, str(FOLDER / f"{name}.onnx"), opset_version=13, input_names=["image"], output_names=["y"])
    numpy.save(FOLDER / "x.npy", x.numpy())
    (FOLDER / "run.pxl").write_text(RUN.format(name=name, repeats=5 if TIMED else 0))
    out = pxl("run.pxl")
    with torch.no_grad():
        wanted = model(x).numpy()
        started = []
        for _ in range(5 if TIMED else 0):
            begin = time.monotonic()
            model(x)
            started.append(time.monotonic() - begin)
    got = numpy.load(FOLDER / "y.npy")
    assert wanted.std() > 1e-3, "results that hardly differ from each other show little"
    worst = float(abs(got - wanted).max() / max(1.0, float(abs(wanted).max())))
    result = {"name": f"{name} agrees with PyTorch", "problem": None if worst <= 1e-4 else f"differs by {worst}"}
    if TIMED:
        result.update(pxl_ms=round(float(out) * 1e3, 1), torch_ms=round(min(started) * 1e3, 1))
    # The text that `pxl import` writes is the same net.
    pxl("import", f"{name}.onnx", "-o", f"{name}.pxl")
    pxl("fmt", "--check", f"{name}.pxl")
    return result


class Recurrent(torch.nn.Module):
    """Sequences of a length at which one op for each step would be hundreds of ops."""

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(8, 16, num_layers=2, bidirectional=True)
        self.gru = torch.nn.GRU(32, 12)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        z, last = self.gru(y)
        return torch.cat([z.reshape(-1), h.reshape(-1), c.reshape(-1), last.reshape(-1)])


OUT = """from nn import Linear, LayerNorm, Conv2d
random_seed(3)
module Net {{
  conv = Conv2d(4, 3, padding = 1)
  norm = LayerNorm()
  fc = Linear(5)
  build(x) {{
    x = max_pool(relu(conv(x)), 2, stride = 2)
    x = gelu(fc(norm(flatten_rows(x))))
    return softmax(x, axis = -1), argmax(x, axis = -1)
  }}
}}
def flatten_rows(x) {{ return reshape(x, [x.shape[0], -1]) }}
def step(x) {{ return x * 0.5 + 1 }}
program infer {{
  stream in x: float32[2, 3, 8, 8]
  facts, graph = Net().create_graph(float32[2, 3, 8, 8])
  p, best = graph.bind(facts.init())(host_load(x))
  looped = repeat(ir.create_graph(step, p), 3, p)
  double = ir.create_graph((t) => t * 2, p)
  chosen = conditional(max(p) > 0.5, ir.create_graph((t) => t + 1, p), double, then_inputs = [p], else_inputs = [p])
  stream out probabilities = p
  stream out label = best
  stream out after = looped
  stream out other = chosen
}}
"""

BACK = """import onnx
x = load("in.npy")
program again {
  stream in x_in: x.spec
  facts, graph = onnx.load("out.onnx")().create_graph(x.spec)
  p, best, looped, chosen = graph.bind(facts.init())(host_load(x_in))
  stream out probabilities = p
  stream out label = best
  stream out after = looped
  stream out other = chosen
}
out = Session(again()).run(x_in = x)
for name in ["probabilities", "label", "after", "other"] { save(f"again_{name}.npy", out[name]) }
"""


def round_trip():
    """A program out, through onnx's checker, and in again."""
    x = numpy.random.default_rng(0).normal(size=(2, 3, 8, 8)).astype(numpy.float32)
    numpy.save(FOLDER / "in.npy", x)
    (FOLDER / "out.pxl").write_text(OUT.format() + """
ir = infer()
session = Session(ir)
out = session.run(x = load("in.npy"))
for name in ["probabilities", "label", "after", "other"] { save(f"first_{name}.npy", out[name]) }
export_onnx(ir, "out.onnx", weights = session)
""")
    pxl("out.pxl")
    onnx.checker.check_model(str(FOLDER / "out.onnx"), full_check=True)
    (FOLDER / "back.pxl").write_text(BACK)
    pxl("back.pxl")
    for name in ("probabilities", "label", "after", "other"):
        a, b = numpy.load(FOLDER / f"first_{name}.npy"), numpy.load(FOLDER / f"again_{name}.npy")
        if a.dtype != b.dtype or a.shape != b.shape or not numpy.allclose(a, b, rtol=1e-5, atol=1e-6):
            return {"name": "a program out and in again", "problem": f"{name} differs by {abs(a.astype(float) - b).max()}"}
    return {"name": "a program out and in again", "problem": None}


def attempt(name, body):
    try:
        result = body()
    except Exception as e:
        result = {"name": name, "problem": f"{type(e).__name__}: {e}"[-3000:]}
    print(json.dumps(result), flush=True)


def main():
    os.environ["NO_COLOR"] = "1"
    torch.manual_seed(0)
    image = torch.randn(1, 3, 224 if TIMED else 96, 224 if TIMED else 96)
    models = torchvision.models
    attempt("round trip", round_trip)
    attempt("resnet18", lambda: from_torch("resnet18", models.resnet18(), image))
    attempt("mobilenet_v2", lambda: from_torch("mobilenet_v2", models.mobilenet_v2(), image))
    size = image.shape[-1]
    vit = models.VisionTransformer(image_size=size, patch_size=16, num_layers=12 if TIMED else 3, num_heads=12, hidden_dim=768,
                                   mlp_dim=3072)
    attempt("recurrent", lambda: from_torch("recurrent", Recurrent(), torch.randn(100, 4, 8)))
    attempt("vit", lambda: from_torch("vit", vit, image))


main()
