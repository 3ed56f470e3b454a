"""The page of the IPU model shows what `build/release/published` prints."""

import difflib
import json
import os
import pathlib
import re
import subprocess
import tempfile

from tests.support.harness import ROOT

PAGE = ROOT / "docs/ipu-model.md"
SHOWN = re.compile(r"(<!-- published figures -->\n)(.*?)(<!-- end -->)", re.S)


def output(pxl):
    done = subprocess.run([str(pathlib.Path(pxl).with_name("published"))], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr}"


PROGRAM = """
option n: int = 64
program product {
  variable w: float16[n, n] = 0
  stream in x: float16[n, n]
  stream out y = gelu(host_load(x) @ w)
}
s = Session(product())
print("not shown", sum(s.run(x = zeros([n, n], float16)).y))
"""


def profile(pxl, *arguments, threads=None):
    """Status and output of `pxl profile ARGUMENTS` on a small program."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "product.pxl"
        path.write_text(PROGRAM)
        command = [str(pxl), "profile", "--machine", "bow", *[str(path) if a == "FILE" else a for a in arguments]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, PXL_THREADS=str(threads)) if threads else None)
    return done.returncode, done.stdout, done.stderr


def profile_problem(pxl):
    code, out, err = profile(pxl, "FILE")
    for wanted in ("product on bow", "cycles a run", "MatMul.", "fullest tile", "the program fits"):
        if code != 0 or wanted not in out:
            return f"`{wanted}` is missing; status {code}\n{out}{err}"
    if "not shown" in out:
        return "the script's own output is shown"
    for threads in (None, 1, 2, 3):
        if profile(pxl, "FILE", threads=threads)[1] != out:
            return f"a second run says something else; threads: {threads}"
    code, out, err = profile(pxl, "--machine", "mk2,tiles=4", "--partials", "float16", "FILE", "--n", "2048")
    if code != 0 or "does not fit: tile" not in out:
        return f"a machine of four tiles: status {code}\n{out}{err}"
    code, out, err = profile(pxl, "--machine", "mk9", "FILE")
    if code != 2 or "unknown machine `mk9`" not in err:
        return f"an unknown machine: status {code}\n{out}{err}"
    return None


FITTED = """option batch: int = 16
option recompute: bool = false
program train {
  stream in x: float16[batch, 64]
  h = host_load(x)
  for i in range(3) {
    variable w: float16[64, 64] = 0.01
    h = gelu(h @ w)
    if recompute { h = h * 1.0 }
  }
  stream out y = h
}
print(Session(train()).run(x = ones([batch, 64], float16)).y.shape)
"""


def fit_problem(pxl):
    """Rows of `pxl fit` run on their tiles. The patch of each, applied, gives the figures of the row."""
    with tempfile.TemporaryDirectory() as folder:
        def run(*command):
            return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
        command = [str(pxl), "fit", "--machine", "mk2,tiles=4,memory=200000", "--execute", "--json", "net.pxl"]
        script = pathlib.Path(folder) / "net.pxl"
        script.write_text(FITTED)
        done = run(*command)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        if done.returncode != 0 or len(rows) < 2 or max(int(r["options"]["batch"]) for r in rows) <= 16:
            return f"status {done.returncode}: {rows}\n{done.stderr}"
        for number, row in enumerate(rows, 1):
            script.write_text(FITTED)
            run(*command[:-1], "-o", "fit.patch", "--row", str(number), "net.pxl")
            applied = run("patch", "-p1", "-i", "fit.patch")
            if applied.returncode != 0 and row["options"] != {"batch": "16", "recompute": "false"}:
                return applied.stdout + applied.stderr
            first = (pathlib.Path(folder) / "fit.patch").read_text().splitlines()[0].split(": pxl ")[1]
            report = json.loads(run(str(pxl), *first.split(), "--json").stdout)["runs"][0]["totals"]
            got = (report["cycles"], report["fullest_tile_bytes"])
            if got != (row["cycles"], row["bytes"]):
                return f"row {number}: {row}, after its patch {got}"
    return None


def model_tests(pxl, add, update):
    """`add(name, problem or None)`; `update` rewrites the page."""
    text = PAGE.read_text()
    if update:
        PAGE.write_text(SHOWN.sub(lambda m: m[1] + output(pxl) + m[3], text))
        return
    shown = list(SHOWN.finditer(text))
    add("pxl profile", lambda: profile_problem(pxl))
    add("pxl fit", lambda: fit_problem(pxl))
    add("docs/ipu-model.md shows the model's table", None if shown else "no table")
    for m in shown:
        got = output(pxl)
        add("docs/ipu-model.md: published figures",
            None if got == m[2] else "\n".join(difflib.unified_diff(m[2].splitlines(), got.splitlines(), "page", "printed")))
