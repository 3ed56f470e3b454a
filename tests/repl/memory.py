"""Memory and time of an input that a long session of the REPL runs again and again."""
import os
import subprocess

from tests.fuzz import undo

PROGRAM = "program p {\n  variable w: float32[1024, 1024] = 1\n  stream out y = w[0, 0]\n  add_(w, 1)\n}\n"
# Texts of inputs, each with 4 MB of variables that are its own. A line that is complete is an input.
CELLS = {
    "a session": "s = Session(p())",
    "a program and its session": PROGRAM + "s = Session(p())\ns.run()",
    "a program with functions of its own": "program q {\n  variable w: float32[1024, 1024] = 1\n  def again(x) { return again }\n  module M { build(x) { return x + "
                                           "w[0, 0] }\n  }\n  held = [M(), again]\n  stream out y = w[0, 0]\n}\ns = Session(q())\ns.run()",
    "a training loop that fails": "if true {\n  s = Session(p())\n  losses = []\n  for i in range(3) {\n    losses.append(s.run().y)\n    assert i < 2\n  }\n}",
    "ops of the top level that are taken back": "if true {\n  v = variable(ones([1024, 1024]))\n  assert false\n}",
    "runs of one session": "r = t.run()",
}


class Session:
    """`pxl repl` on pipes."""

    def __init__(self, pxl):
        self.process = subprocess.Popen([str(pxl), "repl", "--no-init"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=dict(os.environ, PXL_THREADS="1"))

    def enter(self, text):
        """Runs an input, which a line of its own ends."""
        self.process.stdin.write(text + "\nprint(\"it \" + \"ended\")\n")
        self.process.stdin.flush()
        shown = ""
        while not shown.endswith("it ended\n"):
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"the session ended: {shown}")
            shown += line
        return shown

    def megabytes(self):
        with open(f"/proc/{self.process.pid}/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def seconds(self):
        """Processor time so far."""
        with open(f"/proc/{self.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def repeated(pxl, cell, inputs):
    """An input's memory stays within 1.5 times that after 20, its time within twice, and eight inputs can be undone."""
    session = Session(pxl)
    try:
        session.enter(PROGRAM + "t = Session(p())")
        taken = []
        for i in range(inputs):
            before = session.seconds()
            shown = session.enter(cell)
            taken.append(session.seconds() - before)
            if i == 19:
                first = session.megabytes()
        last = session.megabytes()
        assert last <= 1.5 * first, f"{first:.0f} MB after 20 inputs, {last:.0f} MB after {inputs}"
        tenth = max(20, inputs // 3)
        early, late = sum(taken[5:tenth]) / (tenth - 5), sum(taken[-tenth + 5:]) / (tenth - 5)
        assert late <= 2 * early + 0.01, f"{early * 1000:.1f} ms an input at first, {late * 1000:.1f} ms at last"
        shown = session.enter(":undo 8")
        assert shown.count("undone: ") == 8, shown
    finally:
        session.process.kill()
        session.process.wait()


def memory_tests(pxl, tally, parallel, inputs):
    def one(cell):
        try:
            repeated(pxl, cell, inputs)
        except AssertionError as problem:
            return str(problem)[-2000:]
        return None

    for name, problem in parallel([(f"repl: memory of {name}, {inputs} times", lambda cell=cell: one(cell)) for name, cell in CELLS.items()], 2):
        tally.add(name, problem)


def undo_tests(pxl, tally, seconds):
    sessions, inputs, problem = undo.fuzz(pxl, seconds, 1)
    tally.add(f"repl: {inputs} random inputs are undone", problem)


def long_tests(pxl, tally, parallel):
    memory_tests(pxl, tally, parallel, 1000)
    undo_tests(pxl, tally, 60)
