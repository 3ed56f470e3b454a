#!/usr/bin/env python3
"""Ctrl-C at random moments: runs, saves, pictures, commands and the REPL.

usage: tests/fuzz/interrupts.py [--seconds N] [--seed N] [--pxl FILE]

Afterwards the exit status is the documented one (130, or that of the whole run where the interrupt came too late), no
signal has ended the process, what it saved is whole, no other file is left, and a REPL goes on. Prints the numbers of tries and failures,
and exits with 1 if there are failures. Try N of a seed does the same each time, but for the scheduling.
"""
import os
import pathlib
import random
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.fuzz.frame import batches, options
from tests.support.programs import TRAINING

LIMIT = 300  # seconds until a process that goes on is a failure

# Endless but for the interrupt. Those with a file save it again and again, always with the same bytes.
RUNS = {
    "loop": ("while true { }\n", None),
    "comprehension": ("x = [i for i in range(10 ** 12) if false]\n", None),
    "calls": ("def f(n) { return 1 if n == 0 else f(n - 1) }\nwhile true { f(20) }\n", None),
    "prints": ("i = 0\nwhile true { i = i + 1\n print(i) }\n", None),
    "arrays": ("while true { x = ones([300, 300]) @ ones([300, 300]) }\n", None),
    "product": ("x = ones([6000, 6000])\nwhile true { y = x @ x }\n", None),
    "builds": ("program p {\n  x = variable(1.0)\n  while true { y = x + 1.0 }\n}\np()\n", None),
    "sessions": (TRAINING + "while true { with Session(train()) as s { s.run(x = x) } }\n", None),
    "training": (TRAINING + "with Session(train()) as s { while true { s.run(x = x) } }\n", None),
    "npy": ('x = zeros([500000])\nfor i in range(n) { save("place/file.npy", x) }\n', "file.npy"),
    "svg": ('x = sin(0.01 * arange(20000))\nfor i in range(n) { plot(x, path = "place/file.svg") }\n', "file.svg"),
    "checkpoint": ("program p {\n  variable w: float32[500000] = zeros([500000])\n  stream out y = w\n}\n"
                   'with Session(p()) as s { for i in range(n) { s.save("place/file.safetensors") } }\n', "file.safetensors"),
}
LONG = "".join(f"def f{i}(x) {{\n  return x + {i}\n}}\n" for i in range(3000))
UGLY = "".join(f"x{i}   =  {i}\n" for i in range(20000))
MODEL = TRAINING.split("x = normal")[0] + "session = Session(train())\n"
# Commands, and the status of a whole one. {} is what is saved, in a folder of its own.
COMMANDS = {
    "check": (["check", "long.pxl"], 0, None),
    "schedule": (["schedule", "model.pxl"], 0, None),
    "profile": (["profile", "--machine", "bow", "model.pxl", "-o", "place/file.json"], 0, "file.json"),
    "graph": (["graph", "-o", "place/file.dot", "model.pxl"], 0, "file.dot"),
    "doc": (["doc", "--help"], 0, None),
    "fmt": (["fmt", "place/file.pxl"], 0, "file.pxl"),
    "man": (["man"], 0, None),
}
REPL_INPUTS = ["while true { }", "x2 = [i for i in range(10 ** 12) if false]", "y = ones([6000, 6000]) @ ones([6000, 6000])",
               "def f(n) { return f(n - 1) if n > 0 else 0 }", "1 + 1", ":help", "for i in range(10 ** 12) { z = i }",
               "program p {\n  x = variable(1.0)\n  while true { y = x + 1.0 }\n}", "p()", "w = variable(ones([100])); eval(w * 3)", "2 +", "("]


class Failure(Exception):
    pass


def handles_interrupts(process):
    """Waits until the process has a handler; before that Ctrl-C ends it, as it does any command."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end and process.poll() is None:
        with open(f"/proc/{process.pid}/status") as file:
            caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
        if caught & 1 << signal.SIGINT - 1:
            return
        time.sleep(0.002)


def start(pxl, folder, arguments, **more):
    environment = dict(os.environ, NO_COLOR="1", XDG_STATE_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    return subprocess.Popen([str(pxl), *arguments], cwd=folder, env=environment, **more)


def end_of(process):
    try:
        return process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Failure(f"it went on for {LIMIT} s after the interrupt") from None


def files_are_whole(folder, name, allowed, twice):
    place = folder / "place"
    if name and (place / name).exists() and (place / name).read_bytes() not in allowed:
        raise Failure(f"{name} is torn: {(place / name).stat().st_size} bytes")
    others = [p.name for p in place.iterdir() if p.name != name]
    if len(others) > (1 if twice else 0):  # a second interrupt ends the process at once
        raise Failure(f"left behind: {others}")


def interrupt(process, draw, longest):
    """Once or twice, the first after up to `longest` seconds. Gives whether twice."""
    handles_interrupts(process)
    time.sleep(draw.choice([0, draw.uniform(0, 0.05), draw.uniform(0, longest)]))
    process.send_signal(signal.SIGINT)
    twice = draw.random() < 0.3
    if twice:
        time.sleep(draw.choice([0, draw.uniform(0, 0.02), draw.uniform(0, 0.2)]))
        process.send_signal(signal.SIGINT)
    return twice


def one_command(pxl, folder, draw, arguments, wanted, name, allowed):
    process = start(pxl, folder, arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        # Someone has to read what endless prints write; a thread of communicate does, once it is called.
        twice = interrupt(process, draw, 0.5)
        out, err = end_of(process)
    finally:
        process.kill()
    if process.returncode not in wanted:
        raise Failure(f"status {process.returncode}\n{err[-800:].decode(errors='replace')}")
    if process.returncode == 130 and not twice and b"interrupted" not in err:
        raise Failure("it did not say that it was interrupted")
    files_are_whole(folder, name, allowed, twice)


def one_repl(pxl, folder, draw):
    process = start(pxl, folder, ["repl", "--no-init"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    text = bytearray()

    def wait_for(part, seconds):
        end = time.monotonic() + seconds
        while part not in text and time.monotonic() < end:
            if select.select([process.stdout], [], [], 0.05)[0]:
                got = os.read(process.stdout.fileno(), 65536)
                if not got:
                    raise Failure(f"the REPL ended with status {process.wait()}")
                text.extend(got)
        return part in text

    def say(line):
        process.stdin.write(line.encode() + b"\n")
        process.stdin.flush()

    try:
        handles_interrupts(process)
        say("kept = 41\nprint(1000 + 1)")
        if not wait_for(b"1001", LIMIT):
            raise Failure("no answer")
        for number in range(draw.randrange(1, 6)):
            line = draw.choice(REPL_INPUTS)
            say(line)
            for _ in range(draw.randrange(1, 4)):
                time.sleep(draw.choice([0, draw.uniform(0, 0.02), draw.uniform(0, 0.3)]))
                process.send_signal(signal.SIGINT)
            # The interrupt may have come before the input began, or may take the next one with it.
            answer = 2000 + number
            for tries in range(60):
                say(f"print(kept + {answer - 41})")
                if wait_for(str(answer).encode(), 1):
                    break
                process.send_signal(signal.SIGINT)
            else:
                raise Failure(f"no answer after `{line}` was interrupted")
        process.stdin.close()
        process.stdin = None
        end_of(process)
        if process.returncode not in (0, 1):
            raise Failure(f"status {process.returncode}")
    except BrokenPipeError:
        raise Failure(f"the REPL ended with status {process.wait()}") from None
    finally:
        process.kill()
        process.wait()


def prepare(pxl, folder):
    """Writes the programs; gives by name what is saved when nobody interrupts."""
    (folder / "place").mkdir()
    for name, (text, _) in RUNS.items():
        (folder / f"{name}.pxl").write_text("option n: int = 1\n" + text)
    (folder / "long.pxl").write_text(LONG)
    (folder / "model.pxl").write_text(MODEL)
    (folder / "place/file.pxl").write_text(UGLY)
    whole = {}
    saving = [([f"{name}.pxl"], file) for name, (_, file) in RUNS.items() if file]
    saving += [(arguments, file) for arguments, _, file in COMMANDS.values() if file]
    for arguments, file in saving:
        done = subprocess.run([str(pxl), *arguments], cwd=folder, capture_output=True, text=True, timeout=LIMIT)
        if done.returncode != 0:
            sys.exit(f"{' '.join(arguments)}: status {done.returncode}\n{done.stderr}")
        whole[file] = [(folder / "place" / file).read_bytes()]
        (folder / "place" / file).unlink()
    whole["file.pxl"].append(UGLY.encode())
    return whole


def one_try(pxl, folder, draw, whole):
    kind = draw.choice(["run", "run", "run", "command", "repl"])
    for old in (folder / "place").iterdir():
        old.unlink()
    if kind == "repl":
        return "repl", lambda: one_repl(pxl, folder, draw)
    if kind == "run":
        name = draw.choice(list(RUNS))
        file, wanted, arguments = RUNS[name][1], {130}, [f"{name}.pxl", "--n", "1000000"]
    else:
        name = draw.choice(list(COMMANDS))
        arguments, status, file = COMMANDS[name]
        wanted = {130, status}
        if name == "fmt":
            (folder / "place/file.pxl").write_text(UGLY)
    if file and file != "file.pxl" and draw.random() < 0.5:
        (folder / "place" / file).write_bytes(whole[file][0])
    return name, lambda: one_command(pxl, folder, draw, arguments, wanted, file, whole.get(file, []))


def campaign(pxl, seconds, seed, add=None):
    """(tries, failures)"""
    failures = []
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        whole = prepare(pxl, folder)
        for number, in batches(seconds):
            name, body = one_try(pxl, folder, random.Random(f"{seed}:{number}"), whole)
            try:
                body()
            except Failure as failure:
                failures.append(f"try {number} of seed {seed}, {name}: {failure}")
                print(failures[-1], flush=True)
    return number + 1, failures


def main():
    given = options(__doc__, seconds=60)
    tries, failures = campaign(pathlib.Path(given.pxl), given.seconds, given.seed)
    print(f"{tries} tries, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
