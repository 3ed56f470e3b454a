"""Output of the commands on a terminal: widths, colours, the pager."""
import os

from tests.cli.case import LIMIT, case, differ, holds

try:
    import pexpect
except ImportError:
    pexpect = None

WIDE = "result = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + 11 + 12 + 13 + 14 + an_unknown_name_of_some_length + 16 + 17 + 18 + 19\n"


def on_terminal(cli, *arguments, columns=80, rows=24, env=None):
    """Exit status and what a terminal receives."""
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "", "PAGER": "cat", **(env or {})}
    child = pexpect.spawn(str(cli.pxl), [str(a) for a in arguments], cwd=str(cli.folder), encoding="utf-8", timeout=LIMIT,
                          env={k: v for k, v in environment.items() if v is not None}, dimensions=(rows, columns))
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, child.before.replace("\r\n", "\n")


def terminal_case(body):
    return case(body) if pexpect else body


@terminal_case
def errors_fit_the_terminal(cli):
    cli.write("a.pxl", WIDE)
    plain = cli.run("check", "a.pxl")[2]
    for columns in (100, 60, 40, 25):
        code, shown = on_terminal(cli, "check", "a.pxl", columns=columns, env={"NO_COLOR": "1"})
        differ("status", code, 65)
        wide = [line for line in shown.split("\n") if len(line) > columns and " " in line.strip()]
        differ(f"wider than {columns}", wide, [])
        lines = shown.split("\n")
        # The caret line marks the name in the excerpt above it.
        gutter = next(i for i, line in enumerate(lines) if line.startswith("    1 |"))
        marked = "".join(c for c, mark in zip(lines[gutter], lines[gutter + 1].ljust(len(lines[gutter]))) if mark in "^~")
        differ(f"marked at {columns}", marked, "an_unknown_name_of_some_length"[:len(marked)])
        differ(f"some of it at {columns}", len(marked) > 2, True)
        # Joined again, the lines of the message are the one that is printed elsewhere.
        differ(f"message at {columns}", " ".join(line.strip() for line in lines[:gutter]), plain.split("\n")[0])


@terminal_case
def help_fits_the_terminal(cli):
    for columns in (50, 80):
        for words in (("help",), ("help", "profile"), ("doc", "gelu"), ("explain", "shape"), ("explain",)):
            _, shown = on_terminal(cli, *words, columns=columns)
            wide = [line for line in shown.split("\n") if len(line) > columns and not line.startswith("    ") and " " in line.strip()]
            differ(f"{words} at {columns}", wide, [])


@terminal_case
def a_long_text_goes_through_the_pager(cli):
    pager = cli.write("pager", "#!/bin/sh\necho paged by $LESS\nexec cat\n")
    pager.chmod(0o755)
    own = {"PAGER": str(pager), "LESS": None}
    holds("help", on_terminal(cli, "help", rows=10, env=own)[1], "paged by FRX")
    holds("a shell's command", on_terminal(cli, "doc", "gelu", rows=10, env={"PAGER": "tr a-z A-Z"})[1], "GELU(")
    holds("LESS is kept", on_terminal(cli, "doc", "gelu", rows=10, env={**own, "LESS": "M"})[1], "paged by M")
    for why, rows, env, words in (("a short text", 100, own, ("help", "man")), ("none", 10, {**own, "PAGER": ""}, ("help",)),
                                  ("NO_PAGER", 10, {**own, "NO_PAGER": "1"}, ("help",)), ("dumb", 10, {**own, "TERM": "dumb"}, ("help",)),
                                  ("a pager that does not exist", 10, {"PAGER": "/no/such/pager"}, ("help",))):
        code, shown = on_terminal(cli, *words, rows=rows, env=env)
        differ(f"{why}: status", code, 0)
        holds(why, shown, "usage: pxl")
        differ(f"{why}: pager", "paged by" in shown, False)
    # Neither where standard output is no terminal, nor where standard input is none.
    differ("a pipe", "paged by" in cli.run("help", env={"PAGER": str(pager)})[1], False)
    # A pager that is left early.
    code, shown = on_terminal(cli, "doc", rows=5, env={"PAGER": "head -n 2"})
    differ("left early", (code, len(shown.strip().split("\n"))), (0, 2))


@terminal_case
def long_work_is_shown(cli):
    cli.write("long.pxl", "total = 0\nfor i in range(2000000000) { total += i }\n")
    environment = {**os.environ, "TERM": "xterm"}
    child = pexpect.spawn(str(cli.pxl), ["check", "--run", "long.pxl"], cwd=str(cli.folder), encoding="utf-8", timeout=LIMIT, env=environment)
    child.expect(r"\[[#-]{8}\] looking at long.pxl  \d s")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    differ("status", child.exitstatus, 130)
    holds("the line is gone", child.before, " " * 30 + "\r")
    code, shown = on_terminal(cli, "--quiet", "check", "long.pxl")
    differ("quiet", ("looking" in shown), False)


@terminal_case
def a_diff_has_colours(cli):
    cli.write("a.pxl", "x=1\n")
    code, shown = on_terminal(cli, "fmt", "--diff", "a.pxl")
    differ("status", code, 0)
    for part in ("\x1b[1m--- a.pxl\x1b[0m", "\x1b[36m@@ -1,1 +1,1 @@\x1b[0m", "\x1b[31m-x=1\x1b[0m", "\x1b[32m+x = 1\x1b[0m"):
        holds("coloured", shown, part)
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        differ("plain", on_terminal(cli, "fmt", "--diff", "a.pxl", env=env)[1], cli.run("fmt", "--diff", "a.pxl")[1])


@terminal_case
def each_stream_has_colours_by_itself(cli):
    """Errors of the REPL that go to a file have no colours, though its output is a terminal; and the other way round."""
    cli.write("inputs", "x = nothing_here\n:nonsense\nexit(0)\n")
    for redirected in ("2> errors", "> output"):
        child = pexpect.spawn("/bin/sh", ["-c", f"'{cli.pxl}' repl --no-init {redirected}"], cwd=str(cli.folder), encoding="utf-8", timeout=LIMIT,
                              env={**os.environ, "TERM": "xterm", "NO_COLOR": ""}, dimensions=(24, 80))
        child.delaybeforesend = None
        for line in cli.read("inputs").split("\n"):
            child.send(line + "\r")
        child.expect(pexpect.EOF)
        child.close()
        differ("status", child.exitstatus, 0)
        if redirected.startswith("2"):
            errors = cli.read("errors")
            holds("errors", errors, "nothing_here")
            differ("colours of errors in a file", "\x1b" in errors, False)
        else:
            holds("errors on the terminal", child.before, "\x1b[1;31merror")
            differ("colours of output in a file", "\x1b[" in cli.read("output"), False)
