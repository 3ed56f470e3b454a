"""Standard streams that are closed or full: every command in every combination writes what can be written. It exits with
its own status, or with 1 if output was lost."""
import itertools
import os
import signal
import subprocess
import threading
import time

from tests.cli.case import LIMIT, case, differ, holds

FAULTY = "print(1)\nprint([1][3])\n"
REFUSED = "x = )\n"
# The arguments and standard input of each command. A command that `pxl --help` lists and this table lacks is a failure.
COMMANDS = {
    "run": [(["run", "good.pxl"], ""), (["faulty.pxl"], ""), (["-e", "print(1) print("], ""), (["-e", "exit(3)"], ""),
            (["-"], "print(7)\n"), (["--json", "faulty.pxl"], ""), (["--profile", "session.pxl"], ""), (["nothing.pxl"], ""),
            (["--nonsense"], ""), (["--version"], ""), (["--help"], ""), (["long.pxl"], "")],
    "repl": [(["repl", "--no-init"], "1 + 1\nnothing_here\n:help\n:nonsense\nprint([1][3])\n2 +\n"), (["-i", "--no-init", "faulty.pxl"], "3\n")],
    "test": [(["test", "tests.pxl"], ""), (["test", "--json", "tests.pxl"], "")],
    "new": [(["new", "good.pxl"], ""), (["new", ".."], "")],
    "check": [(["check", "good.pxl", "refused.pxl"], ""), (["check", "--json", "refused.pxl"], "")],
    "fmt": [(["fmt", "--check", "ugly.pxl", "refused.pxl"], ""), (["fmt", "--diff", "ugly.pxl"], ""), (["fmt", "-"], "x=1\n")],
    "compare": [(["compare", "session.pxl"], ""), (["compare", "refused.pxl"], "")],
    "profile": [(["profile", "--machine", "bow", "session.pxl"], ""), (["profile", "good.pxl"], "")],
    "fit": [(["fit", "--machine", "mk2,tiles=4", "session.pxl"], ""), (["fit", "good.pxl"], "")],
    "schedule": [(["schedule", "session.pxl"], ""), (["schedule", "refused.pxl"], "")],
    "graph": [(["graph", "session.pxl"], ""), (["graph", "-o", "/nowhere/at/all.dot", "session.pxl"], "")],
    "explain": [(["explain"], ""), (["explain", "shape"], ""), (["explain", "nonsense"], "")],
    "doc": [(["doc", "gelu"], ""), (["doc", "nothing_here"], "")],
    "import": [(["import", "nothing.onnx"], ""), (["import", "good.pxl"], ""), (["import", "--nonsense"], "")],
    "export": [(["export", "--force", "session.pxl"], ""), (["export", "good.pxl"], "")],
    "onnx": [(["onnx", "test", "."], ""), (["onnx", "nonsense", "."], "")],
    "lsp": [(["lsp"], ""), (["lsp", "--nonsense"], "")],
    "kernel": [(["kernel", "--install", "--prefix", "."], ""), (["kernel"], "")],
    "help": [(["help"], ""), (["help", "nonsense"], "")],
    "man": [(["man"], "")],
    "completions": [(["completions", "bash"], ""), (["completions", "nonsense"], "")],
}
STATUSES = {0, 1, 2, 3, 65, 66}
CLOSED, FULL = "closed", "full"


def prepare(cli):
    cli.write("good.pxl", "print(1)\n")
    cli.write("long.pxl", "for i in range(100000) { print(i) }\n")
    cli.write("faulty.pxl", FAULTY)
    cli.write("refused.pxl", REFUSED)
    cli.write("ugly.pxl", "x=1\n")
    cli.write("tests.pxl", 'test "one" { assert 1 == 1 }\ntest "two" { assert 1 == 2 }\n')
    cli.write("session.pxl", "program p {\n  x = variable([1.0, 2.0])\n  print_tensor(x)\n  stream out y = x + 1\n}\nprint(Session(p()).run().y)\n")


def run(cli, arguments, stdin, out=None, err=None, no_input=False):
    """Status, standard output, standard error; what is closed or full gives the empty text."""
    def streams():
        for descriptor, state in ((1, out), (2, err)):
            if state == CLOSED:
                os.close(descriptor)
        if no_input:
            os.close(0)

    with open("/dev/full", "wb") as full:
        process = subprocess.Popen([str(cli.pxl), *arguments], cwd=cli.folder, stdin=subprocess.PIPE,
                                   stdout=full if out == FULL else subprocess.PIPE, stderr=full if err == FULL else subprocess.PIPE,
                                   preexec_fn=streams, env=dict(os.environ, NO_COLOR="1", XDG_STATE_HOME=str(cli.folder)))
        got = process.communicate(stdin.encode(), timeout=LIMIT)
    return process.returncode, *[(text or b"").decode(errors="replace") for text in got]


@case
def every_command_is_tried_with_streams_that_fail(cli):
    code, out, err = cli.run("completions", "fish")
    listed = {line.split(" -a ")[1].split()[0].strip("'\"") for line in out.splitlines() if "__fish_use_subcommand -a " in line}
    differ("commands of the table", sorted(COMMANDS), sorted(listed))


def of_each_command(body):
    """A case for each command; `body` tries one invocation, of which it gets status, output and errors with pipes."""
    def add(name):
        def every(cli):
            prepare(cli)
            for arguments, stdin in COMMANDS[name]:
                body(cli, arguments, stdin, *run(cli, arguments, stdin))
        every.__name__ = f"{body.__name__}_{name}"
        case(every)
    for command in COMMANDS:
        add(command)


@of_each_command
def streams_that_fail(cli, arguments, stdin, status, text, messages):
    what = f"pxl {' '.join(arguments)}"
    if status not in STATUSES:
        raise AssertionError(f"{what}: status {status}\n{messages}")
    for out, err in itertools.product((None, CLOSED, FULL), repeat=2):
        if not out and not err:
            continue
        code, shown, said = run(cli, arguments, stdin, out, err)
        tried = f"{what} (output {out}, errors {err})"
        # A line that cannot be written ends the program there, before what it would have ended with.
        lost = bool(out and text)
        differ(f"{tried}: status", code, 1 if lost and (status == 0 or code == 1) else status)
        if not out and "seconds" not in text:
            differ(f"{tried}: output", shown, text)
        if not err and out and text:
            holds(f"{tried}: errors", said, "cannot write standard output")
        if not err and not out:
            differ(f"{tried}: errors", said, messages)


@case
def a_file_does_not_become_standard_error(cli):
    cli.write("a.pxl", 'save("a.npy", array([1.0, 2.0]))\nassert len(load("a.npy")) == 3\n')
    code, out, err = run(cli, ["a.pxl"], "", None, CLOSED)
    differ("status", code, 1)
    holds("a.npy", (cli.folder / "a.npy").read_bytes().decode("latin-1"), "NUMPY")
    differ("size", (cli.folder / "a.npy").stat().st_size, 128 + 8)
    cli.write("b.pxl", "print(1)\n")
    code, out, err = run(cli, ["b.pxl"], "", CLOSED, None, no_input=True)
    differ("status", code, 1)


@case
def standard_input_that_is_closed_is_an_error(cli):
    code, out, err = run(cli, ["-"], "", no_input=True)
    differ("status", code, 66)
    holds("errors", err, "cannot read standard input")


@case
def an_interrupt_tears_no_line_of_a_pipe(cli):
    process = subprocess.Popen([str(cli.pxl), "repl", "--no-init"], cwd=cli.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=dict(os.environ, XDG_STATE_HOME=str(cli.folder)))
    try:
        process.stdin.write(b"print(1)\npri")
        process.stdin.flush()
        differ("first answer", process.stdout.readline(), b"1\n")
        time.sleep(0.3)  # until it waits for the rest of the line
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        out, err = process.communicate(b"nt(2)\n", timeout=LIMIT)
    finally:
        process.kill()
    differ("outcome", (process.returncode, out, err), (0, b"2\n", b""))


@case
def lines_arrive_while_the_program_runs(cli):
    cli.write("waits.pxl", 'print("begun")\nbegin = time()\nwhile time() - begin < 30 { }\n')
    process = subprocess.Popen([str(cli.pxl), "waits.pxl"], cwd=cli.folder, stdout=subprocess.PIPE)
    try:
        differ("first line", process.stdout.readline(), b"begun\n")
        differ("still running", process.poll(), None)
    finally:
        process.kill()
        process.communicate()


def full_pipe():
    """A pipe that does not block its writer, and whose writer has to wait: its reading end, its writing end, and the bytes in it."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    filled = 0
    try:
        while True:
            filled += os.write(writing, b"." * 4096)
    except BlockingIOError:
        return reading, writing, filled


def read_late(reading, filled, into):
    time.sleep(0.3)
    text = b""
    while part := os.read(reading, 65536):
        text += part
    os.close(reading)
    into.append(text[filled:].decode(errors="replace"))


def run_late(cli, arguments, stdin):
    """Status, output and errors, where both are pipes that do not block and are read late."""
    pipes, texts = [full_pipe(), full_pipe()], [[], []]
    process = subprocess.Popen([str(cli.pxl), *arguments], cwd=cli.folder, stdin=subprocess.PIPE, stdout=pipes[0][1], stderr=pipes[1][1],
                               env=dict(os.environ, NO_COLOR="1", XDG_STATE_HOME=str(cli.folder)))
    readers = [threading.Thread(target=read_late, args=(pipe[0], pipe[2], text)) for pipe, text in zip(pipes, texts)]
    for pipe, reader in zip(pipes, readers):
        os.close(pipe[1])
        reader.start()
    try:
        process.stdin.write(stdin.encode())
        process.stdin.close()
    except BrokenPipeError:
        pass
    for reader in readers:
        reader.join(LIMIT)
    return process.wait(timeout=LIMIT), texts[0][0], texts[1][0]


@of_each_command
def streams_that_do_not_block(cli, arguments, stdin, status, text, messages):
    if "seconds" not in text and "--profile" not in arguments:  # these print times
        differ(f"pxl {' '.join(arguments)}, read late", run_late(cli, arguments, stdin), (status, text, messages))


@case
def an_interrupt_ends_the_wait_for_a_reader(cli):
    reading, writing, _ = full_pipe()
    cli.write("a.pxl", "while true { print(1) }\n")
    process = subprocess.Popen([str(cli.pxl), "a.pxl"], cwd=cli.folder, stdout=writing, stderr=subprocess.PIPE, text=True)
    try:
        for _ in range(2):  # the second one ends the wait for what is still in the buffer
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=LIMIT)
        differ("status", process.returncode, 130)
    finally:
        process.kill()
        os.close(reading)
        os.close(writing)
