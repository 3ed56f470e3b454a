"""Bounds on a look at any text (2 CPU seconds, 512 MB), on interrupts of a run, and on files that are no files.

A look's cost is measured in time of the processor, so that a busy machine makes no difference.
"""
import gzip
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import threading
import time

SECONDS, MEGABYTES = 2.0, 512
LIMIT = 300  # seconds for one case, on a slow and busy machine

NOT_CHECKED, QUIET = "not checked", ""
LONG, LARGE = "takes too long", "needs too much memory"
UNKNOWN = "unknown name"  # the one text that is an error

# name, text, what standard error of `check` must hold (nothing: it must be empty)
LOOKS = [
    ("an empty tuple repeated", "x = () * 4294967296\n", QUIET),
    ("an empty list repeated", "x = [] * 2 ** 62\n", QUIET),
    ("an empty text repeated", 'x = "" * (2 ** 62 + 5)\n', QUIET),
    ("a comprehension that keeps nothing", "x = [x for x in range(10 ** 12) if false]\n", LONG),
    ("comprehensions in one", "x = [[j for j in range(1000)] for i in range(10 ** 9)]\n", NOT_CHECKED),
    ("a dict comprehension", "x = {i % 7: i for i in range(10 ** 12)}\n", LONG),
    ("a sum", "x = sum(range(10 ** 12))\n", LONG),
    ("all", "x = all(range(1, 10 ** 12))\n", LONG),
    ("any of a map", "x = any(map((v) => v < 0, range(10 ** 12)))\n", LONG),
    ("max with a key", "x = max(range(2 ** 24), key = (v) => -v)\n", NOT_CHECKED),
    ("a dict of pairs", "x = dict(zip(range(10 ** 9), range(10 ** 9)))\n", NOT_CHECKED),
    ("a filter that finds nothing", "for x in filter((v) => v < 0, range(10 ** 12)) { pass }\n", LONG),
    ("membership in an iterator", "x = -1 in enumerate(range(10 ** 12))\n", LONG),
    ("a product", "x = ones([30000, 30000]) @ ones([30000, 30000])\nassert x.shape == (30000, 30000)\n", QUIET),
    ("zeros", "x = zeros([2000000000])\nassert x.shape == (2000000000,)\n", QUIET),
    ("a part of many zeros", "x = zeros([40000, 40000])[10:20, ::7]\nassert x.shape == (10, 5715)\n", QUIET),
    ("many arrays", "x = [ones([1000, 1000]) for i in range(10 ** 6)]\n", NOT_CHECKED),
    ("draws", "x = normal(0, 1, [10 ** 9])\ny = x + 1\nz = y.reshape([10 ** 5, 10 ** 4])\n", QUIET),
    ("truncated draws in a loop", "while true { x = truncated_normal(0, 1, [1000]) }\n", LONG),
    ("an arange", "x = arange(2 ** 31)\n", QUIET),
    ("a permutation", "x = permutation(2 ** 31 - 1)\n", QUIET),
    ("a conversion of many lists", "x = array([[0] * 10 ** 6] * 10 ** 4)\n", NOT_CHECKED),
    ("a list of an array", "x = zeros([1000, 1000]).tolist()\n", None),
    ("eager ops", "x = ones([1000])\nwhile true { x = sin(x) }\n", LONG),
    ("eager ops of many elements", "x = ones([2000, 2000])\nfor i in range(10 ** 9) { x = x * 1.5 }\n", None),
    ("floor division of arrays", "x = ones([2000, 2000], int32)\nfor i in range(10 ** 9) { x = x // 3 }\n", None),
    ("a text replaced and split", 'x = "ab" * 2 ** 27\ny = x.replace("a", "c").split("b")\n', NOT_CHECKED),
    ("a text split", 'x = ("ab" * 2 ** 22).split("b")\n', None),
    ("a text looked through", 'x = ("a" * 2 ** 25).find("a" * 2 ** 24 + "b")\ny = ("a" * 2 ** 25).rfind("b" + "a" * 2 ** 24)\n', None),
    ("a text counted", 'x = ("a" * 2 ** 25).count("a" * 2 ** 24 + "b")\n', None),
    ("a text stripped", 'x = ("a" * 2 ** 25).strip("bc" * 2 ** 20 + "a")\n', None),
    ("texts compared", 'x = "a" * 2 ** 24\ny = "a" * 2 ** 24\nwhile x == y { pass }\n', LONG),
    ("lengths of a text", 'x = "é" * 2 ** 24\nwhile len(x) > 0 { pass }\n', LONG),
    ("a text joined", 'x = ",".join(["a" * 10 ** 6] * 10 ** 6)\n', None),
    ("a loop", "while true { x = 1 }\n", LONG),
    ("an empty loop", "while true { }\n", LONG),
    ("a loop of a loop", "for i in range(10 ** 9) { for j in range(10 ** 9) { } }\n", LONG),
    ("calls", "def f(n) { return n + 1 }\nwhile true { f(1) }\n", LONG),
    ("recursion that branches", "def f(n) { return 1 if n < 2 else f(n - 1) + f(n - 2) }\nx = f(60)\n", LONG),
    ("a list that grows", "a = []\nwhile true { a.append([1]) }\n", NOT_CHECKED),
    ("a list changed in front", "a = [0] * 10 ** 5\nwhile true { a.insert(0, a.pop(0)) }\n", LONG),
    ("a dict that shrinks", "d = {i: i for i in range(10 ** 5)}\nfor i in range(10 ** 5) { d.pop(i) }\n", QUIET),
    ("lists that share parts compared", "a = [1]\nb = [1]\nfor i in range(60) { a = [a, a]\n b = [b, b] }\nx = a == b\n", LONG),
    ("lists that share parts shown", "a = [1]\nfor i in range(60) { a = [a, a] }\nx = str(a)\n", LONG),
    ("tuples that share parts as a key", "a = (1,)\nfor i in range(60) { a = (a, a) }\nx = {a: 1}\n", QUIET),
    ("two tuples that share parts as one key",
     "a = (1,)\nb = (1,)\nfor i in range(60) {\n  a = (a, a)\n  b = (b, b)\n}\nx = {a: 1}[b]\n", LONG),
    ("lists that share parts as an array", "a = [1]\nfor i in range(30) { a = [a, a] }\nx = array(a)\n", NOT_CHECKED),
    ("a sort", "x = sorted(range(10 ** 7))\n", NOT_CHECKED),
    ("lists added up", "x = sum([[1] * 1000 for i in range(10 ** 5)], [])\n", NOT_CHECKED),
    ("a graph that grows", "x = variable(1.0)\nfor i in range(10 ** 7) { x = x + 1 }\n", LONG),
    ("a program that never ends", "program p(n: int = 3) {\n  x = variable(1.0)\n  while true { y = x + 1 }\n}\n", "program p takes too long"),
    ("variables", "program p {\n  w = variable(zeros([40000, 40000]))\n  stream out y = sum(w)\n}\n", QUIET),
    ("drawn variables", "program p {\n  variable w: float32[40000, 40000] = normal(0, 1)\n  variable v: float32[40000, 40000] = 1.5\n"
     "  stream out y = sum(w + v)\n}\n", QUIET),
    ("names that nobody bound", "".join(f"x{i} = undefined{i}\n" for i in range(30000)), UNKNOWN),
    ("names that nobody bound, in functions", "".join(f"nameof{i} = 1\ndef g{i}() {{ return nameoff{i} }}\n" for i in range(3000)), UNKNOWN),
    ("keys that a large dict lacks", "d = {f\"{i:09d}\": i for i in range(2 * 10 ** 4)}\n" + 'with expect_error("") { d["1234567890"] }\n' * 1000, None),
    ("a hundred slow lines", "".join(f"x{i} = sum(range(10 ** 9 + {i}))\n" for i in range(100)), "on takes too long"),
    ("slow functions of a module", "module M {\n  a = sum(range(10 ** 12))\n  build(x) { return x }\n}\nprogram p { M().create_graph(float32[2]) }\n", LONG),
    ("a million lines", "x = 1\n" * 10 ** 6, NOT_CHECKED),
    ("a list of a million", "x = [" + "1, " * 10 ** 6 + "]\n", NOT_CHECKED),
    ("a text of 30 MB", 'x = "' + "a" * 30_000_000 + '"\n', None),
    ("formats", 'x = [f"{i:9999d}" for i in range(10 ** 9)]\n', NOT_CHECKED),
    ("a JSON list of many objects", 'x = from_json("[" + ",".join(["{}"] * 10 ** 6) + "]")\n', None),
    ("a JSON object of many keys", 'x = from_json("{" + ",".join([f"\\"{i}\\": 1" for i in range(10 ** 5)]) + "}")\n', None),
    ("a dict of many keys as JSON", "x = to_json({i: i for i in range(10 ** 5)})\n", None),
]


# A large array lacks only its elements: a wrong shape is found.
SHAPES = ["ones([30000, 30000]) @ ones([30000, 7])", "zeros([40000, 40000])[10:20, ::7]", "normal(0, 1, [10 ** 9]) + 1", "ones([2000, 2000]) * 1.5",
          "permutation(2 ** 31 - 1)", "arange(2 ** 31)", "ones([30000, 30000], int32) // 3", "zeros([40000, 40000]).astype(int8)"]


def shape_is_known(pxl, folder, index, text):
    path = folder / f"shape{index}.pxl"
    path.write_text(f"x = {text}\nassert x.shape == (1, 2, 3)\n")
    status, seconds, megabytes, said = measured([pxl, "check", path])
    return None if status == 65 and "assertion failed" in said and seconds < SECONDS and megabytes < MEGABYTES else f"{status}\n{said[-500:]}"


def measured(command, **more):
    """(status or None, seconds of the processor, MB, output and errors)."""
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(c) for c in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                   env=dict(os.environ, NO_COLOR="1"), **more)
        timer = threading.Timer(LIMIT, process.kill)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, out.read().decode(errors="replace")


def look(pxl, folder, index, text, wanted):
    path = folder / f"look{index}.pxl"
    path.write_text(text)
    status, seconds, megabytes, said = measured([pxl, "check", path])
    if status != (65 if wanted == UNKNOWN else 0):
        return f"exit status {status}\n{said[-800:]}"
    if seconds > SECONDS or megabytes > MEGABYTES:
        return f"{seconds:.2f} s of the processor and {megabytes:.0f} MB"
    if wanted == QUIET and said:
        return f"it says:\n{said[-800:]}"
    if wanted and wanted not in said:
        return f"it does not say `{wanted}`:\n{said[-800:]}"
    return None


# ---- interrupts: at a random moment of a run, heard within a second -------------------------------------------------

LONG_RUNS = {
    "a repeated list": "while true { x = [1] * 2 ** 22 }\n",
    "a text looked through": 'a = "a" * 2 ** 27\nb = "a" * 2 ** 26 + "b"\nwhile true { a.rfind(b) }\n',
    "lists that share parts": "a = [1]\nb = [1]\nfor i in range(60) { a = [a, a]\n b = [b, b] }\nx = a == b\n",
    "draws": "while true { x = normal(0, 1, [2 ** 25]) }\n",
    "uniform draws": "while true { x = uniform(0, 1, [2 ** 25]) }\n",
    "a permutation": "while true { x = permutation(2 ** 25) }\n",
    "conversions": "x = ones([2 ** 26])\nwhile true { y = x.astype(int32) }\n",
    "floor division": "x = ones([2 ** 25], int32)\nwhile true { y = x // 3 }\n",
    "steps of an array": "x = ones([2 ** 26])\nwhile true { y = x[::3] }\n",
    "any": "x = zeros([2 ** 27])\nwhile true { any(x) }\n",
    "allclose": "x = zeros([2 ** 25])\nwhile true { allclose(x, x) }\n",
    "equality": "x = zeros([2 ** 25])\nwhile true { [x] == [x + 1]\n[x] == [x + 0] }\n",
    "a pattern that matches without end": 'while true { list_files("/usr/share/*/../*/../*/../*/../*") }\n',
    "JSON": 'a = to_json({f"{i}": [{}, {}] for i in range(10 ** 5)})\nwhile true { from_json(a) }\n',
    "a key of shared parts": "a = (1,)\nfor i in range(22) { a = (a, a) }\nwhile true { d = {a: 1} }\n",
}


def interrupted(pxl, folder, name, text, seed):
    path = folder / f"long {name}.pxl"
    path.write_text("print(1)\n" + text)
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(pxl), str(path)], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        time.sleep(0.7 + 0.8 * random.Random(seed).random())
        process.send_signal(signal.SIGINT)
        asked = time.monotonic()
        used = processor_seconds(process.pid)
        try:
            status = process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return "it did not hear the interrupt"
    late = time.monotonic() - asked
    # A second on the clock of a busy machine may be much less CPU time.
    if status != 130:
        return f"exit status {status}"
    return None if late < 1 or used is None or late < 10 and load() > 1.5 else f"it stopped {late:.2f} s after the interrupt"


def processor_seconds(pid):
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return None


def load():
    return os.getloadavg()[0] / os.cpu_count()


# ---- files that are no files ----------------------------------------------------------------------------------------

def strange_files(folder):
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    for reader in ("load({!r})", "read_text({!r})"):
        for path, what in ((pipe, "a pipe"), ("/dev/zero", "a device"), (folder, "a folder")):
            yield f"{reader.split('(')[0]} of {what}", reader.format(str(path)).replace("'", '"') + "\n", {66}, what
    yield "restore of a pipe", ("program p {\n  variable w: float32[2] = 0\n  stream out y = sum(w)\n}\n"
                                f'Session(p()).restore("{pipe}")\n'), {66}, "a pipe"
    yield "restore of /dev/zero", ("program p {\n  variable w: float32[2] = 0\n  stream out y = sum(w)\n}\n"
                                   'Session(p()).restore("/dev/zero")\n'), {66}, "a device"
    (folder / "maps.npy").symlink_to("/proc/self/maps")
    yield "load of an endless file of /proc", f'load("{folder}/maps.npy")\n', {66}, "usable"
    yield "read_text of a file of /proc", 'assert len(read_text("/proc/self/status")) > 100\n', {0}, ""


def program_from_a_pipe(pxl, folder):
    """Process substitution and /dev/stdin run; waiting for a pipe that nobody writes to hears Ctrl-C."""
    for command in (f"{pxl} run <(echo 'print(1 + 1)')", f"echo 'print(1 + 1)' | {pxl} run /dev/stdin",
                    f"echo 'print(1 + 1)' | {pxl} -", f"{pxl} run /dev/stdin < <(sleep 0.3; echo 'print(1 + 1)')"):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=LIMIT)
        if done.stdout != "2\n":
            return f"{command}: {done.returncode} {done.stdout}{done.stderr}"
    pipe = folder / "silent"
    os.mkfifo(pipe)
    for arguments, stdin in (([pipe], subprocess.DEVNULL), (["-"], subprocess.PIPE)):
        process = subprocess.Popen([str(pxl), "run", *map(str, arguments)], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        try:
            status = process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"run {arguments}: waiting does not hear an interrupt"
        if status != 130:
            return f"run {arguments}: exit status {status}"
    done = subprocess.run([str(pxl), "run", "/dev/zero"], capture_output=True, text=True, timeout=LIMIT)
    return None if done.returncode == 66 and "longer than" in done.stderr else f"/dev/zero: {done.returncode} {done.stderr[-300:]}"


def packed_zeros(pxl, folder):
    """A small gzip file that inflates to far more than its header says, or than it needs, takes no memory."""
    place = folder / "bomb"
    place.mkdir()
    count = 300_000_000
    for name, head in (("train-images-idx3-ubyte", struct.pack(">IIII", 0x803, count // 784, 28, 28)),
                       ("train-labels-idx1-ubyte", struct.pack(">II", 0x801, 2)), ("t10k-images-idx3-ubyte", struct.pack(">IIII", 0x803, 0, 28, 28)),
                       ("t10k-labels-idx1-ubyte", struct.pack(">II", 0x801, 0))):
        with gzip.open(place / (name + ".gz"), "wb", 6) as file:
            file.write(head)
            if name.startswith("train-images"):
                for _ in range(count // 10 ** 6 // 2):  # half of what the header says
                    file.write(bytes(10 ** 6))
    script = folder / "bomb.pxl"
    script.write_text("d = mnist()\n")
    environment = dict(os.environ, PXL_DATA=str(place))
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([str(pxl), str(script)], stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    if process.returncode != 66 or "train-images" not in said:
        return f"exit status {process.returncode}\n{said[-500:]}"
    return None if usage.ru_maxrss < 150 * 1024 else f"it took {usage.ru_maxrss / 1024:.0f} MB"


def limited_memory(pxl, folder, text):
    """Beyond the memory that there is: an error with a place."""
    path = folder / f"memory{abs(hash(text))}.pxl"
    path.write_text(text)
    command = ["bash", "-c", f"ulimit -v 4000000; exec {pxl} {path}"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
    placed = f"{path}:1:" in done.stderr and "memory" in done.stderr
    return None if done.returncode == 1 and placed else f"{done.returncode}\n{done.stderr[-500:]}"


def bound_cases(pxl, folder):
    """(name, function that gives a problem or None) for every case."""
    for index, (name, text, wanted) in enumerate(LOOKS):
        yield f"look: {name}", lambda index=index, text=text, wanted=wanted: look(pxl, folder, index, text, wanted)
    for index, text in enumerate(SHAPES):
        yield f"look: the shape of {text}", lambda index=index, text=text: shape_is_known(pxl, folder, index, text)
    for seed, (name, text) in enumerate(LONG_RUNS.items()):
        yield f"interrupt: {name}", lambda name=name, text=text, seed=seed: interrupted(pxl, folder, name, text, seed)
    for index, (name, text, wanted, said) in enumerate(strange_files(folder)):
        def read(index=index, text=text, wanted=wanted, said=said):
            path = folder / f"strange{index}.pxl"
            path.write_text(text)
            status, _, _, output = measured([pxl, path])
            return None if status in wanted and said in output else f"exit status {status}\n{output[-500:]}"
        yield f"a file: {name}", read
    yield "a program from a pipe", lambda: program_from_a_pipe(pxl, folder)
    yield "a packed file that is too long", lambda: packed_zeros(pxl, folder)
    for text in ("x = permutation(2 ** 31 - 1)\n", "x = zeros([2000000000])\n", "x = arange(2 ** 31)\n"):
        yield f"memory: {text.split(chr(10))[0]}", lambda text=text: limited_memory(pxl, folder, text)


# ---- the language server --------------------------------------------------------------------------------------------

SLOW_IN_EDITOR = [text for name, text, wanted in LOOKS if wanted != QUIET and len(text) < 2000]


def answers_meanwhile(pxl, client_class, check):
    """A hover is answered soon while a slow text is open, and its correction is analysed at once; `exit` ends it."""
    for text in SLOW_IN_EDITOR:
        client = client_class(pxl)
        try:
            client.open("first = 1\n" + text)
            worst = 0.0
            for turn in range(4):
                time.sleep((0.02, 0.15, 0.1, 0.3)[turn])
                used, asked = others_load(), time.monotonic()
                found = client.here("hover", "first = 1")
                took = time.monotonic() - asked
                worst = max(worst, took if used < 1 else took / (1 + used))
                check(found and "first" in found["contents"]["value"], "hover", found)
            check(worst < 0.2, f"a hover took {worst:.2f} s in", text)
            client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"text": "n = zz\n"}]})
            client.text, began = "n = zz\n", time.monotonic()
            found = client.diagnostics()
            while not (found and client.quoted(found[0]["range"]) == "zz"):
                found = client.diagnostics()
            took = time.monotonic() - began
            check(took < (1 if others_load() < 1 else 8), f"a correction took {took:.2f} s after", text)
            client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 3}, "contentChanges": [{"text": text}]})
            time.sleep(0.2)
            began = time.monotonic()
            client.tell("exit", None)
            client.process.wait(20)
            check(time.monotonic() - began < (1.5 if others_load() < 1 else 8), "exit is slow while this is analysed", text)
        finally:
            client.process.kill()


def others_load():
    """Processes that wait for a processor, per processor, beyond one of our own."""
    return max(0.0, load() - 1)
