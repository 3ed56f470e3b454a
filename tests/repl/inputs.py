"""The REPL: what it says to inputs and commands."""
import os
import pathlib
import subprocess
import tempfile
import time

from tests.language import expectations
from tests.repl.display import DISPLAY_CASES
from tests.repl import windows
from tests.repl.keys import KEY_CASES
from tests.repl.memory import memory_tests, undo_tests
from tests.repl.terminal import MORE, PROGRAM, PROMPT, Terminal, contains, lacks, pexpect, same


def values(pxl, home):
    t = Terminal(pxl, home)
    contains(t.banner, ":help", ":tour")
    same(t.enter("-7 // 2"), "-4")
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
    shown = t.enter("list(range(100000))")
    contains(shown, "[0, 1, 2", "... 100000 elements; `print` shows all")
    assert len(shown) < 4500, len(shown)
    contains(t.enter("Linear(3)"), "the library has it: `from nn import Linear`")
    contains(t.enter("x +", MORE), "")
    same(t.enter("4"), "7")
    assert t.leave() == 0


def start_up_is_quick(pxl, home):
    times = []
    for _ in range(5):
        t = Terminal(pxl, home)
        times.append(time.time() - t.started)
        t.leave()
    # The process and the terminal around it, beside what else runs.
    assert min(times) < 0.2 * (1 + os.getloadavg()[0]), times
    # The process alone, by the processor's time, up to where the prompt would stand.
    taken = []
    for _ in range(5):
        process = subprocess.Popen([str(pxl), "repl", "--no-init"], cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        taken.append(usage.ru_utime + usage.ru_stime)
    assert min(taken) < 0.05, taken


def top_level_program(pxl, home):
    """A session takes the program `main` as it is; more may be added, and belongs to the next session."""
    t = Terminal(pxl, home, columns=200)
    t.enter("variable W: float32[2] = [1, 2]")
    t.enter("stream out y = W * 2")
    t.enter("s = Session(main)")
    same(t.enter("s.run()"), "y: [2. 4.]")
    same(t.enter("eval(W * 3)"), "float32[2]\n[3. 6.]")
    same(t.enter("s.run().y"), "float32[2]\n[2. 4.]")
    t.enter("stream out z = W + 1")
    shown = t.enter("s.run().y")
    contains(shown, "session.run: an op of program main (from [7]:1 on) came after the session was made, and is not run",
             "`Session(main)`", "[2. 4.]")
    same(t.enter("s.run().y"), "float32[2]\n[2. 4.]")
    contains(t.enter("s.run().z"), "the stream was added to the program after the session was made")
    same(t.enter("Session(ir).run()"), "y: [2. 4.]\nz: [2. 3.]")
    contains(t.enter("stream out y = W"), "stream out y: the name is declared twice in program main", "first declared at [2]:1:12")
    same(t.enter(":undo"), "undone: Session(ir).run()")
    t.enter("variable W: float32[2] = 5")
    same(t.enter("eval(W)"), "float32[2]\n[5. 5.]")
    same(t.enter("q = 3 # is this a comment?"), "")
    same(t.enter("q"), "3")
    same(t.enter('"why?"'), "'why?'")
    contains(t.enter("gelu?"), "gelu(")
    contains(t.enter("?gelu"), "gelu(")
    assert t.leave() == 0


def eval_runs_what_is_needed(pxl, home):
    t = Terminal(pxl, home)
    t.enter("variable w: float32[2] = [1, 2]")
    t.enter('print_tensor(w, "unrelated")')
    t.enter("stream in x: float32[2]")
    t.enter("h = host_load(x)")
    before = t.enter(":schedule")
    same(t.enter("eval(w)"), "float32[2]\n[1. 2.]")
    t.enter("y = w * 3")
    same(t.enter("eval(y)"), "float32[2]\n[3. 6.]")
    same(t.enter(":eval y"), "float32[2]\n[3. 6.]")
    t.enter('def step(a) { return a * 2, print_tensor(a, "inside") }')
    t.enter("def body(a) { return step(a)[0] }")
    same(t.enter("eval(repeat(ir.create_graph(body, float32[2]), 3, w))"), "float32[2]\n[ 8. 16.]")
    contains(t.enter('eval(print_tensor(y, "wanted"))'), "wanted: [3.0 6.0]", "float32[2]\n[3. 6.]")
    contains(t.enter("eval(h)"), "depends on the stream `x`", "eval(t, x = ...)")
    same(t.enter("eval(h, x = [7, 8])"), "float32[2]\n[7. 8.]")
    t.enter(":nancheck on")
    contains(t.enter("eval(log(w - 2))"), "NaN")
    t.enter(":nancheck off")
    lacks(before, "HostStore")
    assert t.leave() == 0


def weights_that_are_kept_in_another_form(pxl, home):
    """A session prepares weights once. An input that is undone, or fails, gives their values of before."""
    t = Terminal(pxl, home)
    t.paste("program p() {\n  stream in x: float32[8, 96]\n  variable w: float32[96, 96] = 0.5\n  h = host_load(x)\n  stream out y = h @ w + h @ tanh(w)\n}\nir = p()")
    t.paste("s = Session(ir)\nshown = () => s.run(x = ones([8, 96])).y[0, 0]")
    first = t.enter("shown()")
    t.enter("s.write_variable_data(ir.w, full([96, 96], 2.0))")
    second = t.enter("shown()")
    assert first != second, first
    t.enter(":undo 2")
    same(t.enter("shown()"), first)
    contains(t.paste("s.write_variable_data(ir.w, full([96, 96], 2.0))\nshown()\nnothing"), "unknown name")
    same(t.enter("shown()"), second)
    t.enter(":undo 2")
    same(t.enter("shown()"), first)
    assert t.leave() == 0


def remedies_of_mistakes(pxl, home):
    """An error of an input has the remedy that it has in a file."""
    t = Terminal(pxl, home)
    contains(t.enter("for i in 3 { print(i) }"), "an int is not iterable", "`range(3)`")
    t.enter("program p { stream out y = constant(1.0) }")
    contains(t.enter("p.run()"), "no member `run`", "`Session(p()).run(")
    assert t.leave() == 0


def outer_names(pxl, home):
    """A function binds a name of the session by `nonlocal`."""
    t = Terminal(pxl, home)
    t.enter("best = 10")
    t.enter("def lower(x) { if x < best { best = x } }")
    contains(t.enter("lower(3)"), "`best` is read before this body binds it", "`nonlocal best` at its beginning")
    t.enter("def lower(x) {", MORE)
    t.enter("nonlocal best", MORE)
    t.enter("if x < best { best = x }", MORE)
    t.enter("}")
    t.enter("lower(3)")
    same(t.enter("best"), "3")
    t.enter("best = 7")
    t.enter("lower(5)")
    same(t.enter("best"), "5")
    assert t.leave() == 0


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
    contains(" ".join(shown.split()), "what the input added to graphs is taken back; values and sessions stay as they were when it stopped; "
             "`:undo` takes back the whole input")
    same(t.enter("xs"), "[1, 2]")
    contains(t.enter("z + 1"), "`relu_out` was taken back with the input or the block that")
    t.enter(":undo")
    same(t.enter(":undo"), "undone: z = relu(y) ...")
    same(t.enter("xs"), "[1]")
    lacks(t.enter("x ="[:1] + " = = 2"), "`:undo` takes back")
    # Trees of many names and their subtrees, too.
    t.paste('tree = DotTree()\nfor i in range(40) { tree.insert(f"n{i}.leaf", i) }')
    contains(t.paste('tree.insert("more", 1)\ntree.pop("n3")\ntree.clear()\nnothing + 1'), "unknown name", "values and sessions stay")
    same(t.enter(":undo"), 'undone: tree.insert("more", 1) ...')
    same(t.enter('[tree.n3.leaf, tree.n39.leaf, "more" in tree, len(tree)]'), "[3, 39, false, 40]")
    t.enter(":undo")
    t.enter(":undo")
    contains(t.enter("z"), "unknown name `z`")
    same(t.enter(":undo"), "undone: xs")
    same(t.enter(":undo"), "undone: xs = [1]")
    same(t.enter(":undo"), "undone: y = w + 1")
    lacks(t.enter(":schedule"), "Add")
    t.enter(":undo")
    contains(t.enter(":undo"), "nothing to undo")
    contains(t.enter(":schedule"), "the top level has no graph")
    t.leave()


def help_and_questions(pxl, home):
    t = Terminal(pxl, home)
    contains(t.enter(":help"), ":schedule [GRAPH]", ":undo", "softmax", "library", "nn")
    contains(t.enter("gelu?"), "gelu(t)", "formula", "example", "GeluGrad", "definition", "void gelu(ReferenceContext& c) {")
    contains(t.enter("?softmax"), "softmax(t, axis")
    contains(t.enter(":help nn.Linear"), "module Linear(out_features: int", "A dense layer")
    contains(t.enter(":help undo"), "undo the last input")
    contains(t.enter(":help :undo"), "undo the last input")
    contains(t.enter("stream?"), "data between host")
    contains(t.enter("?sofmax"), "did you mean `softmax`?")
    t.enter("xs = [1, 2]")
    contains(t.enter("xs?"), "xs: list of 2", "append")
    contains(t.enter("xs.append?"), "append(item)", "Adds an element at the end.")
    contains(t.enter(":help Session.run"), "session.run(data = none", "Runs the program once.", "array([1., 4.], float32)")
    contains(t.enter("?backward"), "call_info.backward(dy = none, wanted = none)")
    contains(t.enter(":help call info"), "members of call_info:", "parent_to_graph()")
    contains(t.enter("?str"), "str(x = ", "members of str: upper()")
    contains(t.enter("?split"), "see also  str.split")
    contains(t.enter("?str.splitt"), "did you mean `str.split`?")
    contains(t.enter(":scedule"), "did you mean `schedule`?")
    contains(t.enter(":t"), "is ambiguous: :tour, :type, :tiles, :time")
    same(t.enter(":ty 1"), "int")
    t.leave()


def commands_asked_wrongly(pxl, home):
    """A command's answer to arguments that are missing, wrong or too many."""
    t = Terminal(pxl, home, columns=200)
    contains(t.enter(":"), "name is missing", ":undo")
    contains(t.enter(":quit now"), ":quit: unexpected argument `now`")
    contains(t.enter(":eval"), "there is no last value")
    shown = t.enter(":eval nothing")
    contains(shown, "unknown name `nothing`")
    lacks(shown, "eval(")
    contains(t.enter(":type"), ":type: an expression is required")
    contains(t.enter(":vars"), "no names are defined")
    contains(t.enter(":schedule"), "it has no ops")
    contains(t.enter(":grad 3"), "[aside]:1:1: error: autodiff takes a graph, got an int [type]\n    1 | 3\n")
    contains(t.enter(":memory 3"), ":memory: expected a session, got an int")
    contains(t.enter(":time x0 1"), "the number of runs must be from 1 to")
    contains(t.enter(":time x99999999 1"), "to 1000000")
    contains(t.enter(":time x3"), "unknown name `x3`")
    contains(t.enter(":break matmull"), "did you mean `matmul`?")
    contains(t.enter(":break nothing"), "unknown op `nothing`")
    contains(t.enter(":undo x"), ":undo: expected a number")
    contains(t.enter(":help no_such_thing"), "members such as str.split, modules and keywords")
    contains(t.enter("?@"), "the op `matmul`")
    shown = t.enter("nn?")
    contains(shown, "module Linear(out_features: int", "A dense layer", "nn.NAME")
    lacks(shown, "run_module")
    t.enter("first = 1")
    t.enter("second = 2")
    t.enter("third = 3")
    lacks(t.enter(":vars ir"), "second")
    contains(t.enter(":vars zzz"), "no name contains `zzz`")
    same(t.enter(":undo 2"), "undone: third = 3\nundone: second = 2")
    contains(t.enter(":help"), "functions, types and constants", "check_grad", "keywords", "outlined")
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
    contains(t.enter(":graphs"), "1 output, 2 ops, called 0 times")
    contains(t.enter(":graph graph"), "digraph", "MatMul.100")
    same(t.enter(":graph graph net.svg"), "written to net.svg")
    contains((home / "net.svg").read_text(), "<svg", "MatMul")
    same(t.enter(":graph graph net.dot"), "written to net.dot")
    same(t.enter(":graph graph net.html"), "written to net.html")
    assert (home / "net.dot").read_text().startswith("digraph")
    t.enter("session.write_variable_data(session.ir.w, [5.0, 7.0])")
    same(t.enter(":graph session net.html"), "written to net.html")
    contains((home / "net.html").read_text(), '"least":5.0,"most":7.0')
    lacks((home / "net.html").read_text(), '"pass":"fuse_elementwise"')
    same(t.enter(":graph session net.html --passes --machine mk2"), "written to net.html")
    contains((home / "net.html").read_text(), '"pass":"fuse_elementwise"', '"machine":"mk2"')
    contains(t.enter(":graph graph --depth 0"), "digraph")
    contains(t.enter(":graph graph net.svg --passes"), "are for a page")
    contains(t.enter(":graph --depht 1"), "`--depht` is no option")
    contains(t.enter(":memory"), "session: variables 8 bytes")
    contains(t.enter(":tiles session"), "cycles")
    contains(t.enter(":tiles session"), "bytes sent")
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
    same(t.enter("other"), "2")
    same(t.enter(":undo 2"), "undone: other\nundone: other = 2 ...")
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
    contains(shown, "[", "End of the tour")
    lacks(shown, "error")
    contains(t.enter("session"), "unknown name")
    t.enter(":tour", "tour> ")
    contains(t.enter("q"), "tour ended")
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
    contains(t.enter("session.run(x = [1, -1])"), "[1]:3:7: error: `log(host_load(x))` makes NaN", "from -1 to 1", "1 of 2 elements NaN")
    t.enter(":nancheck off")
    contains(t.enter(":engine"), f"* {expectations.engine()}")
    contains(t.enter(":engine reference"), "* reference")
    contains(t.enter(":engine other"), "unknown engine")
    t.enter(f":engine {expectations.engine()}")
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
    t.enter("program twins with replicated(2) { stream in x: float32[]; stream out y = replicated_all_reduce(host_load(x)) }".replace("; ", "\n"))
    t.enter("both = Session(twins())")
    t.enter(":break replicated_all_reduce")
    contains(t.enter("both.run(x = [1, 2])", "step> "), "replica 0: ReplicatedAllReduce.", "replica 1: ReplicatedAllReduce.", "-> replica 0")
    contains(t.enter("", "step> "), "-> replica 1")
    contains(t.enter("c"), "3.")
    t.enter(":break clear")
    t.leave()


def not_a_terminal(pxl, home):
    done = subprocess.run([str(pxl), "repl", "--no-init"], input="x = 2\ndef f(a) {\n  return a * x\n}\nf(21)\n:vars\n", text=True,
                          capture_output=True, timeout=120, cwd=home)
    same(done.stdout.split("\n")[0], "42")
    lacks(done.stdout, "\x1b")
    lacks(done.stdout, "pxl>")
    assert done.returncode == 0


def profile(pxl, home):
    """`:profile INPUT` is of the input, and `:profile` of the runs since the last one."""
    t = Terminal(pxl, home, columns=160)
    for line in ("variable W: float32[64, 64] = 0.5", "stream out y = W @ W", "s = Session(main)"):
        t.enter(line)
    contains(t.enter(":profile s.run().y[0, 0]"), "16.0\nprofile of main: 1 run in ", "[2]:1: MatMul", "total of 1 kernel", "100.0%", "memory: ")
    t.enter("for i in range(5) { s.run() }")
    contains(t.enter(":profile"), "profile of main: 5 runs in ")
    same(t.enter(":profile"), "no session has run since it is measured: sessions are measured from now on")
    same(t.enter(":profile 1 + 1"), "2\nno session ran")
    contains(t.enter(":profile Session(main).run().y[0, 0]"), "profile of main: 1 run in ")
    contains(t.enter(":profile nothing_here"), "unknown name `nothing_here`")
    assert t.leave() == 0


CASES = [values, remedies_of_mistakes, outer_names, start_up_is_quick, top_level_program, weights_that_are_kept_in_another_form, eval_runs_what_is_needed, failed_input, help_and_questions, commands_asked_wrongly, explanations, graphs, files, start_up_file, tour, debugging, profile, not_a_terminal]


# Those whose answers an engine computes.
RUNNING = [values, top_level_program, eval_runs_what_is_needed, graphs, files, tour, debugging, not_a_terminal]


def repl_tests(pxl, tally, parallel, engine=None):
    if pexpect is None:
        tally.skip("repl", "no pexpect (package python3-pexpect)")
        return

    def one(program, case):
        # A program whose terminal has gone may still write its history.
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            try:
                case(program, pathlib.Path(folder))
            except Exception as problem:  # an expectation, or a terminal that says nothing
                return f"{type(problem).__name__}: {problem}"[-3000:]
        return None

    if engine:
        jobs = [(f"repl, {engine}: {case.__name__}", lambda case=case: one(pxl, case)) for case in RUNNING]
    else:
        jobs = [(f"repl: {case.__name__}", lambda case=case: one(pxl, case)) for case in CASES + DISPLAY_CASES + KEY_CASES]
        if windows.available():
            jobs += [(f"repl in tmux: {case.__name__}", lambda case=case: one(pxl, case)) for case in windows.WINDOW_CASES]
        else:
            tally.skip("repl in tmux", "no tmux (package tmux)")
    if not engine and (libedit := pxl.parent / "pxl-libedit").exists():
        jobs += [(f"repl with libedit: {case.__name__}", lambda case=case: one(libedit, case)) for case in KEY_CASES]
        if windows.available():
            jobs += [(f"repl with libedit in tmux: {case.__name__}", lambda case=case: one(libedit, case)) for case in windows.WINDOW_CASES]
    for name, problem in parallel(jobs, 2):
        tally.add(name, problem)
    if not engine:
        memory_tests(pxl, tally, parallel, 60)
        undo_tests(pxl, tally, 3)
