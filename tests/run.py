#!/usr/bin/env python3
"""Runs the tests and prints "N passed, N failed" as its last line.

Kinds of tests:
  unit      doctest programs of a build tree (tests/unit), one per layer
  lang      tests/lang/**/*.pxl, with expectations in comments (see below)
  golden    tests/golden/*.pxl, whose output is *.expected byte for byte
  examples  examples/*.pxl, run small; training runs on real MNIST with accuracies, where MNIST is there
  curves    bench/*.pxl: losses of the first 100 steps against a float64 reference (tests/curves), where the data are
  reference the language's tests once more with PXL_FUSE=off
  repeat    tests/repeat/*.pxl: the same program and seed give the same bits, again, on any number of threads, fused or not
  cli       tests/cli.py: what each command prints, writes and exits with
  repl      tests/repl.py: the REPL in a terminal
  hostile   tests/hostile.py: noise, endless nesting and recursion, damaged files, interrupts
  bench     tests/bench.py: the commands that measure
  oracle    tests/oracle/*.json: values and gradients of ops as PyTorch gives them (tests/against_torch.py)
  stdlib    tests/stdlib.py: the examples in the standard library's doc comments
  docs      the programs in README.md and docs run and print what stands beside them; the IPU model's figures (tests/model.py)
  page      tests/page.py: `pxl profile` as a page in a browser, as JSON and as a trace
  editors   tests/editors.py: word lists against the grammar, colours, indentation, the VS Code package
  lsp       tests/lsp.py: the language server, spoken to as an editor does
  jupyter   tests/jupyter.py: the kernel's installation, the protocol's own tests, interrupts, the notebooks of examples/notebooks
  house     layering, formatting, words that do not belong, docs/coverage.md; with --all clang-tidy

Expectations in a .pxl file:
  # expect: LINE             the next line of standard output
  # expect error: TEXT       standard error contains TEXT
  # expect error line N: TEXT     ... in an error on line N
  # expect error at N:M: TEXT     ... at line N, column M
  # exit: N                  the exit status (default: 0, or 65 where an error is expected)
  # args: ...                arguments of the script
  # run: test                use `pxl test`
  # skip: REASON
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import bench
import coverage
import editors
import cli
import against_torch
import hostile
import jupyter
import links
import lsp
import model
import page
import repl
import programs
import stdlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
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


def parallel(jobs, workers):
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        yield from pool.map(lambda job: (job[0], job[1]()), jobs)


# ---- unit -------------------------------------------------------------------------------------------------------

SUMMARY = re.compile(r"test cases:\s*(\d+)\s*\|\s*(\d+) passed\s*\|\s*(\d+) failed")


def unit_tests(build, tally, names=()):
    programs = sorted(p for p in build.glob("unit_*") if os.access(p, os.X_OK) and p.is_file() and (not names or p.name in names))
    # Frames are several times larger under sanitizers; deep nesting is tested there as well.
    stack = ["bash", "-c", 'ulimit -s 65536; exec "$0" "$@"'] if build.name == "asan" else []
    if not programs:
        tally.add(f"unit ({build.name})", "no unit test programs were built")
    for name, (code, out, err) in parallel(
            [(p.name, lambda p=p: run([*stack, str(p), "--no-colors=true"], timeout=900)) for p in programs], 2):
        for line in (out + err).splitlines():
            if line.startswith("skipped"):
                print(line)
        found = SUMMARY.search(out)
        if found:
            tally.passed += int(found.group(2))
            tally.failed += int(found.group(3))
            if code != 0:
                if int(found.group(3)) == 0:
                    tally.failed += 1
                print(f"FAILED {name}\n{indent((out + err)[-6000:])}", flush=True)
        else:
            tally.add(name, f"exit status {code}, no summary\n{(out + err)[-4000:]}")


# ---- lang -------------------------------------------------------------------------------------------------------

EXPECT = re.compile(r"#\s*expect: ?(.*)$")
EXPECT_ERROR = re.compile(r"#\s*expect error(?: line (\d+)| at (\d+):(\d+))?: ?(.*)$")
DIRECTIVE = re.compile(r"#\s*(exit|args|run|skip): ?(.*)$")


def lang_test(pxl, path):
    text = path.read_text(errors="replace")
    expected, errors, directives = [], [], {}
    for line in text.splitlines():
        if m := EXPECT_ERROR.search(line):
            errors.append(m.groups())
        elif m := EXPECT.search(line):
            expected.append(m.group(1).rstrip())
        elif m := DIRECTIVE.match(line.strip()):
            directives[m.group(1)] = m.group(2).strip()
    if "skip" in directives:
        return ("skip", directives["skip"])
    if not expected and not errors and "exit" not in directives and directives.get("run") != "test":
        return "the file expects nothing"
    command = [str(pxl)] + (["test"] if directives.get("run") == "test" else [])
    code, out, err = run(command + [path.name] + shlex.split(directives.get("args", "")), cwd=path.parent,
                         env={"NO_COLOR": "1"})
    want = int(directives.get("exit", 65 if errors else 0))
    problems = []
    lines = [l.rstrip() for l in out.splitlines()]
    if expected and lines != expected or (not expected and errors and False):
        problems.append("\n".join(difflib.unified_diff(expected, lines, "expected", "printed", lineterm="")))
    if code != want:
        problems.append(f"exit status {code}, expected {want}\n{out[-1500:]}{err[-3000:]}")
    for line, at_line, at_column, wanted in errors:
        line = line or at_line
        heads = [l for l in err.splitlines() if ": error: " in l or l.startswith("error: ")]
        ok = any(wanted in l for l in err.splitlines())
        if ok and line:
            where = f":{line}:{at_column}:" if at_column else f":{line}:"
            ok = any(where in l for l in heads)
        if not ok:
            place = f" at {line}" + (f":{at_column}" if at_column else "") if line else ""
            problems.append(f"no error `{wanted}`{place} in:\n{err[-3000:]}")
    return "\n".join(problems) or None


def lang_tests(pxl, tally):
    files = sorted((TESTS / "lang").rglob("*.pxl"))
    files = [f for f in files if "helpers" not in f.parts]
    for name, problem in parallel([(str(f.relative_to(TESTS)), lambda f=f: lang_test(pxl, f)) for f in files], 2):
        if isinstance(problem, tuple):
            tally.skip(name, problem[1])
        else:
            tally.add(name, problem)


# ---- goldens and examples ---------------------------------------------------------------------------------------

def golden(pxl, path, expected_path, update, args=(), env=None, timeout=120):
    code, out, err = run([str(pxl), str(path), *args], env={"NO_COLOR": "1", **(env or {})}, timeout=timeout)
    if update and code == 0:
        expected_path.write_text(out)
    if not expected_path.exists():
        return f"{expected_path.name} is missing; scripts/test --update writes it\n{out}{err}"
    expected = expected_path.read_text()
    if code != 0:
        return f"exit status {code}\n{err[-3000:]}"
    if out != expected:
        return "\n".join(difflib.unified_diff(expected.splitlines(), out.splitlines(), "expected", "printed", lineterm=""))
    return None


def golden_tests(pxl, tally, update):
    for path in sorted((TESTS / "golden").glob("*.pxl")):
        tally.add(f"golden/{path.name}", golden(pxl, path, path.with_suffix(".expected"), update))


ACCURACY = re.compile(r"Accuracy on test set: ([\d.]+)%")


def mnist_folder():
    for folder in (os.environ.get("PXL_DATA"), ROOT / "shared/data/mnist", ROOT.parent / "shared/data/mnist"):
        if folder and (pathlib.Path(folder) / "train-images-idx3-ubyte.gz").exists():
            return pathlib.Path(folder)
    return None


def accuracy(pxl, path, args=(), env=None):
    code, out, err = run([str(pxl), str(path), "--quiet", *args], env=env, timeout=900)
    found = ACCURACY.search(out)
    return (float(found.group(1)), None) if code == 0 and found else (None, f"exit status {code}\n{out}{err[-3000:]}")


def training(pxl, tally, script, seeds, mean_floor, floor, args=()):
    """The accuracies that the example reaches over several seeds on real MNIST."""
    got, problem = [], None
    for _, (value, why) in parallel([(s, lambda s=s: accuracy(pxl, ROOT / "examples" / script, ("--seed", str(s), *args)))
                                     for s in seeds], 1):
        got.append(value)
        problem = problem or why
    if problem is None:
        mean = sum(got) / len(got)
        print(f"{script}: accuracy over {len(got)} seeds {' '.join(f'{a:.2f}' for a in got)}, mean {mean:.2f}", flush=True)
        if mean < mean_floor or min(got) < floor:
            problem = f"mean {mean:.2f} (at least {mean_floor}), lowest {min(got):.2f} (at least {floor})"
    tally.add(f"examples/{script} on MNIST", problem)


# covers: F119
def example_tests(pxl, tally, update):
    for name in ("linear", "outlining_cost"):
        tally.add(f"examples/{name}.pxl", golden(pxl, ROOT / f"examples/{name}.pxl", TESTS / f"golden/examples/{name}.expected", update))
    if mnist_folder():
        training(pxl, tally, "mnist.pxl", range(1, 6), 96.0, 95.0)
        training(pxl, tally, "mnist_adam.pxl", range(1, 6), 95.0, 93.5)
        training(pxl, tally, "mnist_guide.pxl", [42], 85.0, 85.0)
        training(pxl, tally, "conv_mnist.pxl", [42], 98.5, 98.5)
    else:
        tally.skip("examples on MNIST", "the data set is not on this machine (PXL_DATA names its folder)")
    programs.program_tests(pxl, ROOT, tally.add, run)
    value, why = accuracy(pxl, ROOT / "examples/mnist.pxl", env={"PXL_DATA": "built-in"})
    if why is None:
        print(f"mnist.pxl on the built-in digits: accuracy {value:.2f}", flush=True)
        why = None if value >= 97.0 else f"accuracy {value:.2f} on the built-in digits, expected at least 97"
    tally.add("examples/mnist.pxl on the built-in digits", why)


# ---- curves and repetition --------------------------------------------------------------------------------------

WORKLOADS = ("sgd8", "adam8", "small16")


def shared_folder(name):
    for folder in (ROOT / "shared", ROOT.parent / "shared"):
        if (folder / name).is_dir():
            return folder / name
    return None


def numpy_python():
    """A Python that has NumPy: the one that runs this, or the system's."""
    for python in (sys.executable, "/usr/bin/python3"):
        if pathlib.Path(python).exists() and run([python, "-c", "import numpy"])[0] == 0:
            return python
    return None


def bench_data():
    """The folder of initial weights and batches, prepared once a build tree; or the reason why there is none."""
    bench, data = shared_folder("bench"), ROOT / "build/bench-data"
    if not bench or not mnist_folder():
        return None, "shared/bench or MNIST is not on this machine"
    if (data / "prepared").exists():
        return data, None
    python = numpy_python()
    if not python:
        return None, "no Python with NumPy (package python3-numpy)"
    data.mkdir(parents=True, exist_ok=True)
    code, out, err = run([python, str(bench / "prep.py")], env={"BENCH_DATA": str(data)}, timeout=600)
    if code != 0:
        return None, f"prep.py failed: {(out + err)[-500:]}"
    (data / "prepared").touch()
    return data, None


def curve_test(pxl, workload, data):
    wanted = [float(l) for l in (TESTS / f"curves/{workload}.txt").read_text().split()]
    code, out, err = run([str(pxl), str(ROOT / f"bench/{workload}.pxl"), "--data", str(data), "--curve", str(len(wanted))],
                         timeout=300)
    if code != 0:
        return f"exit status {code}\n{err[-3000:]}"
    got = [float(l) for l in out.split()]
    if len(got) != len(wanted):
        return f"{len(got)} losses, expected {len(wanted)}"
    apart, step = max((abs(a - b) / abs(b), i) for i, (a, b) in enumerate(zip(got, wanted)))
    # Written so that a NaN fails.
    return None if apart <= 1e-4 else f"step {step}: loss {got[step]}, the reference has {wanted[step]} ({apart:.1e} apart)"


def curve_tests(pxl, tally):
    data, why = bench_data()
    for workload in WORKLOADS:
        if data:
            tally.add(f"curves/{workload}", curve_test(pxl, workload, data))
        else:
            tally.skip(f"curves/{workload}", why)


WAYS = [("one thread", {"PXL_THREADS": "1"}), ("one thread again", {"PXL_THREADS": "1"}), ("two threads", {"PXL_THREADS": "2"}),
        ("three threads", {"PXL_THREADS": "3"}), ("nothing fused", {"PXL_FUSE": "off"})]


def repeat_tests(pxl, tally):
    """The same program and seed give the same bits, again, with any number of threads, fused or not."""
    # The binary names its transforms where it is asked to leave out one that it has not.
    _, _, err = run([str(pxl), "-e", "program p { stream out y = ones([2]) + 1 }\nSession(p())"], env={"PXL_TRANSFORMS": "-?"})
    found = re.search(r"there are (.*)", err)
    tally.add("repeat: names of the transforms", None if found else f"not named in\n{err}")
    # A product by a stored transposed matrix adds its terms in another order (docs/performance.md).
    transforms = [t for t in found.group(1).split(", ") if t != "transpose"] if found else []
    ways = WAYS + [(f"without {t}", {"PXL_TRANSFORMS": f"-{t}"}) for t in transforms]
    for path in sorted((TESTS / "repeat").glob("*.pxl")):
        first = None
        for way, env in ways:
            code, out, err = run([str(pxl), str(path)], env={**env, "PXL_DATA": "built-in"})
            first = out if first is None else first
            problem = None
            if code != 0 or not out:
                problem = f"exit status {code}\n{err[-3000:]}"
            elif out != first:
                problem = "\n".join(difflib.unified_diff(first.splitlines(), out.splitlines(), WAYS[0][0], way, lineterm=""))
            tally.add(f"repeat/{path.name}, {way}", problem)


def reference_tests(pxl, tally):
    """The language's tests on the reference path, where plans run op by op."""
    os.environ["PXL_FUSE"] = "off"
    try:
        lang_tests(pxl, tally)
        golden_tests(pxl, tally, False)
    finally:
        del os.environ["PXL_FUSE"]


# ---- docs -------------------------------------------------------------------------------------------------------

DOCS = ["README.md", "docs/language.md", "docs/graphs.md", "docs/stdlib.md"]


def docs_programs(text):
    """(line, program, wanted output lines or None, wanted error or None, arguments) of each ```pxl block that runs.

    Before a block: `<!-- no run -->`, `<!-- expect: LINE -->` for each line of output, `<!-- expect error: TEXT -->`
    and `<!-- args: ... -->`. A block without a language right after one is its output (or error), to the letter.
    """
    lines, notes, out = text.splitlines(), [], []
    at, previous_end = 0, None
    while at < len(lines):
        line = lines[at]
        if line.startswith("<!--"):
            notes.append(line[4:].split("-->")[0].strip())
        elif line.startswith("```"):
            end = next(i for i in range(at + 1, len(lines)) if lines[i].startswith("```"))
            body = lines[at + 1:end]
            if line == "```pxl":
                wanted = [n[len("expect:"):].strip() for n in notes if n.startswith("expect:")]
                error = next((n[len("expect error:"):].strip() for n in notes if n.startswith("expect error:")), None)
                args = next((n[len("args:"):].strip() for n in notes if n.startswith("args:")), "")
                if "no run" not in notes:
                    out.append({"line": at + 1, "text": "\n".join(body) + "\n", "output": wanted or None, "error": error,
                                "args": args, "shown": None, "test": "test" in notes})
                previous_end = end if "no run" not in notes else None
            elif line == "```text" and previous_end is not None and not any(l.strip() for l in lines[previous_end + 1:at]):
                out[-1]["shown"] = body
                previous_end = None
            notes, at = [], end
        elif line.strip():
            notes = []
        at += 1
    return out


def docs_test(pxl, case):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "program.pxl"
        path.write_text(case["text"])
        command = [str(pxl)] + (["test"] if case["test"] else []) + [path.name]
        code, out, err = run(command + shlex.split(case["args"]), cwd=folder, env={"NO_COLOR": "1", "PXL_DATA": "built-in"})
    failing = case["error"] is not None
    if (code != 0) != failing:
        return f"exit status {code}\n{out[-1500:]}{err[-3000:]}"
    if failing and case["error"] not in err:
        return f"no error `{case['error']}` in:\n{err[-3000:]}"
    got = [l.rstrip() for l in (err if failing else out).splitlines()]
    for wanted in (case["output"], case["shown"]):
        if wanted is not None and got != [l.rstrip() for l in wanted]:
            return "\n".join(difflib.unified_diff(wanted, got, "shown in the text", "printed", lineterm=""))
    return None


def docs_tests(pxl, tally):
    for name in DOCS:
        cases = docs_programs((ROOT / name).read_text())
        for test, problem in parallel([(f"docs: {name}:{c['line']}", lambda c=c: docs_test(pxl, c)) for c in cases], 2):
            tally.add(test, problem)


# ---- house ------------------------------------------------------------------------------------------------------

LAYERS = ["runtime/base", "runtime/tensor", "runtime/kernels", "runtime/graph", "runtime/ops", "runtime/transform",
          "runtime/tiles", "runtime/plan", "runtime/execute", "runtime/io", "interpreter/syntax", "interpreter/elaborate", "interpreter/tools",
          "interpreter/repl", "interpreter/kernel", "interpreter/lsp", "interpreter/cli"]
# What a layer may include besides the ones listed before it is nothing; these it may not include although they are.
APART = {"runtime/plan": ["runtime/tiles"], "runtime/execute": ["runtime/tiles"],
         "runtime/io": ["runtime/kernels", "runtime/graph", "runtime/ops", "runtime/transform", "runtime/tiles", "runtime/plan",
                        "runtime/execute"],
         "interpreter/syntax": [l for l in LAYERS if l.startswith("runtime/") and l != "runtime/base"]}
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")


def tracked(*patterns):
    code, out, _ = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns])
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def layering():
    problems = []
    for index, layer in enumerate(LAYERS):
        allowed = [l for l in LAYERS[:index + 1] if l not in APART.get(layer, [])]
        for path in sorted((ROOT / layer).glob("*.[ch]pp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                m = re.match(r'#include "((?:runtime|interpreter)/\w+)/', line)
                if m and m.group(1) not in allowed:
                    problems.append(f"{path.relative_to(ROOT)}:{number}: {layer} must not include {m.group(1)}")
    for path in tracked("*.cpp", "*.hpp"):
        text = path.read_text()
        if re.search(r"#include <xt(ensor|l|-blas)?/", text) and path.name != "xtensor.hpp":
            problems.append(f"{path.relative_to(ROOT)}: only runtime/tensor/xtensor.hpp includes xtensor")
    return "\n".join(problems) or None


def formatting():
    files = [str(f) for f in tracked("*.cpp", "*.hpp", "*.inc")]
    code, out, err = run(["clang-format-14", "--dry-run", "-Werror", *files])
    return None if code == 0 else "\n".join(sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error", err, re.M))))


# One file of each layer, those that read foreign bytes first: all files take the better part of an hour.
TIDY = ["runtime/io/npy.cpp", "runtime/io/idx.cpp", "runtime/execute/checkpoint.cpp", "interpreter/syntax/literals.cpp",
        "runtime/tensor/array.cpp", "runtime/graph/verify.cpp", "runtime/ops/infer.cpp", "runtime/plan/storage.cpp",
        "interpreter/elaborate/strings.cpp", "interpreter/cli/options.cpp"]


def tidy_test(database):
    problems = []
    for name, (_, out, err) in parallel(
            [(f, lambda f=f: run(["clang-tidy-14", "-p", str(database), "--quiet", f], timeout=600)) for f in TIDY], 2):
        problems += sorted({l for l in out.splitlines() if re.search(r": (warning|error): ", l)})
    return "\n".join(problems) or None


def leftovers():
    problems = []
    for path in tracked("*.cpp", "*.hpp", "*.inc", "*.pxl", "*.py", "*.cmake", "*.g4"):
        if path == pathlib.Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if WORDS.search(line):
                problems.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return "\n".join(problems) or None


KINDS = "unit,lang,golden,reference,examples,curves,repeat,cli,repl,hostile,oracle,bench,docs,page,stdlib,editors,lsp,jupyter,house"


def house_tests(tally):
    tally.add("house: data flows one way", layering())
    tally.add("house: formatting", formatting())
    tally.add("house: nothing left over", leftovers())
    tally.add("house: docs/coverage.md", coverage.check())
    links.link_tests(ROOT, tracked("*.md"), KINDS.split(","), tally.add)


# ---- main -------------------------------------------------------------------------------------------------------

def stage(name):
    print(f"== {name} [{time.strftime('%H:%M:%S')}]", flush=True)


# Programs of unit tests of the layers that read texts and files.
READERS = ("unit_base", "unit_tensor", "unit_io", "unit_syntax")


def build(preset, tally, targets=()):
    code, out, err = run([str(ROOT / "scripts/build"), preset, *targets], timeout=3000)
    tally.add(f"build {preset}", None if code == 0 else (out + err)[-6000:])
    return code == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true", help="also sanitizers, clang and clang-tidy")
    parser.add_argument("--sanitize-readers", action="store_true", help="also the unit tests of what reads foreign bytes, with sanitizers")
    parser.add_argument("--update", action="store_true", help="rewrite goldens")
    parser.add_argument("--only", default=KINDS, help="kinds, comma separated")
    parser.add_argument("--build", default="build/release", help="build tree")
    options = parser.parse_args()
    kinds = options.only.split(",")
    tree = ROOT / options.build
    pxl = tree / "pxl"
    tally = Tally()
    for kind, body in (("unit", lambda: unit_tests(tree, tally)), ("lang", lambda: lang_tests(pxl, tally)),
                       ("golden", lambda: golden_tests(pxl, tally, options.update)),
                       ("reference", lambda: reference_tests(pxl, tally)),
                       ("examples", lambda: example_tests(pxl, tally, options.update)),
                       ("cli", lambda: cli.cli_tests(pxl, tally.add, parallel)),
                       ("hostile", lambda: hostile.hostile_tests(pxl, tally.add, parallel)),
                       ("oracle", lambda: against_torch.oracle_tests(pxl, TESTS / "oracle", tally.add, run)),
                       ("repl", lambda: repl.repl_tests(pxl, tally, parallel)),
                       ("bench", lambda: bench.bench_tests(pxl, tally.add, bench_data()[0])),
                       ("docs", lambda: docs_tests(pxl, tally)),
                       ("stdlib", lambda: stdlib.stdlib_tests(pxl, ROOT, tally.add, parallel, run)),
                       ("docs", lambda: model.model_tests(pxl, tally.add, options.update)),
                       ("page", lambda: page.page_tests(pxl, tally.add, tally.skip)),
                       ("curves", lambda: curve_tests(pxl, tally)), ("repeat", lambda: repeat_tests(pxl, tally)),
                       ("editors", lambda: editors.editor_tests(tally.add, tally.skip)),
                       ("lsp", lambda: lsp.lsp_tests(pxl, tally.add)),
                       ("jupyter", lambda: jupyter.jupyter_tests(pxl, tally.add, tally.skip)),
                       ("house", lambda: house_tests(tally))):
        if kind in kinds:
            stage(kind)
            body()
    if options.sanitize_readers:
        stage("build asan: readers")
        if build("asan", tally, READERS):
            unit_tests(ROOT / "build/asan", tally, READERS)
    if options.all:
        for preset in ("asan", "clang"):
            stage(f"build {preset}")
            if build(preset, tally):
                other = ROOT / "build" / preset
                stage(f"{preset}: unit, lang, golden")
                unit_tests(other, tally)
                lang_tests(other / "pxl", tally)
                golden_tests(other / "pxl", tally, False)
        stage("tidy")
        tally.add("house: clang-tidy", tidy_test(ROOT / "build/clang"))
    stage("done")
    print(f"{tally.passed} passed, {tally.failed} failed" + (f", {tally.skipped} skipped" if tally.skipped else ""))
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
