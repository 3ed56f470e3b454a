"""Kinds of errors: each has a section in docs/errors.md whose example gives it, and every diagnostic has a kind."""
import json
import pathlib
import re
import shlex
import subprocess
import tempfile

from tests.support.harness import ROOT, own_folder

WITHOUT_EXAMPLE = {"internal", "interrupted"}


# Texts whose kind is easily mistaken.
P = "program p {\n  variable w: float32[2] = 1\n  stream in x: float32[2]\n  stream out y = host_load(x) + w\n}\n"
G = "graph = ir.create_graph((t) => t * 2, float32[2])\nt = variable(ones([2]))\n"
TEXTS = [
    ("x = True", "other-language"), ("[1]['a']", "index"), ("x = 3\nx[0]", "type"), ("if ones([2]) { }", "value"), ("[].pop()", "index"),
    (P + "Session(p()).run()", "stream"), (P + "Session(p()).run(x = [1, 2])['z']", "key"), (P + "Session(p()).run(x = [1, 2]).z", "unknown-member"),
    (P + "i = p()\ni.replication_facto = 2", "unknown-member"),
    (P + "i = p()\ni.num_host_transfers = 0", "value"), ("program q { }\nSession(q()).run()", "session"),
    (G + "repeat(graph, -1, t)", "value"), (G + "graph(t, t)", "graph-inputs"), (G + "ir.main_graph(t)", "program"),
    ("ir.create_graph()", "arguments"), ("f() = 1", "assignment"),
    ("a = ones([2])\na[0:2] = ones([3])", "shape"), ("module M(ref x) { build(y) { return y } }", "misplaced"),
    ("len(variable(1.0))", "shape"), ("import nowhere", "import"), ("uniform(0, 1, [2], int32)", "dtype"),
]


def sorts():
    """{kind: sort}, in the order of the table."""
    text = (ROOT / "runtime/base/diagnostics/codes.inc").read_text()
    return dict(re.findall(r'^PXL_ERROR_KIND\(\w+, "([\w-]+)", (\w+)\)', text, re.M))


def kinds():
    return list(sorts())


def warnings():
    """Kinds of warnings, in order."""
    named = dict(re.findall(r'(\w+) = "([\w-]+)"', "".join((ROOT / p).read_text() for p in ("interpreter/tools/lints/lints.hpp", "interpreter/values/notices.hpp"))))
    table = re.search(r"LintKind table\[\] = \{(.*?)\n\};", (ROOT / "interpreter/tools/lints/lints.cpp").read_text(), re.S).group(1)
    return [named[row] for row in re.findall(r"\{(\w+), \"", table)]


def sections():
    """{kind: (language, example, arguments)}; the last two are None where a section has none."""
    out = {}
    for section in re.split(r"^## ", (ROOT / "docs/errors.md").read_text(), flags=re.M)[1:]:
        code = re.search(r"^```(pxl|sh)\n(.*?)^```", section, re.M | re.S)
        args = re.search(r"<!-- args: (.*) -->", section)
        out[section.split("\n")[0]] = (code and code.group(1), code and code.group(2), args.group(1) if args else "")
    return out


def given(pxl, arguments, folder, text=None):
    if text is not None:
        (folder / "example.pxl").write_text(text)
    done = subprocess.run([str(pxl), "--json", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    return done.returncode, [e["code"] for e in events if e["event"] == "diagnostic"]


def example_gives(pxl, kind, language, text, arguments):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if language == "sh":
            status, found = given(pxl, shlex.split(text)[1:], folder)
        else:
            warns = kind in warnings()
            status, found = given(pxl, ["check" if warns else "run", "example.pxl", *shlex.split(arguments)], folder, text)
        if (status == 0) != (kind in warnings()) or found[:1] != [kind]:
            return f"the example exits with {status} and gives {found}, not {kind}"
        page = subprocess.run([str(pxl), "explain", kind], capture_output=True, text=True, timeout=60)
        lines = ["    " + line for line in text.splitlines()]
        return None if page.returncode == 0 and "\n".join(lines) in page.stdout else f"pxl explain {kind}:\n{page.stdout}{page.stderr}"


def texts(pxl):
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        for text, kind in TEXTS:
            found = given(pxl, ["run", "example.pxl"], pathlib.Path(name), text + "\n")[1]
            if found[:1] != [kind]:
                wrong.append(f"{text!r} gives {found}, not {kind}")
    return "\n".join(wrong) or None


def table():
    pages = sections()
    listed = kinds() + warnings()
    row = re.search(r"^\| of the world \| (.*), and kinds that `fail` names \|$", (ROOT / "docs/errors.md").read_text(), re.M).group(1)
    if re.findall(r"\[([\w-]+)\]", row) != [kind for kind, sort in sorts().items() if sort == "world"]:
        return f"docs/errors.md: other kinds of the world: {row}"
    if list(pages) != listed:
        return f"docs/errors.md: without a section {set(listed) - set(pages)}, without a kind {set(pages) - set(listed)}, or another order"
    bare = {k for k, (_, text, _) in pages.items() if text is None} - WITHOUT_EXAMPLE
    return f"without an example: {bare}" if bare else None


def every_diagnostic_has_a_kind(pxl):
    """The programs of the language's tests whose messages are expected: each has a kind that `pxl explain` knows."""
    known, problems, vague = set(kinds()), [], 0
    files = [p for p in sorted((ROOT / "tests/lang").rglob("*.pxl")) if "# expect error" in p.read_text()]
    total = 0
    for path in files:
        text = path.read_text()
        command = "test" if "# run: test" in text else "run"
        args = re.search(r"^# args: (.*)$", text, re.M)
        with own_folder(path) as folder:
            done = subprocess.run([str(pxl), *(["test"] if command == "test" else []), "--json", path.name,
                                   *shlex.split(args.group(1) if args else "")], cwd=folder, capture_output=True, text=True, timeout=60)
        for line in done.stdout.splitlines():
            event = json.loads(line)
            if event["event"] != "diagnostic":
                continue
            total += 1
            vague += event["code"] == "value"
            if event["code"] not in known or event["code"] == "internal":
                problems.append(f"{path.relative_to(ROOT)}: {event['code']}: {event['message']}")
    if total < 200:
        problems.append(f"only {total} diagnostics were seen")
    # `value` is for what no other kind says; were it many, kinds would be missing.
    if vague > total / 8:
        problems.append(f"{vague} of {total} diagnostics are of the kind `value`")
    return "\n".join(problems) or None


def explain_tests(pxl, add, parallel):
    add("explain: a section for each kind", table)
    jobs = [(f"explain: {kind}", lambda kind=kind, s=s: example_gives(pxl, kind, *s)) for kind, s in sections().items() if s[1]]
    for name, problem in parallel(jobs, 2):
        add(name, problem)
    add("explain: every diagnostic has a kind", lambda: every_diagnostic_has_a_kind(pxl))
    add("explain: kinds that are easily mistaken", lambda: texts(pxl))
