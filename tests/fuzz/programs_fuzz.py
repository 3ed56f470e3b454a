#!/usr/bin/env python3
"""Random programs of the host language (program_maker.py), by two oracles.

Without --old, each program runs beside its twin in Python, and both must print the same. With --old, two binaries run each program, as
a file and line by line in the REPL, and outputs, errors and exit codes must be equal byte for byte. A program that differs is made
smaller before it is shown.

usage:
    python3 tests/fuzz/programs_fuzz.py --seconds 60 --seed 1
    python3 tests/fuzz/programs_fuzz.py --old OTHER/pxl --seconds 60
    python3 tests/fuzz/programs_fuzz.py --seed 1 --replay 17     # one program again, which is shown
"""
import argparse
import contextlib
import io
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.fuzz.program_maker import PXL_START, PY_START, Maker, text_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULE = """def helper(x, by = 2) { return x * by }
def failing(x) { return [x][helper(x)] }
level = 3
module Box(size = 1) {
  def bigger() { return Box(size + 1) }
}
print("part is loaded")
"""
# Statements that Python lacks, which end a program when two binaries are compared.
OWN = ["import part\nprint(part.helper(3), part.level)", "from part import helper, Box as B\nprint(helper(4, by = 5), B(2).bigger().size)", "import part\npart.failing(2)",
       "import missing_file", "from part import nothing", "with expect_error(\"range\") { [1][3] }\nprint(\"after\")", "with expect_error(\"other\") { [1][3] }", "with expect_error(\"x\") { pass }",
       "print(array([1, 2]) + 1, zeros([2])[1])", "array([1, 2]) + array([1, 2, 3])", "a1 = arange(6).reshape([2, 3])\na1[0] = 7\nprint(a1[:, 1], a1.shape)", "print(ones([2])[5])",
       "w1 = variable([1.0, 2.0])\ny1 = gelu(w1 * 3) + 1\nprint(y1, eval(y1))\ny1 @ ones([3])", "g1 = ir.create_graph((t) => t * 2, float32[2])\nprint(g1)\ng1(1, 2)",
       "program p1(n = 2) {\n  stream in x: float32[2]\n  y = host_load(x)\n  for i in range(n) { y = y + i }\n  stream out z = y\n}\nprint(Session(p1(3)).run(x = [1, 2]).z)\np1(\"a\")",
       "module N1(k: int) {\n  build(x: tensor[..., d]) {\n    param w: float32[d] = k\n    return x * w\n  }\n}\nf1, g1 = N1(2).create_graph(float32[3])\nprint(f1, g1)\nN1(\"a\")",
       "def t1(x: int, y: float = 1) -> int { return x }", "def t1(x: int, y: float = 1) { return x, y }\nprint(t1(1, 2))\nt1(1.5)", "def r1(n) { return r1(n + 1) }\nr1(0)",
       "fs = []\nfor i in range(3) {\n  j = i * 2\n  fs.append(() => (i, j))\n}\nprint([f() for f in fs], i, j)", "module E1 {\n  def f() { return self.g() }\n  def g() { return none + 1 }\n}\nE1().f()",
       "option speed: int = 3\nprint(speed)", "def k1(a, b = 1, *c) { return a, b, c }\nprint(k1(*[1, 2, 3], 4), k1(b = 2, a = 1))\nk1()", "def o1() {\n  print(zz1)\n  zz1 = 1\n}\no1()",
       "def n1() {\n  nonlocal nowhere1\n  nowhere1 = 2\n}\nn1()", "x1 = [3, 1]\nx1.sort(key = (v) => v.no)", "print(sorted([1, 2], key = (v) => 1 // (v - 2)))", "{k9: v9 for k9, v9 in [(1, 2), (3,)]}",
       "[q9 for q9 in [1] if q9.a]", "print([1, 2] == array([1, 2]))", "if array([1, 2]) { pass }", "d1 = {\"a\": 1}\nfor k1 in d1 { d1[k1 + \"b\"] = 2 }\nprint(d1)", "x1 = [1]\nfor v1 in x1 {\n  if len(x1) < 5 { x1.append(v1) }\n}\nprint(x1)",
       "print(t)", "s1 = \"abc\"\ns1[0] = \"x\"", "(1, 2)[0] = 3", "c1 = (x) => (y) => x + y + z9\nc1(1)(2)", "test \"t\" { assert 1 == 2 }"]
COMMANDS = [":undo", ":reset", ":vars", ":undo", ":schedule", "1 +", "}", "_", "print(", "1 // 0", "for i in range(2) { i }", "\"text\"", "x = 1; y", ":help len", "[1, 2]", "none", "() => 1", ":type 1"]


def program(seed, number, own):
    return Maker(random.Random(f"{seed}:{number}"), own).program()


def run(binary, *args, text=None, folder=None):
    done = subprocess.run([binary, *args], input=text, capture_output=True, timeout=60, cwd=folder, env={**os.environ, "NO_COLOR": "1", "COLUMNS": "100", "HOME": str(folder)})
    return done.stdout, done.stderr, done.returncode


class Against:
    """Two binaries: output, errors and exit code of a file, and of its lines in the REPL."""

    def __init__(self, old, new, folder):
        self.binaries, self.folder = (old, new), folder
        (folder / "part.pxl").write_text(MODULE)

    def added(self, statements, chance):
        return statements + [(line, None) for line in chance.choice(OWN).split("\n")] if chance.random() < 0.6 else statements

    def difference(self, statements, chance_text=""):
        text = PXL_START + "\n".join(text_of(statements, 0)) + "\n"
        (self.folder / "main.pxl").write_text(text)
        got = [self.answers(binary, text, chance_text) for binary in self.binaries]
        for form, a, b in zip(("file", "REPL"), *got):
            if a != b:
                return f"as a {form}:\n--- old, exit code {a[2]}\n{a[0].decode()}{a[1].decode()}--- new, exit code {b[2]}\n{b[0].decode()}{b[1].decode()}"
        return None

    def answers(self, binary, text, commands):
        lines = text + commands
        plain = [run(binary, "main.pxl", folder=self.folder), run(binary, "-i", text=lines.encode(), folder=self.folder)]
        # How deep a recursion may go is the stack's.
        return [(out, re.sub(rb"\.\.\. \d+ more calls", b"... more calls", err), code) for out, err, code in plain]


class Twins:
    """A program and its twin in Python print the same."""

    def __init__(self, pxl, folder):
        self.pxl, self.folder = pxl, folder

    def added(self, statements, chance):
        return statements

    def difference(self, statements, _=""):
        (self.folder / "main.pxl").write_text(PXL_START + "\n".join(text_of(statements, 0)) + "\n")
        twin = PY_START + "\n".join(text_of(statements, 1)) + "\n"
        (self.folder / "main.py").write_text(twin)
        expected, raised = io.StringIO(), None
        with contextlib.redirect_stdout(expected):
            try:
                exec(compile(twin, "main.py", "exec"), {"__name__": "twin"})
            except Exception as e:  # the program's own
                raised = e
        out, err, code = run(self.pxl, "main.pxl", folder=self.folder)
        out = out.decode()
        # A text that is refused prints nothing; one that fails has printed what Python printed.
        if (raised is None) == (code == 0) and (out == expected.getvalue() or raised is not None and code in (1, 65) and not out):
            return None
        if isinstance(raised, SyntaxError):
            raise raised
        return f"--- Python{f' raised {raised!r}' if raised else ''}\n{expected.getvalue()}--- pxl, exit code {code}\n{out}{err.decode()}"


def smaller(statements):
    """Programs with one statement less, or with the statements of a block in its place."""
    for i, s in enumerate(statements):
        yield statements[:i] + statements[i + 1:]
        if s[0] == "block":
            for j, part in enumerate(s[1]):
                yield statements[:i] + list(part[2]) + statements[i + 1:]
                if j > 0:
                    yield statements[:i] + [("block", s[1][:j] + s[1][j + 1:])] + statements[i + 1:]
                for body in smaller(part[2]):
                    if body:
                        yield statements[:i] + [("block", s[1][:j] + [(part[0], part[1], body)] + s[1][j + 1:])] + statements[i + 1:]


def minimised(oracle, statements, commands, seconds=60):
    end, tried = time.monotonic() + seconds, True
    kind = kind_of(oracle.difference(statements, commands))
    while tried and time.monotonic() < end:
        tried = False
        for less in smaller(statements):
            if time.monotonic() > end:
                break
            with contextlib.suppress(SyntaxError, subprocess.TimeoutExpired):
                if kind_of(oracle.difference(less, commands)) == kind:
                    statements, tried = less, True
                    break
    return statements


def kind_of(difference):
    """The facts that stay while a program gets smaller: which run it is, and the words of the last messages."""
    if difference is None:
        return None
    errors = re.findall(r"error: (?:[^`'\d\[]{0,30})", difference) + re.findall(r"raised \w+", difference)
    return (difference.split("\n")[0][:12], tuple(errors[:2]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pxl", "--new", default=str(ROOT / "build/release/pxl"))
    parser.add_argument("--old", help="another binary, with which --pxl is compared")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", type=int)
    parser.add_argument("--failures", type=int, default=1, help="differences after which to stop")
    options = parser.parse_args()
    found = count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pxl = str(pathlib.Path(options.pxl).resolve())
        oracle = Against(str(pathlib.Path(options.old).resolve()), pxl, folder) if options.old else Twins(pxl, folder)
        end = time.monotonic() + options.seconds
        number = options.replay or 0
        while time.monotonic() < end and found < options.failures:
            chance = random.Random(f"{options.seed}:{number}:own")
            statements = oracle.added(program(options.seed, number, bool(options.old)), chance)
            commands = "".join(chance.choice(COMMANDS) + "\n" for _ in range(chance.randrange(6)))
            try:
                difference = oracle.difference(statements, commands)
            except subprocess.TimeoutExpired:
                difference = "a minute is over"
            if options.replay is not None:
                print("\n".join(text_of(statements, 0)))
            if difference:
                found += 1
                if options.replay is None:
                    statements = minimised(oracle, statements, commands)
                    difference = oracle.difference(statements, commands) or difference
                    print(f"program {number} of seed {options.seed}:\n" + "\n".join(text_of(statements, 0)))
                print(f"{difference}\n", flush=True)
            count, number = count + 1, number + 1
            if options.replay is not None:
                break
    print(f"{count} programs, {found} differences")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
