"""Shared by all kinds of tests: running commands, counting, and places of data."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
LIMIT = 600  # seconds after which what a test waits for counts as hanging: on a busy machine it takes many times as long as on an idle one


class Unavailable(Exception):
    """The machine lacks what a test needs: the test is skipped with this reason."""


def attempt(test):
    """The result of a test. An exception is a problem too; a program or a Python package that is missing is Unavailable."""
    try:
        return test()
    except Unavailable as reason:
        return reason
    except ModuleNotFoundError as missing:
        return Unavailable(f"no Python package {missing.name}") if not missing.name.startswith("tests") else traceback.format_exc()
    except FileNotFoundError as missing:
        program = str(missing.filename)
        lacks = "/" not in program and not shutil.which(program) and "_execute_child" in traceback.format_exc()
        return Unavailable(f"no `{program}`") if lacks else traceback.format_exc()
    except Exception:  # noqa: BLE001: a test may raise what it likes, and the other tests go on
        return traceback.format_exc()


def needs(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Unavailable(f"no `{program}`")


def needs_compiler_of(preset):
    presets = {p["name"]: p for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}
    needs(presets[preset]["cacheVariables"]["CMAKE_CXX_COMPILER"])


class Tally:
    def __init__(self):
        self.passed = self.failed = self.skipped = 0

    def add(self, name, outcome):
        """`outcome`: none, the problem, or a function that returns one of them."""
        if callable(outcome):
            outcome = attempt(outcome)
        if isinstance(outcome, Unavailable):
            self.skip(name, outcome)
        elif outcome is None:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED {name}\n{indent(outcome)}", flush=True)

    def skip(self, name, why):
        self.skipped += 1
        print(f"skipped {name}: {why}", flush=True)

    def run(self, name, tests):
        """Tests that add their results themselves; an exception outside of them is one failure."""
        if (outcome := attempt(tests)) is not None:
            self.add(name, outcome)

    @property
    def count(self):
        return self.passed + self.failed + self.skipped


def indent(text):
    return "\n".join("    " + line for line in text.splitlines())


def run(command, timeout=LIMIT, env=None, cwd=ROOT, stdin=""):
    environment = dict(os.environ, **(env or {}))
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, input=stdin, capture_output=True, text=True,
                              errors="replace", timeout=timeout)
        return done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as late:
        def text(b):
            return (b or b"").decode(errors="replace") if isinstance(b, bytes) else (b or "")
        return None, text(late.stdout), text(late.stderr) + f"\ntimed out after {timeout} s"


# Seconds of each test that ran in parallel with others.
durations = {}


def timed(job):
    start = time.monotonic()
    result = attempt(job[1])
    durations[str(job[0])] = time.monotonic() - start
    return job[0], result


def parallel(jobs, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from pool.map(timed, jobs)


def print_slowest(kinds, count=10):
    """`kinds`: the seconds of each kind."""
    def listed(title, times):
        print(title + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in sorted(times.items(), key=lambda item: -item[1])[:count]))
    listed("slowest kinds: ", kinds)
    listed("slowest tests: ", durations)


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


@contextlib.contextmanager
def own_folder(script):
    """A folder for one run, with a copy of the script and links to what is beside it: what it writes is not in the checkout."""
    with tempfile.TemporaryDirectory(prefix="pxl_lang_") as made:
        shutil.copy(script, made)
        for path in script.parent.iterdir():
            if path != script:
                pathlib.Path(made, path.name).symlink_to(path)
        yield made


def unknown_files():
    """Files of the checkout that Git neither tracks nor ignores; none where there is no Git."""
    try:
        code, out, _ = run(["git", "ls-files", "--others", "--exclude-standard"], cwd=ROOT)
    except FileNotFoundError:
        return set()
    return set(out.splitlines()) if code == 0 else set()


def stage(name):
    print(f"== {name} [{time.strftime('%H:%M:%S')}]", flush=True)
