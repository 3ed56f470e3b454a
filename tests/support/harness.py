"""What all kinds of tests share: running commands, counting, and where data are."""
import concurrent.futures
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, name, problem, seconds=None):
        if problem is None:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}\n{indent(problem)}", flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped {name}: {why}", flush=True)


def indent(text):
    return "\n".join("    " + line for line in text.splitlines())


def run(command, timeout=120, env=None, cwd=ROOT, stdin=""):
    environment = dict(os.environ, **(env or {}))
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, input=stdin, capture_output=True, text=True,
                              errors="replace", timeout=timeout)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        def text(b):
            return (b or b"").decode(errors="replace") if isinstance(b, bytes) else (b or "")
        return None, text(late.stdout), text(late.stderr) + f"\ntimed out after {timeout} s"


# Seconds of each test that ran in parallel with others, and of each kind.
durations = {}
kinds = {}


def timed(job):
    start = time.monotonic()
    result = job[1]()
    durations[str(job[0])] = time.monotonic() - start
    return job[0], result


def parallel(jobs, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from pool.map(timed, jobs)


def print_slowest(count=10):
    def listed(title, times):
        print(title + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in times))
    listed("slowest kinds: ", sorted(kinds.items(), key=lambda item: -item[1])[:count])
    listed("slowest tests: ", sorted(durations.items(), key=lambda item: -item[1])[:count])


def shared_folder(name):
    for folder in (ROOT / "shared", ROOT.parent / "shared"):
        if (folder / name).is_dir():
            return folder / name
    return None


def mnist_folder():
    for folder in (os.environ.get("PXL_DATA"), ROOT / "shared/data/mnist", ROOT.parent / "shared/data/mnist"):
        if folder and (pathlib.Path(folder) / "train-images-idx3-ubyte.gz").exists():
            return pathlib.Path(folder)
    return None


stages = []


def stage(name):
    """Begins a part of the run, and ends the one before it."""
    now = time.monotonic()
    if stages:
        last, began = stages[-1]
        kinds[last] = kinds.get(last, 0) + now - began
    stages.append((name, now))
    print(f"== {name} [{time.strftime('%H:%M:%S')}]", flush=True)
