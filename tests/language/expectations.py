"""tests/lang/**/*.pxl with their expectations in comments, and programs whose output is a file, byte for byte.

Expectations in a .pxl file:
  # expect: LINE             the next line of standard output
  # expect error: TEXT       standard error contains TEXT
  # expect error line N: TEXT     ... in an error on line N
  # expect error at N:M: TEXT     ... at line N, column M
  # errors: N                the number of errors
  # exit: N                  the exit status (default: 0, or 65 where an error is expected)
  # args: ...                arguments of the script
  # run: test                use `pxl test`
  # engine: planned          what is printed shows how kernels round: not of the kind "reference"
  # skip: REASON
"""
import contextlib
import difflib
import os
import re
import shlex

from tests.support.harness import TESTS, own_folder, parallel, run

EXPECT = re.compile(r"#\s*expect: ?(.*)$")
EXPECT_ERROR = re.compile(r"#\s*expect error(?: line (\d+)| at (\d+):(\d+))?: ?(.*)$")
DIRECTIVE = re.compile(r"#\s*(errors|exit|args|run|skip|engine): ?(.*)$")


def engine():
    return os.environ.get("PXL_ENGINE", "planned")


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
    if engine() not in directives.get("engine", engine()).split(", "):
        return ("skip", f"of the engine {directives['engine']}")
    if "skip" in directives:
        return ("skip", directives["skip"])
    if not expected and not errors and "exit" not in directives and directives.get("run") != "test":
        return "the file expects nothing"
    command = [str(pxl)] + (["test"] if directives.get("run") == "test" else [])
    with own_folder(path) as folder:
        code, out, err = run(command + [path.name] + shlex.split(directives.get("args", "")), cwd=folder, env={"NO_COLOR": "1"})
    want = int(directives.get("exit", 65 if errors else 0))
    problems = []
    lines = [l.rstrip() for l in out.splitlines()]
    if expected and lines != expected:
        problems.append("\n".join(difflib.unified_diff(expected, lines, "expected", "printed", lineterm="")))
    if code != want:
        problems.append(f"exit status {code}, expected {want}\n{out[-1500:]}{err[-3000:]}")
    heads = [l for l in err.splitlines() if ": error: " in l or l.startswith("error: ")]
    if len(heads) != int(directives.get("errors", len(heads))):
        problems.append(f"{len(heads)} errors, expected {directives['errors']}:\n{err[-3000:]}")
    for line, at_line, at_column, wanted in errors:
        line = line or at_line
        ok = any(wanted in l for l in err.splitlines())
        if ok and line:
            where = f":{line}:{at_column}:" if at_column else f":{line}:"
            ok = any(where in l for l in heads)
        if not ok:
            place = f" at {line}" + (f":{at_column}" if at_column else "") if line else ""
            problems.append(f"no error `{wanted}`{place} in:\n{err[-3000:]}")
    return "\n".join(problems) or None


def lang_tests(pxl, tally, every=1):
    """The files, or each of `every` one."""
    files = sorted((TESTS / "lang").rglob("*.pxl"))
    files = [f for f in files if "helpers" not in f.parts][::every]
    for name, problem in parallel([(str(f.relative_to(TESTS)), lambda f=f: lang_test(pxl, f)) for f in files], 2):
        if isinstance(problem, tuple):
            tally.skip(name, problem[1])
        else:
            tally.add(name, problem)


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
        if engine() != "planned" and "# engine: planned" in path.read_text():
            tally.skip(f"golden/{path.name}", "of the engine planned")
            continue
        tally.add(f"golden/{path.name}", lambda: golden(pxl, path, path.with_suffix(".expected"), update))


@contextlib.contextmanager
def by_engine(name):
    """Programs that run meanwhile run on an engine."""
    os.environ["PXL_ENGINE"] = name
    try:
        yield
    finally:
        del os.environ["PXL_ENGINE"]
