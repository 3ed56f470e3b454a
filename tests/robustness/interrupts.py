"""Ctrl-C at random moments (tests/fuzz/interrupts.py)."""
import re
import subprocess
import sys

from tests.support.harness import TESTS


def interrupt_tests(pxl, seconds, add):
    done = subprocess.run([sys.executable, str(TESTS / "fuzz/interrupts.py"), "--seconds", str(seconds), "--seed", "1", "--pxl", str(pxl)],
                          capture_output=True, text=True, errors="replace", timeout=seconds + 300)
    last = done.stdout.strip().split("\n")[-1]
    tried = re.match(r"(\d+) tries, 0 failures", last)
    add(f"interrupts: {last}", None if done.returncode == 0 and tried and int(tried.group(1)) > 0 else done.stdout + done.stderr)
