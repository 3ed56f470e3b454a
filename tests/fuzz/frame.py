"""Shared parts of the fuzzers' drivers: options, numbers of tries until the time is over, and runs of pxl."""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ENGINES = ["planned", "reference", "tiles"]
os.environ.setdefault("PXL_VERIFY", "1")  # as tests/run.py sets it


def options(doc, seconds=30, seed=1, replay=False, more=None):
    """`more`: settings of further arguments, by their name."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pxl", type=os.path.abspath, default=str(ROOT / "build/release/pxl"))
    parser.add_argument("--seconds", type=float, default=seconds)
    parser.add_argument("--seed", type=int, default=seed)
    if replay:
        parser.add_argument("--replay", type=int, metavar="N", help="look at try N of the seed alone")
    for name, settings in (more or {}).items():
        parser.add_argument(name, **settings)
    return parser.parse_args()


def batches(seconds, size=1):
    """Ranges of numbers, one after the other, until the seconds are over; at least one."""
    end, first = time.monotonic() + seconds, 0
    while first == 0 or time.monotonic() < end:
        yield range(first, first + size)
        first += size


def numpy():
    """A Python of its own may lack Debian's packages: the script then starts anew with the system's."""
    try:
        import numpy as np
        return np
    except ImportError:
        if os.path.realpath(sys.executable) == os.path.realpath("/usr/bin/python3"):
            raise
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.argv])


def run_in(engine, command, text):
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=300,
                          env=dict(os.environ, NO_COLOR="1", PXL_ENGINE=engine, PXL_MACHINE="mk2,tiles=4"))


def printed(pxl, text):
    """The lines that a program prints, or none, and why it failed."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "tried.pxl").write_text(text)
        done = subprocess.run([pxl, "run", "tried.pxl"], cwd=folder, env=dict(os.environ, NO_COLOR="1"), text=True, capture_output=True, timeout=300)
    if done.returncode != 0:
        return None, f"exit status {done.returncode}\n{done.stderr[-1500:]}"
    return done.stdout.splitlines(), None
