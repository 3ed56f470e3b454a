"""Keys pressed in the REPL, with each line editor. Both editors are held to the same expectations; where
they differ, docs/repl.md says so."""
import re
import time

from tests.repl.terminal import MORE, PROGRAM, PROMPT, Screen, Terminal, contains, editor_of, lacks, pexpect, same


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
    same(t.enter("session.run(x = [0, 0])"), "y: [2. 4.]")
    # A transcript, prompts and all.
    t.send("\x1b[200~pxl> a = 20\npxl> def g(x) {\n...>   return x + a\n...> }\nthis is output\npxl> g(22)\x1b[201~\r")
    t.wait("42\r\n")
    t.wait(PROMPT)
    # Tabs and other keys of the editor are text there, the mark of a paste's end apart.
    contains(t.paste('len("a\tb\x12c")'), "5")
    # If the terminal marks no paste, the parser decides line by line.
    t.send("def h(x) {\r  return x * 2\r}\rh(50)\r")
    t.wait("100\r\n")
    t.wait(PROMPT)
    t.leave()


def stopped(t, loop):
    """The output of a loop that is interrupted after it has printed "begun"; it takes less than 100 ms of the processor."""
    t.send(loop + "\r")
    t.wait("begun\r\n")
    time.sleep(0.2)
    before = t.processor_seconds()
    t.child.sendintr()
    shown = t.wait(PROMPT)
    assert (taken := t.processor_seconds() - before) <= 0.1, taken
    return shown


def interrupts(pxl, home):
    t = Terminal(pxl, home)
    # Ctrl-C at the prompt drops the line.
    t.send("abandoned")
    t.wait("abandoned")
    t.child.sendintr()
    t.wait(PROMPT)
    same(t.enter("1"), "1")
    # During work, what had been computed stays.
    t.enter("n = 0")
    contains(stopped(t, 'while true { n = n + (1 if n else len([print("be" + "gun")])) }'), "interrupted: values and sessions stay")
    same(t.enter("n > 1"), "true")
    # During training, the variables are those of a whole run.
    t.paste(PROGRAM)
    loop = 'for i in range(100000000) { [session.run(x = [1, 2]), print("be" + "gun") if i == 20 else none] }'
    contains(stopped(t, loop), "interrupted")
    same(t.enter("w = session.run(x = [0, 0]).y"), "")
    same(t.enter("bool(w[0] > 10) and bool(w[1] == 2 * w[0])"), "true")
    # Twice is no more than once.
    t.enter("n = 0")
    t.send('while true { n = n + (1 if n else len([print("be" + "gun")])) }\r')
    t.wait("begun\r\n")
    t.child.sendintr()
    t.child.sendintr()
    t.wait(PROMPT)
    t.send("3 * 47\r")
    t.wait("141\r\n")
    t.wait(PROMPT)
    t.leave()


def editing(pxl, home):
    """Keys that move and delete, in text of more than one byte or column a character."""
    t = Terminal(pxl, home)

    def gives(keys, value):
        # The line may be drawn again with its prompt while keys come: what counts is the line of the value.
        t.send(keys + "\r")
        t.wait(r"[\r\n]" + re.escape(value) + "\r\n")
        t.wait(PROMPT)

    gives("1 + 2\x01(\x05) * 3", "9")  # to the beginning, to the end
    gives("12 + 345\x15" + "6", "6")  # deletes what is before the cursor
    gives("[1, 2, 3]\x01\x06\x0b" + "4]", "[4]")  # a character on, deletes what follows
    gives("7 - 100\x17" + "3", "4")  # a word back
    gives("len('\u03b1\u65e5\u672c')", "3")
    gives("len('\u65e5\u672c\u8a9e')\x1b[D\x1b[D\x7f\x7f", "1")  # left twice, two characters back
    gives("'ab'\x1b[H\x1b[C\x1b[3~\u00e9\x1b[F + 'c'", "'\u00e9bc'")  # Home, right, Delete, End
    gives("len('" + "\u8a9e" * 60 + "')\x1b[D\x1b[D\x7f", "59")  # over several rows
    if editor_of(pxl) == "readline":
        gives("1 + 1\x15" + "2\x1f\x1f", "2")  # undoes
    t.leave()


def resizing(pxl, home):
    t = Terminal(pxl, home, columns=60)
    t.send("xs = [" + "1000, " * 12)
    t.child.setwinsize(24, 30)
    t.send("2]\r")
    t.send("100 + len(xs)\r")
    t.wait("113\r\n")  # the prompt was drawn again
    t.wait(PROMPT)
    t.child.setwinsize(24, 100)
    t.send("200 + len(xs)\r")
    t.wait("213\r\n")
    t.wait(PROMPT)
    contains(t.enter(":help"), "softmax")
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
    t.send("\x12return\r")
    contains(t.wait(PROMPT), "22")
    contains(t.enter(":history first"), "first = 11")
    t.leave()


def indentation(pxl, home):
    """Lines within brackets begin indented; a closing bracket takes one level back."""
    t = Terminal(pxl, home)
    for line in ("def f(x) {", "y = [", "x,", "2", "]", "if x > 1 {"):
        t.enter(line, MORE)
    t.enter("return y", MORE)
    t.enter("}", MORE)
    t.enter("return none", MORE)
    same(t.enter("}"), "")
    contains(t.enter(":history def f"), "def f(x) {\n  y = [\n    x,\n    2\n  ]\n  if x > 1 {\n    return y\n  }\n  return none\n}")
    # A bracket within a line is one; a string keeps its text; an operator indents nothing.
    t.enter("g = [", MORE)
    t.enter("(3 + 4)", MORE)
    t.enter("]")
    contains(t.enter(":history g ="), "g = [\n  (3 + 4)\n]")
    t.enter('s = ["""a', MORE)
    t.enter('b""",', MORE)
    t.enter("]")
    same(t.enter("s"), "['a\\nb']")
    # A line of indentation only is empty to Ctrl-D.
    t.enter("if true {", MORE)
    t.child.sendeof()
    t.wait(PROMPT)
    same(t.enter("6"), "6")
    assert t.leave() == 0


KEYS = ["x = 1 if true else none", "\x01y\x05 + 2", "\x1b[D" * 5 + "0", "\x17\x17", "\x15" + "xs = [" + "12, " * 40, "\x01" + "\x06" * 8 + "3.5, \"a(\", ",
        "\x05" + "\x7f" * 30, "\x1b[D" * 70 + "none, ", "\x05]", "\x15print('\u03b1\u65e5')", "\x1b[D" * 4 + "x", "\x15"]


def typed_lines_look_alike(pxl, home):
    """Colours while typing change no character and no place of the cursor."""
    if editor_of(pxl) != "readline":
        return
    screens = []
    for colour in ("1", None):
        t = Terminal(pxl, home, env={"NO_COLOR": colour}, prompt="pxl>")
        screen, seen, fed = Screen(80).feed(t.child.before + "pxl>"), [], 0
        for keys in KEYS:
            t.send(keys)
            t.child.expect([pexpect.TIMEOUT], timeout=0.4)
            screen.feed(t.child.before[fed:])  # all that has come since the prompt
            fed = len(t.child.before)
            seen.append((screen.text(), screen.row, screen.column))
        screens.append(seen)
        t.send("\x05\x15")
        t.leave()
    for keys, plain, coloured in zip(KEYS, *screens):
        assert plain == coloured, f"after {keys!r}\n{plain}\n{coloured}"


def colours(pxl, home):
    t = Terminal(pxl, home, env={"NO_COLOR": None}, prompt=r"pxl>\x1b\[0m ")
    painted = editor_of(pxl) == "readline"  # libedit's lines are coloured when they are entered, with their prompt

    def enter(line):
        t.send(line + "\r")
        if not painted:
            t.child.expect(t.prompt)
        t.child.expect(t.prompt)

    if painted:
        t.send("x = 1 if true")
        t.child.expect(re.escape("\x1b[36m1\x1b[0m \x1b[35mif\x1b[0m \x1b[36mtrue\x1b[0m"))
        # Over several rows the cursor is put back to where it was.
        t.send("\x15xs = [" + "1, " * 60 + "2]")
        t.child.expect(re.escape("\x1b7\x1b[2A\r\x1b[9Cxs"))
        t.send("\x15")
    enter("x = 1 if true else none")
    contains(t.child.before, "\x1b[35mif\x1b[0m", "\x1b[36m1\x1b[0m")
    for line in ("variable w: float32[2] = 0", "y = w + 1"):
        enter(line)
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


KEY_CASES = [several_lines, pasting, interrupts, editing, resizing, completion, history_across_starts, indentation, typed_lines_look_alike, colours, narrow_terminals]
