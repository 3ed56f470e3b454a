"""Checks of the module pxl: arrays of NumPy, and tensors of PyTorch."""
import gc

import numpy as np

import pxl

from python_support import ROOT, check, needs_torch, program, raises, resident, torch


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
        raises((TypeError, ValueError), "x", lambda wrong=wrong: s.run(x=wrong))
    for into in (np.zeros((2, 3)), np.zeros((3, 2), np.float32), np.zeros((2, 6), np.float32)[:, ::2], frozen, x.astype(">f4"), [[0.0] * 3] * 2):
        raises((TypeError, ValueError, pxl.Error), "y", lambda into=into: s.run_into({"y": into}, x=x))
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
        assert str(raises((TypeError, RuntimeError, ValueError), "", lambda wrong=wrong: s.run(x=wrong)))
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
def weights_that_are_kept_in_another_form():
    """A session prepares weights once, and again after each way to write them."""
    text = ("program p() {\n  stream in x: float32[8, 96]\n  variable w: float32[96, 96] = 0.5\n"
            "  h = host_load(x)\n  stream out y = h @ w + h @ tanh(w)\n}\n")
    s, other = pxl.from_text(text).Session("p"), pxl.from_text(text).Session("p")
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8, 96)).astype(np.float32)

    def fits(w):
        return np.abs(s.run(x=x).y - (x @ w + x @ np.tanh(w))).max() < 1e-3

    w, v, u = (rng.normal(size=(96, 96)).astype(np.float32) for _ in range(3))
    assert fits(np.full((96, 96), 0.5, np.float32))
    s["w"] = w
    assert fits(w) and fits(w)
    s.update({"w": v})
    assert fits(v)
    other["w"] = u
    s.load_from(other)
    assert fits(u) and not fits(v)


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
