"""Helpers for the checks of the module pxl: the list of checks, their program, expected errors."""
import gc
import os
import pathlib

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
    """The error of `kind`, a class or several, that `body` raises. Its message has `text`."""
    try:
        body()
    except kind as e:
        assert text in str(e), f"{text!r} is not in {e}"
        return e
    raise AssertionError(f"no {kind} with {text!r}")


def resident():
    """Bytes of this process in memory, without garbage."""
    gc.collect()
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
