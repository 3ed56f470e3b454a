"""Random graphs (tests/fuzz/graphs_fuzz.py): every way to run them, and NumPy. Gradients of random loops, and
among random updates."""
import re
import subprocess
import sys

from tests.support.harness import ROOT


def graph_tests(pxl, seconds, add, skip):
    python = next((p for p in (sys.executable, "/usr/bin/python3")
                   if subprocess.run([p, "-c", "import numpy"], capture_output=True).returncode == 0), None)
    if not python:
        skip("graphs", "no Python with numpy (python3-numpy)")
        return
    for script, length in (("graphs_fuzz", seconds), ("loops_fuzz", 0.6 * seconds),
                           ("updates_fuzz", 0.6 * seconds)):
        done = subprocess.run([python, f"tests/fuzz/{script}.py", "--seconds", str(length), "--seed", "1", "--pxl", str(pxl)],
                              cwd=ROOT, capture_output=True, text=True, timeout=length + 1500)
        last = done.stdout.strip().split("\n")[-1]
        made = re.match(r"(\d+) programs", last)
        add(f"{script}: {last or length}", None if done.returncode == 0 and made and int(made.group(1)) > 0
            else (done.stdout + done.stderr)[-8000:])
