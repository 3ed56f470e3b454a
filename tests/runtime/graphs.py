"""Fuzzers against NumPy (tests/fuzz): random graphs, every way to run them; gradients of random loops, and among random
updates; numbers beside elements; normalisations and losses; signs of zeros, NaN and infinities. Programs of the host language beside
the same programs in Python."""
import re
import subprocess
import sys

from tests.support.harness import ROOT

# Each with its share of the time.
FUZZERS = {"graphs_fuzz": 1, "loops_fuzz": 0.6, "updates_fuzz": 0.6, "numbers_fuzz": 0.4, "norms_fuzz": 0.4, "zeros_fuzz": 0.4, "programs_fuzz": 0.6, "tries_fuzz": 0.6}


def graph_tests(pxl, seconds, add, skip):
    python = next((p for p in (sys.executable, "/usr/bin/python3")
                   if subprocess.run([p, "-c", "import numpy"], capture_output=True).returncode == 0), None)
    if not python:
        skip("graphs", "no Python with numpy (python3-numpy)")
        return
    for fuzzer, share in FUZZERS.items():
        length = share * seconds
        done = subprocess.run([python, f"tests/fuzz/{fuzzer}.py", "--seconds", str(length), "--seed", "1", "--pxl", str(pxl)],
                              cwd=ROOT, capture_output=True, text=True, timeout=length + 1500)
        last = done.stdout.strip().split("\n")[-1]
        tried = re.match(r"(\d+) ", last)
        add(f"{fuzzer}: {last or length}", None if done.returncode == 0 and tried and int(tried.group(1)) > 0
            else (done.stdout + done.stderr)[-8000:])
