"""GPT-2 and BERT of the standard library, with files of the published names and layouts, against PyTorch.

    /usr/bin/python3 tests/runtime/huggingface_torch.py build/release/pxl FOLDER

The reference is written here, from the papers, with PyTorch's functions on the arrays as the files have them: GPT-2 stores
weights [in, out], BERT [out, in]. Prints a JSON line for each check: {"name", "problem"}.
"""
import json
import pathlib
import subprocess
import sys

import numpy
import torch
import torch.nn.functional as F

PXL, FOLDER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
random = numpy.random.default_rng(5)
VOCAB, CONTEXT, WIDTH, LAYERS, HEADS, INNER = 13, 10, 12, 2, 3, 20


def write_safetensors(name, arrays):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for key, a in arrays.items():
        a = numpy.ascontiguousarray(a)
        header[key] = {"dtype": {"f": "F32", "b": "BOOL", "i": "I64"}[a.dtype.kind], "shape": list(a.shape),
                       "data_offsets": [len(data), len(data) + a.nbytes]}
        data += a.tobytes()
    text = json.dumps(header).encode()
    (FOLDER / name).write_bytes(len(text).to_bytes(8, "little") + text + data)


def pxl(text):
    (FOLDER / "script.pxl").write_text(text)
    done = subprocess.run([str(PXL), "script.pxl"], cwd=FOLDER, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stdout[-800:] + done.stderr[-1500:])
    return done.stdout


def normal(*shape):
    return (0.3 * random.normal(size=shape)).astype("f4")


def affine(arrays, name, shape, names=("weight", "bias"), out=None):
    """A weight and a bias; the bias has the extent `out`, by default the weight's first."""
    arrays[f"{name}.{names[0]}"] = normal(*shape) + (1 if len(shape) == 1 else 0)
    arrays[f"{name}.{names[1]}"] = normal(shape[0] if out is None else out)


def gpt2_arrays(prefix):
    """As transformers names them: Conv1D weights are [in, out]; masks are buffers of the file."""
    a = {f"{prefix}wte.weight": normal(VOCAB, WIDTH), f"{prefix}wpe.weight": normal(CONTEXT, WIDTH)}
    for i in range(LAYERS):
        h = f"{prefix}h.{i}."
        a[f"{h}attn.bias"] = numpy.tril(numpy.ones((1, 1, CONTEXT, CONTEXT), bool))
        for name, shape in {"attn.c_attn": (WIDTH, 3 * WIDTH), "attn.c_proj": (WIDTH, WIDTH),
                            "mlp.c_fc": (WIDTH, 4 * WIDTH), "mlp.c_proj": (4 * WIDTH, WIDTH)}.items():
            affine(a, h + name, shape, out=shape[1])
        affine(a, h + "ln_1", (WIDTH,))
        affine(a, h + "ln_2", (WIDTH,))
    affine(a, f"{prefix}ln_f", (WIDTH,))
    if prefix:
        a["lm_head.weight"] = a[f"{prefix}wte.weight"]
    return a


def attention(q, k, v, mask):
    split = lambda x: x.reshape(*x.shape[:-1], HEADS, -1).transpose(-2, -3)
    scores = split(q) @ split(k).transpose(-1, -2) / (WIDTH / HEADS) ** 0.5
    out = torch.softmax(scores.masked_fill(~mask, -torch.inf), -1) @ split(v)
    return out.transpose(-2, -3).flatten(-2)


def gpt2(arrays, prefix, tokens):
    w = {k[len(prefix):]: torch.from_numpy(v) for k, v in arrays.items() if k.startswith(prefix)}
    conv1d = lambda x, n: x @ w[n + ".weight"] + w[n + ".bias"]
    norm = lambda x, n: F.layer_norm(x, (WIDTH,), w[n + ".weight"], w[n + ".bias"], 1e-5)
    t = tokens.shape[1]
    x = w["wte.weight"][tokens] + w["wpe.weight"][:t]
    for i in range(LAYERS):
        h = f"h.{i}."
        q, k, v = conv1d(norm(x, h + "ln_1"), h + "attn.c_attn").split(WIDTH, -1)
        x = x + conv1d(attention(q, k, v, torch.tril(torch.ones(t, t)).bool()), h + "attn.c_proj")
        x = x + conv1d(F.gelu(conv1d(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"), h + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def bert_arrays(prefix, old_names):
    last = ("gamma", "beta") if old_names else ("weight", "bias")
    a = {f"{prefix}embeddings.position_ids": numpy.arange(CONTEXT)[None]}
    for name, n in (("word", VOCAB), ("position", CONTEXT), ("token_type", 2)):
        a[f"{prefix}embeddings.{name}_embeddings.weight"] = normal(n, WIDTH)
    affine(a, f"{prefix}embeddings.LayerNorm", (WIDTH,), last)
    for i in range(LAYERS):
        layer = f"{prefix}encoder.layer.{i}."
        for name, shape in {"attention.self.query": (WIDTH, WIDTH), "attention.self.key": (WIDTH, WIDTH),
                            "attention.self.value": (WIDTH, WIDTH), "attention.output.dense": (WIDTH, WIDTH),
                            "intermediate.dense": (INNER, WIDTH), "output.dense": (WIDTH, INNER)}.items():
            affine(a, layer + name, shape)
        affine(a, layer + "attention.output.LayerNorm", (WIDTH,), last)
        affine(a, layer + "output.LayerNorm", (WIDTH,), last)
    affine(a, f"{prefix}pooler.dense", (WIDTH, WIDTH))
    if prefix:
        affine(a, "cls.predictions.transform.dense", (WIDTH, WIDTH))
    return a


def bert(arrays, prefix, old_names, tokens, types, mask):
    last = ("gamma", "beta") if old_names else ("weight", "bias")
    w = {k[len(prefix):]: torch.from_numpy(v) for k, v in arrays.items() if k.startswith(prefix)}
    dense = lambda x, n: F.linear(x, w[n + ".weight"], w[n + ".bias"])
    norm = lambda x, n: F.layer_norm(x, (WIDTH,), w[f"{n}.{last[0]}"], w[f"{n}.{last[1]}"], 1e-12)
    e = "embeddings."
    x = w[e + "word_embeddings.weight"][tokens] + w[e + "position_embeddings.weight"][:tokens.shape[1]]
    x = norm(x + w[e + "token_type_embeddings.weight"][types], e + "LayerNorm")
    for i in range(LAYERS):
        layer = f"encoder.layer.{i}."
        q, k, v = (dense(x, f"{layer}attention.self.{n}") for n in ("query", "key", "value"))
        y = attention(q, k, v, mask[:, None, None, :] != 0)
        x = norm(x + dense(y, layer + "attention.output.dense"), layer + "attention.output.LayerNorm")
        y = dense(F.gelu(dense(x, layer + "intermediate.dense")), layer + "output.dense")
        x = norm(x + y, layer + "output.LayerNorm")
    return x, torch.tanh(dense(x[:, 0], "pooler.dense"))


def close(name, wanted):
    got = numpy.load(FOLDER / name)
    worst = float(abs(got - wanted.numpy()).max())
    assert got.shape == tuple(wanted.shape) and worst <= 2e-5, f"{name}: {got.shape}, differs by {worst}"


def test_gpt2():
    tokens = random.integers(0, VOCAB, (2, 7))
    numpy.save(FOLDER / "tokens.npy", tokens.astype("i4"))
    for prefix in ("", "transformer."):
        arrays = gpt2_arrays(prefix)
        write_safetensors("gpt2.safetensors", arrays)
        pxl(f"""from huggingface import gpt2_name, gpt2_of, gpt2_weights
from testing import run_module
tokens = load("tokens.npy")
weights = gpt2_weights(load("gpt2.safetensors"))
net = gpt2_of(weights, heads = {HEADS})
save("y.npy", run_module(net, tokens, weights = weights))
program infer {{
  stream in given: tokens.spec
  facts, graph = net.create_graph(given.spec)
  assert sorted(facts.keys_flat()) == sorted(weights.keys()), "other params than the file has"
  stream out y = graph.bind(facts.init())(host_load(given))
}}
with Session(infer()) as session {{
  report = session.restore("gpt2.safetensors", map = gpt2_name, transpose_linear = false)
  assert len(report["loaded"]) == len(weights) and report["unused"] == []
  save("restored.npy", session.run(given = tokens).y)
}}
""")
        wanted = gpt2(arrays, prefix, torch.from_numpy(tokens))
        close("y.npy", wanted)
        close("restored.npy", wanted)


def test_bert():
    tokens, types = random.integers(0, VOCAB, (3, 6)), random.integers(0, 2, (3, 6))
    mask = numpy.array([[1] * 6, [1, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0]])
    for name, a in (("tokens", tokens), ("types", types), ("mask", mask)):
        numpy.save(FOLDER / f"{name}.npy", a.astype("i4"))
    for prefix, old_names in (("", False), ("bert.", False), ("bert.", True)):
        arrays = bert_arrays(prefix, old_names)
        write_safetensors("bert.safetensors", arrays)
        pxl(f"""from huggingface import bert_of, bert_weights
from testing import run_module
weights = bert_weights(load("bert.safetensors"))
net = bert_of(weights, heads = {HEADS})
x, first = run_module(net, load("tokens.npy"), load("types.npy"), load("mask.npy"), weights = weights)
save("x.npy", x)
save("first.npy", first)
facts, _ = net.create_graph(int32[3, 6])
assert sorted(facts.keys_flat()) == sorted(weights.keys()), "other params than the file has"
""")
        x, first = bert(arrays, prefix, old_names, *map(torch.from_numpy, (tokens, types, mask)))
        close("x.npy", x)
        close("first.npy", first)


for check in (test_gpt2, test_bert):
    try:
        check()
        problem = None
    except Exception as e:  # what went wrong is the report
        problem = f"{type(e).__name__}: {e}"
    print(json.dumps({"name": check.__name__[5:], "problem": problem}), flush=True)
