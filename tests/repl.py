"""The REPL, driven through a real terminal (python3-pexpect): keys in, what appears out."""
import os
import pathlib
import re
import subprocess
import tempfile
import time

try:
    import pexpect
except ImportError:
    pexpect = None

ROOT = pathlib.Path(__file__).resolve().parent.parent
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PROMPT, MORE = "pxl> ", r"\.\.\.> "

PROGRAM = """program train {
  stream in x: float32[2]
  variable w: float32[2] = 0
  with in_sequence() {
    scaled_add_(w, host_load(x), b = 1.0)
    stream out y = w + 0
  }
}
session = Session(train())
"""


class Terminal:
    """A REPL in a terminal, in a home folder of its own."""

    def __init__(self, pxl, home, *arguments, columns=80, env=None, prompt=PROMPT):
        environment = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "TERM": "xterm", "NO_COLOR": "1",
                       "LANG": "C.UTF-8", "PXL_DATA": "built-in", **(env or {})}
        self.started = time.time()
        self.child = pexpect.spawn(str(pxl), list(arguments), env={k: v for k, v in environment.items() if v is not None},
                                   encoding="utf-8", timeout=10, dimensions=(24, columns), cwd=str(home))
        self.child.delaybeforesend = None
        self.prompt = prompt
        self.banner = self.wait(prompt)

    def wait(self, pattern):
        """What appeared before the pattern, without escapes."""
        self.child.expect(pattern)
        return ESCAPES.sub("", self.child.before).replace("\r", "")

    def send(self, keys):
        self.child.send(keys)

    def enter(self, line, until=None):
        """What the REPL says to one line."""
        self.child.send(line + "\r")
        shown = self.wait(until or self.prompt)
        # The terminal's echo of the keys comes first.
        return shown.split("\n", 1)[1] if "\n" in shown else shown

    def paste(self, text):
        self.child.send("\x1b[200~" + text + "\x1b[201~\r")
        return self.wait(self.prompt)

    def completed(self, keys, until):
        self.child.send(keys + "\t")
        self.wait(until)
        self.child.sendintr()
        self.wait(self.prompt)

    def listed(self, keys):
        """The list that two tabs show."""
        self.child.send(keys + "\t\t")
        self.wait(re.escape(keys[-3:]))
        shown = self.wait(re.escape(self.prompt))
        self.child.sendintr()
        self.wait(re.escape("^C"))
        self.wait(self.prompt)
        return shown

    def leave(self):
        self.child.sendeof()
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


def same(got, wanted, what=""):
    if got.strip() != wanted.strip():
        raise AssertionError(f"{what}\nexpected\n{wanted}\ngot\n{got}")


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"no `{part}` in\n{text}")


def lacks(text, part):
    if part in text:
        raise AssertionError(f"`{part}` in\n{text}")


def values(pxl, home):
    t = Terminal(pxl, home)
    contains(t.banner, ":help", ":tour")
    same(t.enter("1 + 2"), "3")
    same(t.enter("_ * 2"), "6")
    same(t.enter("x = 3"), "")
    same(t.enter("x;"), "")
    same(t.enter("_"), "3")
    same(t.enter('print("hello")'), "hello")
    same(t.enter("array([[1.0, 2.0]])"), "float32[1, 2]\n[[1. 2.]]")
    same(t.enter("variable w: float32[2] = 3"), "")
    same(t.enter("w + 1"), "Tensor[add_out float32 (2,)]")
    same(t.enter(":eval"), "float32[2]\n[4. 4.]")
    same(t.enter("eval(w * 2)"), "float32[2]\n[6. 6.]")
    same(t.enter(":type w @ w.T"), "tensor float32[]")
    contains(t.enter("x +", MORE), "")
    same(t.enter("4"), "7")
    assert t.leave() == 0


def start_up_is_quick(pxl, home):
    times = []
    for _ in range(5):
        t = Terminal(pxl, home)
        times.append(time.time() - t.started)
        t.leave()
    # The process and the terminal around it; less where nothing else runs.
    assert min(times) < 0.2, times
    # The process alone, by the processor's time, up to where the prompt would stand.
    taken = []
    for _ in range(5):
        process = subprocess.Popen([str(pxl), "repl", "--no-init"], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        taken.append(usage.ru_utime + usage.ru_stime)
    assert min(taken) < 0.05, taken


def several_lines(pxl, home):
    t = Terminal(pxl, home)
    t.enter("def f(x) {", MORE)
    t.enter("  return x + 1", MORE)
    same(t.enter("}"), "")
    same(t.enter("f(", MORE), "")
    same(t.enter("1)"), "2")
    t.enter('s = """a', MORE)
    t.enter('b"""')
    same(t.enter("s"), "'a\\nb'")
    # An empty line ends the wait after an operator; Ctrl-C gives up what is pending, Ctrl-D too.
    t.enter("1 +", MORE)
    contains(t.enter(""), "error")
    t.enter("if true {", MORE)
    t.child.sendintr()
    t.wait(PROMPT)
    same(t.enter("5"), "5")
    t.enter("if true {", MORE)
    t.child.sendeof()
    t.wait(PROMPT)
    same(t.enter("6"), "6")
    t.leave()


def pasting(pxl, home):
    t = Terminal(pxl, home)
    shown = t.paste(PROGRAM + "print(session.run(x = [1, 2]).y)\nsession.run(x = [1, 2]).y")
    contains(shown, "[1. 2.]", "float32[2]\n[2. 4.]")
    # Recalled as one input.
    t.send("\x1b[A\r")
    contains(t.wait(PROMPT), "[1. 2.]")
    # A transcript, prompts and all.
    t.send("\x1b[200~pxl> a = 20\npxl> def g(x) {\n...>   return x + a\n...> }\nthis is output\npxl> g(22)\x1b[201~\r")
    t.wait("42\r\n")
    t.leave()


def failed_input(pxl, home):
    t = Terminal(pxl, home)
    t.enter("variable w: float32[2] = 3")
    t.enter("y = w + 1")
    t.enter("xs = [1]")
    before = t.enter(":schedule")
    contains(before, "Add.100")
    shown = t.paste("z = relu(y)\nxs.append(2)\nnothing + 1")
    contains(shown, "[4]:3:1: error: unknown name `nothing`")
    same(t.enter(":schedule"), before)
    same(t.enter("xs"), "[1]")
    contains(t.enter("x ="[:1] + " = = 2"), "error")
    contains(t.enter("z"), "unknown name `z`")
    same(t.enter(":undo"), "taken back: xs")
    same(t.enter(":undo"), "taken back: xs = [1]")
    same(t.enter(":undo"), "taken back: y = w + 1")
    lacks(t.enter(":schedule"), "Add")
    t.enter(":undo")
    contains(t.enter(":undo"), "nothing to take back")
    contains(t.enter(":schedule"), "no graph yet")
    t.leave()


def interrupts(pxl, home):
    t = Terminal(pxl, home)
    # At the prompt the line is given up.
    t.send("abandoned")
    t.wait("abandoned")
    t.child.sendintr()
    t.wait(PROMPT)
    same(t.enter("1"), "1")
    # During work it stops within 100 ms, and what had been computed stays.
    t.enter("n = 0")
    t.send("while true { n = n + 1 }\r")
    time.sleep(0.3)
    at = time.time()
    t.child.sendintr()
    shown = t.wait(PROMPT)
    assert time.time() - at < 0.1 + 0.2, time.time() - at  # the terminal's share included
    contains(shown, "interrupted", "kept")
    same(t.enter("n > 0"), "true")
    # During training: the variables are those of a whole run.
    t.paste(PROGRAM)
    t.send("for i in range(100000000) { session.run(x = [1, 2]) }\r")
    time.sleep(0.5)
    t.child.sendintr()
    contains(t.wait(PROMPT), "interrupted")
    same(t.enter("w = session.run(x = [0, 0]).y"), "")
    same(t.enter("bool(w[0] > 10) and bool(w[1] == 2 * w[0])"), "true")
    # Twice is no more than once.
    t.send("while true { }\r")
    time.sleep(0.1)
    t.child.sendintr()
    t.child.sendintr()
    t.wait(PROMPT)
    same(t.enter("7"), "7")
    t.leave()


def completion(pxl, home):
    (home / "folder").mkdir()
    (home / "script.pxl").write_text("loaded = 5\n")
    (home / "notes.txt").write_text("")
    t = Terminal(pxl, home)
    t.paste(PROGRAM)
    t.enter("numbers = [3, 4]")
    same(t.enter("numb\t[1]"), "4")
    same(t.enter("numbers.app\t(5)"), "")
    same(t.enter("len(numbers)"), "3")
    same(t.enter("session.run(\t[1, 2]).y"), "float32[2]\n[1. 2.]")
    contains(t.listed("soft"), "softmax(t, axis", "softplus(t)")
    contains(t.listed(":t"), "tour", "time", "type")
    same(t.enter(":load scr\t"), "")
    same(t.enter("loaded"), "5")
    contains(t.listed("ops.var_updates.accumulate_m"), "accumulate_mean_", "accumulate_moving_average_")
    # Tab at the beginning of a line indents.
    t.enter("if true {", MORE)
    t.enter("\tprint(8)", MORE)
    contains(t.enter("}"), "8")
    t.leave()


def help_and_questions(pxl, home):
    t = Terminal(pxl, home)
    contains(t.enter(":help"), ":schedule [GRAPH]", ":undo", "softmax", "library", "nn")
    contains(t.enter("gelu?"), "gelu(t)", "formula", "example", "GeluGrad")
    contains(t.enter("?softmax"), "softmax(t, axis")
    contains(t.enter(":help nn.Linear"), "module Linear(out_features: int", "A dense layer")
    contains(t.enter(":help undo"), "takes the last input back")
    contains(t.enter(":help :undo"), "takes the last input back")
    contains(t.enter("stream?"), "between host and device")
    contains(t.enter("?sofmax"), "did you mean `softmax`?")
    t.enter("xs = [1, 2]")
    contains(t.enter("xs?"), "xs: list of 2", "append")
    contains(t.enter(":scedule"), "did you mean `schedule`?")
    contains(t.enter(":t"), "may be :tour, :type, :tiles, :time")
    same(t.enter(":ty 1"), "int")
    t.leave()


def explanations(pxl, home):
    t = Terminal(pxl, home)
    contains(t.enter(":explain"), "no error yet")
    contains(t.enter("ones([2, 3]) @ ones([2, 3])"), "inner dimensions differ")
    contains(t.enter(":explain"), "shape\n", "x @ w", "equal inner dimensions: `transpose`")
    contains(t.enter(":explain shap"), "did you mean `shape`?")
    t.send(":explain no-v\t\r")
    contains(t.wait(PROMPT), "conditional")
    t.leave()


def graphs(pxl, home):
    t = Terminal(pxl, home)
    t.paste(PROGRAM + "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])")
    contains(t.enter("graph"), "Graph : Linear_subgraph(0)", "MatMul.100")
    contains(t.enter(":schedule session"), "ScaledAdd")
    contains(t.enter(":schedule train"), "ScaledAdd")
    contains(t.enter(":graphs"), "Linear_subgraph(0)", "top level", "session (train)")
    contains(t.enter(":grad graph"), "Linear_subgraph(0)_bwd", "MatMul")
    lacks(t.enter(":graphs"), "bwd")
    contains(t.enter(":dot graph"), "digraph", "MatMul.100")
    same(t.enter(":dot graph net.dot"), "written to net.dot")
    assert (home / "net.dot").read_text().startswith("digraph")
    contains(t.enter(":memory"), "session: variables 8 bytes")
    contains(t.enter(":tiles session"), "cycles")
    contains(t.enter(":schedule nothing"), "unknown name")
    contains(t.enter(":schedule 3"), "error")
    contains(t.enter(":vars"), "session", "session of train on ipu_model", "graph Linear_subgraph(0)")
    t.leave()


def files(pxl, home):
    (home / "a.pxl").write_text("count = 1\ndef twice(x) { return 2 * x }\n")
    (home / "bad.pxl").write_text("other = 2\nnothing\n")
    t = Terminal(pxl, home)
    same(t.enter(":load a.pxl"), "")
    same(t.enter("twice(count)"), "2")
    contains(t.enter(":load bad.pxl"), "bad.pxl:2:1: error: unknown name `nothing`")
    contains(t.enter("other"), "unknown name `other`")
    contains(t.enter(":load none.pxl"), "cannot read `none.pxl`")
    t.enter("more = twice(4)")
    same(t.enter(":save saved.pxl"), "3 inputs in saved.pxl")
    contains(t.enter(":save nowhere/saved.pxl"), "error")
    (home / "a.pxl").write_text("count = 10\n")
    contains(t.enter(":reload"), "a.pxl")
    same(t.enter("count"), "10")
    contains(t.enter("more"), "unknown name `more`")
    t.enter(":reset")
    contains(t.enter("count"), "unknown name `count`")
    same(t.enter(":load saved.pxl"), "")
    same(t.enter("more"), "8")
    contains(t.enter(":time 1 + 1"), "2", "s")
    contains(t.enter(":time x10 count + 1"), "10 runs: mean")
    t.leave()
    # A file on the command line, then the prompt; the status of `exit`.
    t = Terminal(pxl, home, "-i", "saved.pxl")
    same(t.enter("more"), "8")
    t.send("exit(3)\r")
    t.child.expect(pexpect.EOF)
    t.child.close()
    assert t.child.exitstatus == 3, t.child.exitstatus


def history_across_starts(pxl, home):
    state = home / "state"
    t = Terminal(pxl, home, env={"XDG_STATE_HOME": str(state)})
    t.enter("first = 11")
    t.paste("def f(x) {\n  return x * first\n}\nf(2)")
    t.leave()
    assert (state / "pxl/history").stat().st_mode & 0o077 == 0
    t = Terminal(pxl, home, env={"XDG_STATE_HOME": str(state)})
    t.send("\x1b[A")
    t.wait(re.escape("f(2)"))
    t.send("\x1b[A\r")
    t.wait(PROMPT)
    same(t.enter("first"), "11")
    # Incremental search.
    t.send("\x12return")
    time.sleep(0.2)
    t.send("\r")
    contains(t.wait(PROMPT), "22")
    contains(t.enter(":history first"), "first = 11")
    t.leave()


def start_up_file(pxl, home):
    (home / "config/pxl").mkdir(parents=True)
    (home / "config/pxl/init.pxl").write_text("greeting = \"hello\"\n")
    env = {"XDG_CONFIG_HOME": str(home / "config")}
    t = Terminal(pxl, home, env=env)
    same(t.enter("greeting"), "'hello'")
    t.leave()
    t = Terminal(pxl, home, "repl", "--no-init", env=env)
    contains(t.enter("greeting"), "unknown name")
    t.leave()
    (home / "config/pxl/init.pxl").write_text("nothing\n")
    t = Terminal(pxl, home, env=env)
    contains(t.banner, "init.pxl:1:1: error")
    same(t.enter("1"), "1")
    t.leave()


def colours(pxl, home):
    t = Terminal(pxl, home, env={"NO_COLOR": None}, prompt=r"pxl>\x1b\[0m ")
    t.send("x = 1 if true else none\r")
    t.child.expect(t.prompt)  # the echo's
    t.child.expect(t.prompt)
    contains(t.child.before, "\x1b[35mif\x1b[0m", "\x1b[36m1\x1b[0m")
    for line in ("variable w: float32[2] = 0", "y = w + 1"):
        t.send(line + "\r")
        t.child.expect(t.prompt)
        t.child.expect(t.prompt)
    t.send(":schedule\r")
    t.child.expect(t.prompt)
    contains(t.child.before, "\x1b[33mAdd\x1b[0m.100", "\x1b[36m%1\x1b[0m")
    t.leave()
    # No escapes where they are not wanted.
    t = Terminal(pxl, home, env={"TERM": "dumb", "NO_COLOR": None})
    t.send("1 if true else none\r")
    t.child.expect(PROMPT)
    lacks(t.child.before.replace("\x1b[?2004l", "").replace("\x1b[?2004h", ""), "\x1b[")
    t.leave()


def narrow_terminals(pxl, home):
    for columns in (20, 7, 1):
        t = Terminal(pxl, home, columns=columns, prompt="> ?")
        t.child.expect(".*")
        t.send("xs = [1000000, 2000000, 3000000, 4000000]\r")
        t.send(":vars\r")
        t.send(":help\r")
        t.send("softm\t\t(xs)\r")
        t.send("print(12345 + 1)\r")
        t.child.expect("12346" if columns > 6 else "1.*2.*3.*4.*6")
        t.send("exit(0)\r")
        t.child.expect(pexpect.EOF)
        t.child.close()
        assert t.child.exitstatus == 0, t.child.exitstatus


def tour(pxl, home):
    t = Terminal(pxl, home)
    shown = t.enter(":tour", "tour> ")
    contains(shown, "1/", "array([[1.0, 2.0]")
    last = ""
    for _ in range(9):
        last = t.enter("", "tour> ")
        lacks(last, "error")
    contains(last, "Session(train())")
    # Something else is tried, and the stop stays.
    contains(t.enter("session = 3\r"[:-1], "tour> "), "")
    shown = t.enter("")
    contains(shown, "[", "That was the tour")
    lacks(shown, "error")
    contains(t.enter("session"), "unknown name")
    t.enter(":tour", "tour> ")
    contains(t.enter("q"), "left the tour")
    t.leave()


def debugging(pxl, home):
    t = Terminal(pxl, home)
    t.paste("""program p {
  stream in x: float32[2]
  y = log(host_load(x))
  stream out z = y * 2
}
session = Session(p())""")
    contains(t.enter(":nancheck"), "off")
    contains(t.enter(":nancheck on"), "on")
    contains(t.enter("session.run(x = [1, -1])"), "[1]:3:7: error: Log.", "makes NaN", "from -1 to 1", "1 of 2 elements NaN")
    t.enter(":nancheck off")
    shown = t.enter(":step session.run(x = [1, 2])", "step> ")
    contains(shown, "Log.", "[1]:3", "from 1 to 2")
    contains(t.enter("p", "step> "), "float32[2]", "0.693147")
    contains(t.enter("what", "step> "), "the next op")
    contains(t.enter("", "step> "), "Mul.")
    contains(t.enter("c"), "1.386294")
    contains(t.enter(":break mul"), "mul")
    contains(t.enter("session.run(x = [1, 2])", "step> "), "Mul.")
    contains(t.enter("q"), "interrupted")
    contains(t.enter(":break clear"), "no breakpoints")
    contains(t.enter("session.run(x = [1, 2])"), "1.386294")
    t.leave()


def not_a_terminal(pxl, home):
    done = subprocess.run([str(pxl), "repl", "--no-init"], input="x = 2\ndef f(a) {\n  return a * x\n}\nf(21)\n:vars\n", text=True,
                          capture_output=True, timeout=20, cwd=home)
    same(done.stdout.split("\n")[0], "42")
    lacks(done.stdout, "\x1b")
    lacks(done.stdout, "pxl>")
    assert done.returncode == 0


CASES = [values, start_up_is_quick, several_lines, pasting, failed_input, interrupts, completion, help_and_questions, explanations, graphs, files,
         history_across_starts, start_up_file, colours, narrow_terminals, tour, debugging,
         not_a_terminal]


def repl_tests(pxl, tally, parallel):
    if pexpect is None:
        tally.skip("repl", "no pexpect (package python3-pexpect)")
        return

    def one(case):
        with tempfile.TemporaryDirectory() as folder:
            try:
                case(pxl, pathlib.Path(folder))
            except Exception as problem:  # an expectation, or a terminal that says nothing
                return f"{type(problem).__name__}: {problem}"[-3000:]
        return None

    for name, problem in parallel([(f"repl: {c.__name__}", lambda c=c: one(c)) for c in CASES], 2):
        tally.add(name, problem)
