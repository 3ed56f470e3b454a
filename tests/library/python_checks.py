"""Checks of the module pxl, run by Debian's Python: one JSON line for each, {"name", "problem", "skipped"}."""
import gc
import json
import multiprocessing
import os
import pathlib
import pickle
import re
import signal
import subprocess
import sys
import threading
import time
import traceback

import numpy as np

import pxl

ROOT = pathlib.Path(__file__).resolve().parents[2]
try:
    import torch
except ImportError:
    torch = None

COUNTER = """
option step: int = 1
program count {
  stream in x: float32[3]
  variable total: float32[3] = 0
  stream out now = add_(total, host_load(x) * step)
}
program dtyped(dtype: dtype) {
  stream in x: dtype[2, 3]
  stream out y = host_load(x)
}
def shrink(x) { return x @ x * 0.0001 }
program slow {
  variable x: float32[256, 256] = 1
  shrinking = ir.create_graph(shrink, x)
  stream out z = repeat(shrinking, 1000000, x)
}
def both(a, b = 2) { return {"sum": a + b, "list": [a, b]} }
def say(text) { print(text) }
value = 5
"""
CHECKS = []


class Skipped(Exception):
    pass


def check(body):
    CHECKS.append(body)
    return body


def needs_torch():
    if torch is None:
        raise Skipped("no torch (python3-torch)")


def program(**options):
    return pxl.from_text(COUNTER, title="counter.pxl", **options)


def raises(kind, text, body):
    try:
        body()
    except kind as e:
        assert text in str(e), f"{text!r} is not in {e}"
        return e
    raise AssertionError(f"no {kind.__name__} with {text!r}")


@check
def runs():
    m = program(step=2)
    assert m.programs == ["count", "dtyped", "slow"] and "count" in repr(m)
    s = m.Session("count")
    out = s.run(x=np.float32([1, 2, 3]))
    assert out.now.tolist() == [2, 4, 6] and out["now"] is out.now and out.now.dtype == np.float32
    assert s.run({"x": [1, 2, 3]}).now.tolist() == [4, 8, 12]
    now = np.empty(3, np.float32)
    s.run_into({"now": now}, x=(1, 2, 3))
    assert now.tolist() == [6, 12, 18] == s["total"].tolist()
    assert s.inputs == [("x", np.dtype("float32"), (3,))]
    for engine in pxl.engines:
        assert m.Session("count", engine=engine).run(x=[1, 1, 1]).now.tolist() == [2, 2, 2]
    assert s.report()["memory"]["total"] > 0
    raises(AttributeError, "nothing named 'nope'", lambda: out.nope)


@check
def variables():
    m = program()
    s, other = m.Session("count"), m.Session("count")
    s["total"] = np.array([1.0, 2.0, 3.0])
    assert list(s) == ["total"] and len(s) == 1 and "total" in s and dict(s.items())["total"].tolist() == [1, 2, 3]
    s.save(pathlib.Path("total.safetensors"))
    assert other.restore("total.safetensors")["loaded"] == ["total"] and other["total"].tolist() == [1, 2, 3]
    other.restore("total.safetensors", map={"total": None}, strict=False)
    s.update(total=[4, 5, 6])
    assert other.load_from(s)["loaded"] == ["total"] and other["total"].tolist() == [4, 5, 6]
    raises(KeyError, "did you mean `total`?", lambda: s["totl"])
    assert isinstance(raises(pxl.Error, "totl", lambda: s["totl"]), pxl.MissingName)
    raises(pxl.Error, "total", lambda: s.update(total=[1, 2]))


SHARED = """
from nn import Linear
program train {
  stream in x: float32[4, 2]
  net = Linear(1).bound(x, training = true)
  with in_sequence() {
    stream out y = net(host_load(x))
    for v in net.vars.tensors { add_(v, 1.0) }
  }
}
program evaluate(trained, batch: size = 2) {
  stream in x: float32[batch, 2]
  net = Linear(1).bound(x, vars = trained)
  stream out y = net(host_load(x))
}
program scale(batch: size = 2) {
  stream in x: float32[batch]
  stream out y = host_load(x) * 2.0
}
"""


@check
def shared_variables():
    m = pxl.from_text(SHARED)
    training = m.Session("train")
    evaluation = m.Session("evaluate(variables.ir.net)", variables=training)
    x = np.ones((5, 2), np.float32)
    for _ in range(3):
        training.run(x=x[:4])
        assert (evaluation.run(x=x).y == training.call("net", x)).all()
    raises(pxl.Error, "has no memory for it", lambda: m.Session("evaluate(train().net)"))
    raises(pxl.Error, "has no `nett`", lambda: training.call("nett", x))
    # Threads take turns on the memory that the sessions share.
    threads = [threading.Thread(target=lambda s=s, n=n: [s.run(x=x[:n]) for _ in range(50)])
               for s, n in ((training, 4), (evaluation, 2), (training, 4))]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert (evaluation.run(x=x).y == training.call("net", x)).all()


@check
def free_sizes():
    s = pxl.from_text(SHARED).Session("scale")
    for n in (2, 5, 1, 5):
        y = np.zeros(n, np.float32)
        s.run_into({"y": y}, x=np.ones(n))
        assert s.run(x=np.ones(n)).y.tolist() == y.tolist() == [2] * n
    assert [r["sizes"]["batch"] for r in s.report()["sizes"]] == [2, 5, 1]


@check
def finite_runs():
    s = pxl.from_text("program p {\n  stream in x: float32[2]\n  variable w: float32[2] = 1\n  stream out y = scaled_add_(w, log(host_load(x)), b = 1) + 0\n}\n").Session("p")
    s.run(x=[1, 1], finite=True)
    e = raises(pxl.Error, "variable `w` is nan at [1]", lambda: s.run(x=[1, -1], finite=True))
    assert e.kind == "not-finite" and s["w"].tolist() == [1, 1]
    raises(pxl.Error, "is nan", lambda: s.run_into({"y": np.empty(2, np.float32)}, x=[-1, 1], finite=True))
    assert np.isnan(s.run(x=[-1, 1], finite=False).y[0])


@check
def errors():
    e = raises(pxl.Error, "inner dimensions differ", lambda: pxl.from_text("a = ones([2, 3])\nb = a @ a\n", title="wrong.pxl"))
    assert (e.kind, e.file, e.line, e.column) == ("shape", "wrong.pxl", 2, 5), (e.kind, e.file, e.line, e.column)
    assert "\n" in str(e) and "^" in str(e) and e.diagnostics[0]["message"] == e.message
    assert str(pickle.loads(pickle.dumps(e))) == str(e)
    assert e._render_traceback_()[0].startswith("wrong.pxl:2:5: error:")
    raises(pxl.Error, "none.pxl", lambda: pxl.load("none.pxl"))
    p = pxl.from_text("def check(row) { fail(f'{len(row)} numbers', kind = 'bad-row', data = {'row': row}) }\nfile = try read_text('none') else 'no file'\n", title="own.pxl")
    e = raises(pxl.Error, "3 numbers", lambda: p.check([1, 2, 3]))
    assert (e.kind, e.message, e.data, e.place) == ("bad-row", "3 numbers", {"row": [1, 2, 3]}, "own.pxl:1:18"), (e.kind, e.message, e.data, e.place)
    assert p.file == "no file"
    assert raises(pxl.Error, "no rows", lambda: pxl.from_text("fail('no rows')")).kind == "fail"
    raises(pxl.Error, "unknown option `stepp`", lambda: program(stepp=1))
    raises(pxl.Error, "exit(3)", lambda: pxl.eval("exit(3)"))
    raises(TypeError, "no counterpart", lambda: pxl.eval("x", x=object()))
    raises(ValueError, "64 bits", lambda: pxl.eval("x", x=1 << 70))
    raises(ValueError, "nested", lambda: pxl.eval("x", x=[x := [], x.append(x)]))
    s = program().Session("count")
    raises(pxl.Error, "missing input", s.run)
    raises(pxl.Error, "expected float32[3], got float32[4]", lambda: s.run(x=np.zeros(4, np.float32)))
    raises(TypeError, "x", lambda: s.run(x=np.array(["a"])))
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    raises(ValueError, "read-only", lambda: s.run_into({"now": frozen}, x=[1, 2, 3]))
    raises(ValueError, "dense", lambda: s.run_into({"now": np.zeros(6, np.float32)[::2]}, x=[1, 2, 3]))


@check
def values():
    m = program()
    assert m.both(3) == {"sum": 5, "list": [3, 2]} and m.both(a=1.5, b=1)["sum"] == 2.5 and m.value == 5
    assert m.both(np.ones(2), b=[1, 2])["sum"].tolist() == [2, 3]
    raises(AttributeError, "nope", lambda: m.nope)
    assert {"both", "value"} <= set(dir(m))
    given = {"a": [1, 2.5, True, None, "t"], 2: (1, "x")}
    assert pxl.eval("x", x=given) == given and pxl.eval("x", x=np.dtype("int32")) == np.int32
    assert pxl.eval("print").type == "function"
    assert m.eval("twice = value * 2\ntwice") == 10 and m.eval("twice") == 10
    assert pxl.eval("v = variable([1.0, 2.0])\nv * 3").tolist() == [3, 6]
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert np.array_equal(pxl.eval("x @ x.T", x=x), x @ x.T)
    # A program changes its own copy.
    assert pxl.eval("x[0, 0] = 9\nx", x=x)[0, 0] == 9 and m.eval("x[0, 0] = 9\nx", x=x)[0, 0] == 9 and x[0, 0] == 0
    mine = m.eval("x")
    mine[0, 0] = 7
    assert m.eval("x")[0, 0] == 9


@check
def dtypes_of_numpy():
    m = program()
    for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"):
        x = (np.arange(6).reshape(2, 3) % 2).astype(name)
        s = m.Session("dtyped", dtype=np.dtype(name))
        for form in (x, np.asfortranarray(x), x[:, ::-1][:, ::-1], x.astype(x.dtype.newbyteorder(">"))):
            y = s.run(x=form).y
            assert y.dtype == x.dtype and np.array_equal(x, y), name
    x = np.random.default_rng(1).normal(size=(2, 3))
    assert np.array_equal(m.Session("dtyped", dtype="float16" and np.dtype("float16")).run(x=x).y, x.astype(np.float16))
    raises(pxl.Error, "fractions", lambda: m.Session("dtyped", dtype=np.dtype("int32")).run(x=x))
    raises(TypeError, "complex128", lambda: m.Session("dtyped", dtype=np.dtype("int32")).run(x=x * 1j))


@check
def odd_arrays():
    m = program()
    s = m.Session("dtyped", dtype=np.dtype("float32"))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    wide = np.zeros((4, 9), np.float32)
    wide[::-2, ::-3] = x
    frozen = x.copy()
    frozen.flags.writeable = False
    unaligned = np.frombuffer(b"?" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3)
    for form in (wide[::-2, ::-3], frozen, unaligned, np.lib.stride_tricks.sliding_window_view(np.arange(4, dtype=np.float32), 3) * 0 + x,
                 np.matrix(x), x.tolist(), memoryview(x), np.ma.masked_array(x), x.astype("f8")):
        assert np.array_equal(s.run(x=form).y, x), form
    assert np.array_equal(s.run(x=np.broadcast_to(np.float32(3), (2, 3))).y, np.full((2, 3), 3, np.float32))
    assert pxl.eval("x", x=np.float32(2.5)) == 2.5 and pxl.eval("x.shape", x=np.zeros((0, 3))) == (0, 3)
    assert pxl.eval("len(x.shape)", x=np.zeros((1,) * 32)) == 32
    flags = np.array([0, 1, 2, 255, 0, 128], np.uint8).view(bool).reshape(2, 3)
    assert m.Session("dtyped", dtype=np.dtype("bool")).run(x=flags).y.view(np.uint8).tolist() == [[0, 1, 1], [1, 0, 1]]
    raises(pxl.Error, "x.a", lambda: s.run(x={"a": 1}))  # a dict is for a tree of streams
    for wrong in ("text", b"bytes", object(), None, [[1, 2, 3], [4, 5]], np.array(["2020-01-01"], "M8[D]"), np.zeros(2, "f4,i4"),
                  np.zeros(2, np.longdouble), np.array([1, None]), np.zeros(3, "S4"), np.zeros(3, np.complex64), pxl):
        try:
            s.run(x=wrong)
            raise AssertionError(f"{wrong!r} was taken")
        except (TypeError, ValueError) as e:
            assert "x" in str(e), e
    for into in (np.zeros((2, 3)), np.zeros((3, 2), np.float32), np.zeros((2, 6), np.float32)[:, ::2], frozen, x.astype(">f4"), [[0.0] * 3] * 2):
        try:
            s.run_into({"y": into}, x=x)
            raise AssertionError(f"{into!r} was written to")
        except (TypeError, ValueError, pxl.Error) as e:
            assert "y" in str(e), e
    assert np.array_equal(frozen, x)


class ByDLPack:
    """An array that has DLPack's protocol alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **more):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@check
def orders_by_dlpack():
    s = program().Session("dtyped", dtype=np.dtype("float32"))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for form in (x, np.asfortranarray(x), np.asfortranarray(np.tile(x, (2, 2)))[::2, 3:], np.broadcast_to(x[:1], (2, 3)).copy("F")):
        assert np.array_equal(s.run(x=ByDLPack(form)).y, form), form.strides
    for shape in ((), (4,), (1, 4), (4, 1), (0, 3), (2, 3, 4), (2, 1, 3, 2)):
        for order in ("C", "F"):
            form = np.arange(np.prod(shape), dtype=np.float64).reshape(shape).copy(order)
            assert np.array_equal(pxl.eval("x", x=ByDLPack(form)), form), (shape, order)
            turned = form.transpose()
            assert np.array_equal(pxl.eval("x", x=ByDLPack(turned)), turned), (shape, order)


@check
def odd_tensors():
    needs_torch()
    m = program()
    s, flags = m.Session("dtyped", dtype=np.dtype("float32")), m.Session("dtyped", dtype=np.dtype("bool"))
    x = torch.arange(6.0).reshape(2, 3)
    for form in (x.t().contiguous().t(), torch.stack([x, x], 2)[:, :, 0], x.double(), x.half(), torch.nn.Parameter(x), x.t().t(), x.int()):
        assert torch.equal(torch.from_numpy(s.run(x=form).y), x), form
    assert s.run(x=torch.ones(1).expand(2, 3)).y.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert pxl.eval("x.shape", x=torch.ones(0, 3)) == (0, 3) and pxl.eval("x", x=torch.tensor(2.5)) == 2.5
    # Views whose elements PyTorch negates when it reads them.
    for view in (torch._neg_view(x), torch.complex(x, x).conj().imag, torch._neg_view(x.t().contiguous().t()), torch._neg_view(torch.nn.Parameter(x))):
        assert view.is_neg() and torch.equal(torch.from_numpy(s.run(x=view).y), -x), view
    raises(ValueError, "negated view", lambda: s.run_into({"y": torch._neg_view(torch.zeros(2, 3))}, x=x))
    odd = x > 2
    assert torch.equal(torch.from_numpy(flags.run(x=odd).y), odd)
    assert torch.equal(torch.from_numpy(flags.run(x=odd.t().contiguous().t()).y), odd)
    into = torch.zeros(2, 3, dtype=torch.bool)
    flags.run_into({"y": into}, x=odd)
    assert torch.equal(into, odd)
    for wrong in (torch.eye(3).to_sparse(), torch.ones(2, 3, device="meta"), torch.ones(2, 3, dtype=torch.complex64),
                  torch.quantize_per_tensor(x, 1.0, 0, torch.qint8)):
        try:
            s.run(x=wrong)
            raise AssertionError(f"{wrong!r} was taken")
        except (TypeError, RuntimeError, ValueError) as e:
            assert str(e)
    assert np.array_equal(s.run(x=x).y, x.numpy())

    class Broken:
        def __init__(self, what):
            self.what = what

        def __dlpack__(self):
            if isinstance(self.what, Exception):
                raise self.what
            return self.what

    used = x.__dlpack__()
    torch.from_dlpack(type("Once", (), {"__dlpack__": lambda self, stream=None: used, "__dlpack_device__": lambda self: (1, 0)})())
    for what, kind in ((OSError("gone"), OSError), (7, TypeError), (None, TypeError), (used, ValueError)):
        raises(kind, "", lambda: s.run(x=Broken(what)))


@check
def names_of_files():
    folder = pathlib.Path("names")
    folder.mkdir()
    plain = folder / "größe.pxl"
    plain.write_text('name = "größe"\nfiles = list_files("names/*")\ndef read(path) { return read_text(path) }\n')
    assert pxl.load(plain).name == pxl.load(str(plain)).name == pxl.load(os.fsencode(plain)).name == "größe"
    # A name that is not UTF-8.
    odd = os.fsencode(folder) + b"/\xff.pxl"
    pathlib.Path(os.fsdecode(odd)).write_text("x = 1\n")
    assert pxl.load(odd).x == pxl.load(os.fsdecode(odd)).x == 1
    m = pxl.load(plain)
    assert sorted(m.files) == sorted([str(plain), os.fsdecode(odd)])
    assert m.read(os.fsdecode(odd)) == "x = 1\n"
    pathlib.Path(os.fsdecode(odd)).write_text("x = y\n")
    assert "\\xff.pxl" in raises(pxl.Error, "unknown", lambda: pxl.load(odd)).file
    raises(pxl.Error, "zero byte", lambda: pxl.load("names/a\0.pxl"))
    s = program().Session("count")
    raises(pxl.Error, "zero byte", lambda: s.save("names/a\0.safetensors"))
    raises(pxl.Error, "", lambda: s.restore("names/a\0.safetensors"))
    s.save(os.fsencode(folder) + b"/\xfe.safetensors")
    assert s.restore(os.fsencode(folder) + b"/\xfe.safetensors")["loaded"] == ["total"]


@check
def no_copies():
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert pxl._pxl._address(x) == x.ctypes.data and pxl._pxl._address(x[1:]) == x[1:].ctypes.data
    assert pxl._pxl._address(x.T) != x.ctypes.data
    if torch is not None:
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.int64, torch.uint8):
            t = torch.ones(3, 4).to(dtype)
            assert pxl._pxl._address(t) == t.data_ptr()
        assert pxl._pxl._address(torch.ones(3, requires_grad=True)) != 0
    # Results: a view of the library's memory, which lives as long as any array has it.
    s = program().Session("count")
    y = s.run(x=[1, 2, 3]).now
    part = y[1:]
    assert not y.flags.owndata and y.flags.writeable
    del y, s
    gc.collect()
    assert part.tolist() == [2, 3]


@check
def memory_is_freed():
    def resident():
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    m = pxl.from_text("program copy {\n  stream in x: float32[500000]\n  stream out y = host_load(x) + 1\n}")
    s, x = m.Session("copy"), np.zeros(500000, np.float32)
    for _ in range(20):
        s.run(x=x)
    before = resident()
    for _ in range(500):
        s.run(x=x)
        pxl.eval("x", x=x)
    assert resident() - before < 200 << 20, f"{(resident() - before) >> 20} MiB more after 1000 calls with 2 MB each"


@check
def torch_tensors():
    needs_torch()
    m = program()
    x = torch.randn(2, 3)
    s = m.Session("dtyped", dtype=np.dtype("float32"))
    assert torch.equal(torch.from_numpy(s.run(x=x).y), x)
    assert torch.equal(torch.from_dlpack(s.run(x=torch.randn(3, 2).t().copy_(x)).y), x)
    assert torch.equal(torch.from_numpy(s.run(x=x.bfloat16()).y), x.bfloat16().float())
    # bfloat16 in and out, as ml_dtypes' type or as bits.
    narrow = pxl.from_text("program p {\n  stream in x: bfloat16[2, 3]\n  stream out y = host_load(x) * 2\n}").Session("p")
    doubled = narrow.run(x=x.bfloat16()).y
    assert doubled.dtype.name in ("uint16", "bfloat16")
    assert torch.equal(torch.from_numpy(doubled.view(np.int16)).view(torch.bfloat16), x.bfloat16() * 2)
    half = m.Session("dtyped", dtype=np.dtype("float16")).run(x=x.half()).y
    assert torch.equal(torch.from_numpy(half), x.half())
    into = torch.empty(2, 3)
    s.run_into({"y": into}, x=x)
    assert torch.equal(into, x)
    raises(ValueError, "dense", lambda: s.run_into({"y": torch.empty(3, 2).t()}, x=x))
    assert torch.equal(torch.from_numpy(s.run(x=x.clone().requires_grad_()).y), x)


@check
def weights_of_torch():
    needs_torch()
    net = torch.nn.Sequential()
    net.add_module("hidden", torch.nn.Linear(2, 16))
    net.add_module("tanh", torch.nn.Tanh())
    net.add_module("out", torch.nn.Linear(16, 1))
    m = pxl.load(ROOT / "examples/library/model.pxl")
    s = m.Session("predict", n=5)
    assert len(s.load_torch(net)["loaded"]) == 4
    x = torch.randn(5, 2)
    assert np.abs(s.run(x=x).y - net(x).detach().numpy()).max() < 1e-5
    plain = torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Linear(16, 1))
    raises(ValueError, "nothing for", lambda: s.load_torch(plain))
    names = {"0.weight": "hidden.weight", "0.bias": "hidden.bias", "1.weight": "out.weight", "1.bias": "out.bias"}
    assert not s.load_torch(plain, map=names)["unused"]
    raises(ValueError, "here", lambda: s.load_torch({"hidden.weight": torch.zeros(3, 3)}))


@check
def training_is_numpys():
    rng = np.random.default_rng(3)
    x, w = rng.normal(size=(32, 8)).astype(np.float32), rng.normal(size=(8, 4)).astype(np.float32)
    target = rng.normal(size=(32, 4)).astype(np.float32)
    s = pxl.from_text("""
program train {
  stream in x: float32[32, 8]
  stream in target: float32[32, 4]
  variable w: float32[8, 4] = 0
  rows = host_load(x)
  error = rows @ w - host_load(target)
  stream out loss = mean(error * error)
  scaled_add_(w, rows.T @ error, b = -0.01)
}""").Session("train")
    s["w"] = w
    for _ in range(20):
        error = x @ w - target
        assert abs(s.run(x=x, target=target).loss - np.mean(error * error)) < 1e-4
        w = w - 0.01 * (x.T @ error)
    assert np.abs(s["w"] - w).max() < 1e-4


@check
def example():
    folder = ROOT / "examples/library"
    done = subprocess.run([sys.executable, folder / "train.py", folder / "model.pxl", "trained.safetensors"], capture_output=True, text=True)
    assert done.returncode == 0 and "step 300: loss 0.0" in done.stdout and "sums: [ 0.3 -0.2  0.6]" in done.stdout, done


@check
def threads():
    m = program()
    one = [m.Session("count") for _ in range(4)]
    shared = m.Session("count")

    def work(s):
        for _ in range(300):
            s.run(x=[1, 2, 3])
            shared.run(x=[1, 0, 0])
            m.both(1)

    running = [threading.Thread(target=work, args=(s,)) for s in one]
    for t in running:
        t.start()
    for t in running:
        t.join()
    assert all(s["total"].tolist() == [300, 600, 900] for s in one) and shared["total"].tolist() == [1200, 0, 0]


@check
def lock_is_released():
    s, ticks = program().Session("slow"), 0
    raised = []

    def run():
        try:
            s.run()
        except pxl.Cancelled as e:
            raised.append(e)

    running = threading.Thread(target=run)
    running.start()
    for _ in range(50):
        time.sleep(0.002)
        ticks += 1
    assert running.is_alive() and ticks == 50
    s.cancel()
    running.join(60)
    assert not running.is_alive() and len(raised) == 1


@check
def interrupts():
    # Calls while nobody hears the signal leave later ones as they are. (A shell that runs the tests in the background has
    # it ignored.)
    for nobody in (signal.SIG_IGN, signal.SIG_DFL):
        signal.signal(signal.SIGINT, nobody)
        assert program().Session("count").run(x=[1, 2, 3]).now.tolist() == [1, 2, 3]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    s = program().Session("slow")
    for body in (s.run, s.run, s.run, lambda: pxl.eval("while true { }"), lambda: program().say and pxl.from_text("while true { }")):
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        try:
            body()
            raise AssertionError("it ended")
        except KeyboardInterrupt:
            pass
        timer.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert program().Session("count").run(x=[1, 2, 3]).now.tolist() == [1, 2, 3]
    # A handler of the program's own is called; the run ends all the same.
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    try:
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        raises(pxl.Cancelled, "cancelled", s.run)
        timer.join()
        assert seen == [1]
    finally:
        signal.signal(signal.SIGINT, before)


@check
def other_signals():
    # Handlers of other signals run during the call, in the main thread, and end it by what they raise.
    s, quick = program().Session("slow"), program().Session("count")
    seen = []

    def note(number, frame):
        seen.append((number, threading.current_thread() is threading.main_thread()))
        assert quick.run(x=[1, 2, 3]).now.shape == (3,)  # a call in the middle of another one
        if len(seen) % 3 == 0:
            raise TimeoutError("three signals")

    calls = (s.run, lambda: pxl.eval("while true { }"), lambda: pxl.from_text("while true { }"))
    for number, send in ((signal.SIGALRM, lambda: signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)),
                         (signal.SIGUSR1, lambda: threading.Thread(target=lambda: [time.sleep(0.1) or os.kill(os.getpid(), signal.SIGUSR1)
                                                                                   for _ in range(3)]).start())):
        before = signal.signal(number, note)
        try:
            for body in calls:
                seen.clear()
                send()
                started = time.process_time()
                raises(TimeoutError, "three signals", body)
                signal.setitimer(signal.ITIMER_REAL, 0)
                assert seen == [(number, True)] * 3, seen
                assert time.process_time() - started < 5
        finally:
            signal.signal(number, before)
    # Who had a wakeup descriptor, as loops of events have, still gets the numbers, and has it after the call.
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs)
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(TimeoutError("alarm")))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        raises(TimeoutError, "alarm", s.run)
        assert os.read(ours, 10) == bytes([signal.SIGALRM])
        assert signal.set_wakeup_fd(-1) == theirs
    finally:
        signal.signal(signal.SIGALRM, before)
        os.close(ours)
        os.close(theirs)
    assert quick.run(x=[1, 2, 3]).now.shape == (3,)


@check
def texts_are_freed():
    m = program()

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def texts(first, count):
        for i in range(first, first + count):
            assert m.eval(f"[value + {i}, 'a text of some length, number {i}'][0] + (a => a * 2)({i})") == 5 + 3 * i

    few, many = 100, 6000
    texts(0, few)
    before = resident()
    texts(few, many)
    a_text = (resident() - before) / many
    assert a_text < 400, f"{a_text:.0f} bytes a text"


@check
def masked_arrays():
    m = program()
    s = m.Session("dtyped", dtype=np.dtype("float32"))
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    masked = np.ma.masked_array(x, mask=x > 4)
    for form in (masked, masked[:, ::-1], [masked[0], masked[1]], (list(masked[0]), list(masked[1])), masked.astype("f8")):
        raises(ValueError, "masked elements", lambda form=form: s.run(x=form))
        raises(ValueError, "masked elements", lambda form=form: pxl.eval("x", x=form))
    raises(ValueError, "masked elements", lambda: s.run_into({"y": masked}, x=x))
    raises(ValueError, "masked elements", lambda: m.both(masked))
    raises(ValueError, "masked elements", lambda: m.Session("count").update(total=masked[1]))
    assert np.array_equal(s.run(x=masked.filled(0)).y, masked.filled(0))
    assert np.array_equal(s.run(x=np.ma.masked_array(x)).y, x)
    endless = []
    endless.append(endless)
    raises((ValueError, TypeError), "", lambda: s.run(x=endless))


@check
def errors_of_calls_have_no_place():
    m = pxl.from_text(COUNTER, title="counter.pxl")
    for body, kind in ((lambda: m.Session("count", engine="plannd"), "engine"), (lambda: m.Session("count", device="gpu"), "device"),
                       (lambda: m.both(), "both"), (lambda: m.both(1, 2, 3), "both")):
        try:
            body()
            raise AssertionError("it did not fail")
        except pxl.Error as e:
            assert "counter.pxl" not in str(e), e
            assert kind in str(e), e


@check
def printing():
    import contextlib
    import io

    m = program()
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        m.say("grüße")
        pxl.eval("print(1)")
    assert text.getvalue() == "grüße\n1\n", text.getvalue()

    class Broken:
        def write(self, text):
            raise OSError("broken")

    with contextlib.redirect_stdout(Broken()):
        raises(OSError, "broken", lambda: m.say("x"))
    assert m.both(1)["sum"] == 3

    class Calling:
        def write(self, text):
            m.both(1)

    with contextlib.redirect_stdout(Calling()):
        raises(pxl.Error, "in use by the call", lambda: m.say("x"))
    assert m.both(1)["sum"] == 3


def in_child(s, results):
    results.put(s.run(x=[1, 2, 3]).now.tolist() + pxl.eval("x @ x", x=np.ones((300, 300)))[0, :1].tolist())


@check
def forks():
    m = program()
    s, busy = m.Session("count"), m.Session("slow")
    pxl.eval("x @ x", x=np.ones((300, 300)))
    s.run(x=[1, 2, 3])
    running = threading.Thread(target=lambda: raises(pxl.Cancelled, "", busy.run))
    running.start()
    time.sleep(0.05)
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    children = [context.Process(target=in_child, args=(s, results)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
        assert results.get() == [2, 4, 6, 300]
    refused = context.Process(target=lambda: sys.exit(0 if "forked off" in str(raises(pxl.Error, "", busy.run)) else 1))
    refused.start()
    refused.join(60)
    assert refused.exitcode == 0
    busy.cancel()
    running.join()


@check
def daemon_threads_at_exit():
    script = "import pxl, threading, time\n" + f"s = pxl.from_text({COUNTER!r}).Session('slow')\n"
    script += "threading.Thread(target=s.run, daemon=True).start()\ntime.sleep(0.1)\nprint('end')\n"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", ""), done


@check
def magic():
    try:
        from IPython.core.interactiveshell import InteractiveShell
    except ImportError:
        raise Skipped("no IPython (python3-ipython)") from None
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "pxl")
    shell.user_ns.update(x=np.float32([1, 2, 3]), k=2)
    assert shell.run_cell_magic("pxl", "-i x,k -o total -o y", "y = x * k\ntotal = int(y.sum())\ntotal + 1") == 13
    assert shell.user_ns["total"] == 12 and shell.user_ns["y"].tolist() == [2, 4, 6]
    assert shell.run_cell_magic("pxl", "", "total * 2") == 24
    raises(pxl.Error, "total", lambda: shell.run_cell_magic("pxl", "--reset", "total"))
    raises(NameError, "nope", lambda: shell.run_cell_magic("pxl", "-i nope", "1"))


@check
def stubs_and_docs():
    package = pathlib.Path(pxl.__file__).parent
    stubs = (package / "__init__.pyi").read_text()
    for name in pxl.__all__:
        assert re.search(rf"\b{name}\b", stubs), f"{name} is not in the stubs"
    for kind in (pxl.Program, pxl.Session, pxl.Outputs):
        for name, member in vars(kind).items():
            if not name.startswith("_") and callable(member):
                assert f"def {name}(" in stubs, f"{kind.__name__}.{name} is not in the stubs"
                documented = member.__doc__ or name in ("items", "keys")
                assert documented, f"{kind.__name__}.{name} has no docstring"
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", str(package / "__init__.pyi")],
                          capture_output=True, text=True)
    if "No module named mypy" not in done.stderr:
        assert done.returncode == 0, done.stdout


@check
def page():
    """The blocks of the page run, in one namespace, and print what follows them."""
    import contextlib
    import io

    text = (ROOT / "docs/python.md").read_text()
    os.chdir(ROOT)
    names = {}
    blocks = re.findall(r"```python\n(.*?)```\n(?:```text\n(.*?)```)?", text, re.S)
    assert len(blocks) >= 3
    for body, wanted in blocks:
        if "torch" in body and torch is None:
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(body, names)
        assert out.getvalue() == wanted, f"{body}\nprints\n{out.getvalue()}\nnot\n{wanted}"


def main():
    for body in CHECKS if len(sys.argv) == 1 else [c for c in CHECKS if c.__name__ in sys.argv[1:]]:
        problem = skipped = None
        try:
            body()
        except Skipped as why:
            skipped = str(why)
        except BaseException:
            problem = traceback.format_exc()
        print(json.dumps({"name": body.__name__, "problem": problem, "skipped": skipped}), flush=True)


if __name__ == "__main__":
    main()
