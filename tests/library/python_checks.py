"""Checks of the module pxl, run by Debian's Python: one JSON line for each, {"name", "problem", "skipped"}."""
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import threading
import traceback

import numpy as np

import pxl

import python_arrays  # noqa: F401, its checks
import python_threads  # noqa: F401, its checks
from python_support import CHECKS, COUNTER, ROOT, Skipped, check, program, raises, resident, torch


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
def trees_of_streams():
    m = pxl.from_text("""
program p {
  stream in b: {"s": float32[2], "n": [float32[], float32[]]}
  tree = host_load(b)
  stream out y = {"sum": tree["s"] + tree["n"][0], "list": [tree["n"][1], tree["s"]]}
}
""")
    out = m.Session("p").run(b={"s": [1, 2], "n": [3, 4]})
    assert sorted(out) == ["y.list.0", "y.list.1", "y.sum"]
    assert out.y["sum"].tolist() == [4, 5] and out.y["list"][0] == 4 and out["y"]["list"][1].tolist() == [1, 2]
    raises(AttributeError, "nothing named 'z'; it gave y", lambda: out.z)
    raises(KeyError, "other", lambda: out.y["other"])


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
def texts_are_freed():
    m = program()

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
def errors_of_calls_have_no_place():
    m = pxl.from_text(COUNTER, title="counter.pxl")
    for body, kind in ((lambda: m.Session("count", engine="plannd"), "engine"), (lambda: m.Session("count", device="gpu"), "device"),
                       (lambda: m.both(), "both"), (lambda: m.both(1, 2, 3), "both")):
        assert "counter.pxl" not in str(raises(pxl.Error, kind, body))


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
