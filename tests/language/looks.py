"""Looks at programs: check, schedule, graph, profile, an open file in an editor. A look has no effect, reads only the
program and its imports, and finds no error in a program that would run.

Every built-in is called, from the table in the source, so that a new one is covered; strace says which files were opened
and which processes started.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

from tests.support.harness import ROOT

COMMANDS = (["check"], ["schedule"], ["graph"], ["profile", "--machine", "bow"])
# The scripts of tests/look begin with this text.
DEFINED = re.compile(r'\bdefine\(\s*\w+,\s*(no_effects|Effect::\w+|\{[^}]*\}),\s*\{"(\w+)\(', re.S)
ROW = re.compile(r'\{"(\w+)",\s*"\(')  # a method of a table of members: name, then parameters
METHOD = re.compile(r'make_method\((?:no_effects|Effect::\w+|\{[^}]*\}),\s*"(\w+)"', re.S)


def tables():
    """Names of the built-ins, and of methods that some object has."""
    functions, methods = {}, set()
    for path in sorted((ROOT / "interpreter").rglob("*.cpp")):
        text = path.read_text()
        functions.update({name: effects for effects, name in DEFINED.findall(text)})
        methods.update(ROW.findall(text))
        methods.update(METHOD.findall(text))
    return functions, sorted(methods)


# Files whose header a user's command may read.
HEADERS = ("victim.npy", "victim.png", "victim.safetensors", "victim.onnx")
VICTIMS = (*HEADERS, "victim.svg")
ARGUMENTS = ['"victim.npy"', '"victim.npy", array([1.0])', '[1, 2, 3], path = "victim.svg"', '[1, 2, 3], path = "victim.png"',
             '"victim.onnx"', '"secret.txt"', '"LOOK_SECRET"', "", "3", "[1, 2]", "zeros([2, 2])", "session", "p", "w"]
# Methods that reach outside, on every object that can be made.
OBJECTS = ["session", "p", "w", "[1, 2]", '"text"', "{}", "zeros([2, 2])", "mnist()", "mnist().train",
           "mnist().train.batches(8)", "progress(range(3))", "p.main_graph", "normal"]

HEAD = """import helper
program tiny(n = 2) {
  variable w: float32[n] = 1
  stream in x: float32[n]
  stream out y = host_load(x) * w
}
p = tiny()
session = Session(p)
w = p.w
"""


def every_call():
    functions, methods = tables()
    lines = [HEAD]
    for name in functions:
        if name != "exit":
            lines += [f"{name}({arguments})" for arguments in ARGUMENTS]
            lines += [f"print({name}({arguments}))" for arguments in ARGUMENTS[:3]]
            lines += [f'list(map({name}, ["victim.npy"]))', f'[f("victim.npy", array([1.0])) for f in [{name}]]']
    for name in methods:
        for thing in OBJECTS:
            lines += [f"{thing}.{name}({arguments})" for arguments in ('"victim.safetensors"', "", "[1, 2]")]
            lines.append(f'getattr({thing}, "{name[:1]}" + "{name[1:]}")("victim.safetensors")')
    return "\n".join(lines) + "\n", functions, methods


def sandbox(folder):
    (folder / "helper.pxl").write_text("helped = 1\n")
    (folder / "secret.txt").write_text("LOOKED-AT")
    for name in VICTIMS:
        (folder / name).write_text("untouched")
    text, functions, methods = every_call()
    text += "".join(f"{call}\n" for call in (
        'print("LOOKED-AT")', 'print_tensor(ones([2]), "LOOKED-AT")', 'x = ops.print_tensor(array([1.0]), title = "LOOKED-AT") + 1',
        'for i in progress([1], "LOOKED-AT") { }'))
    (folder / "all.pxl").write_text(text)
    return functions, methods


def traced(folder, command, data=None):
    """Runs under strace; the result, and the calls that opened files or started processes."""
    log = folder.parent / "trace.txt"
    done = subprocess.run(["strace", "-f", "-qq", "-o", str(log), "-e", "trace=open,openat,openat2,creat,execve,fork,vfork,"
                           "rename,renameat,renameat2,unlink,unlinkat,mkdir,truncate,clone,clone3", *command],
                          input=data, capture_output=True, timeout=300, cwd=folder, env=dict(os.environ, LOOK_SECRET="LOOKED-AT"))
    return done, log.read_text(errors="replace")


def touched(folder, log, allowed):
    """The files of the sandbox that were opened, what was written, and processes."""
    problems = []
    for line in log.splitlines():
        call = re.search(r"(\w+)\((.*)", line)
        if not call:
            continue
        name, rest = call.groups()
        if name == "execve" and log.index(line) > 0:
            problems.append(line)
        if name in ("fork", "vfork") or (name in ("clone", "clone3") and "CLONE_THREAD" not in rest):
            problems.append(line)
        if name.startswith(("rename", "unlink", "mkdir", "truncate", "creat")):
            problems.append(line)
        path = re.search(r'"([^"]*)"', rest)
        if name.startswith("open") and path:
            if re.search(r"O_(WRONLY|RDWR|CREAT|TRUNC)", rest) and not path[1].startswith(("/dev/null", "/dev/tty")):
                problems.append(line)
            full = os.path.normpath(folder / path[1])
            system = ("/lib", "/usr", "/etc/ld.so", "/proc/", "/sys/", "/dev/", "/etc/localtime", str(ROOT / "build"))
            if not full.startswith(system) and os.path.basename(full) not in allowed:
                problems.append(line)
    return problems


def unchanged(folder):
    problems = [p.name for p in folder.glob("victim.*") if p.read_text() != "untouched"]
    known = {"helper.pxl", "secret.txt", "all.pxl", *VICTIMS}
    return problems + [p.name for p in folder.iterdir() if p.name not in known]


def message(content):
    body = json.dumps({"jsonrpc": "2.0", **content}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def opened_in_editor(folder):
    uri = (folder / "all.pxl").as_uri()
    diagnostics = {"textDocument": {"uri": uri}}
    return b"".join(message(m) for m in (
        {"id": 1, "method": "initialize", "params": {"capabilities": {"textDocument": {"diagnostic": {}}}}},
        {"method": "initialized", "params": {}},
        {"method": "textDocument/didOpen", "params": {"textDocument": {
            "uri": uri, "languageId": "pxl", "version": 1, "text": (folder / "all.pxl").read_text()}}},
        {"id": 2, "method": "textDocument/diagnostic", "params": diagnostics},
        {"id": 3, "method": "textDocument/hover", "params": {**diagnostics, "position": {"line": 6, "character": 0}}},
        {"id": 4, "method": "shutdown"}, {"method": "exit"}))


def effect_tests(pxl, add, skip):
    if not shutil.which("strace"):
        skip("a look opens no file", "strace is missing")
        return
    for title, command, allowed in (
            *((command[0], [*command, "all.pxl"], {"all.pxl", "helper.pxl", *HEADERS}) for command in COMMANDS),
            ("an open file", ["lsp"], {"all.pxl", "helper.pxl"})):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place) / "box"
            folder.mkdir()
            functions, methods = sandbox(folder)
            data = opened_in_editor(folder) if command == ["lsp"] else None
            done, log = traced(folder, [str(pxl), *command], data)
            problems = touched(folder, log, allowed)[:5] + unchanged(folder)
            if b"LOOKED-AT" in done.stdout + done.stderr:
                problems.append("what a file or the environment holds is shown")
            if done.returncode not in (0, 65):
                problems.append(f"exit status {done.returncode}: {done.stderr[-400:]}")
            # The program must have been looked at, and the table must have been found.
            if command[0] == "check" and b"all.pxl" not in done.stderr:
                problems.append("nothing was checked")
            if len(functions) < 100 or not {"save", "plot", "read_text", "env"} <= set(functions) or "restore" not in methods:
                problems.append("the tables of built-ins were not found")
            add(f"{title}: no built-in has an effect", "\n".join(problems) or None)


def looks_fine(pxl, path, arguments=()):
    problems = []
    for command in COMMANDS:
        done = subprocess.run([str(pxl), *command, str(path), *(arguments if command[0] == "profile" else ())], capture_output=True,
                              text=True, timeout=300, cwd=path.parent, errors="replace")
        # No program, and no session of one, are reasons to end.
        reason = re.search(r"error: .*(no program is built|creates no session)", done.stderr)
        if done.returncode not in (0, 65 if reason else 0) or ("error" in done.stderr.split("not built")[0] and not reason):
            problems.append(f"{command[0]}: exit status {done.returncode}\n{done.stderr[-600:]}")
    return "\n".join(problems) or None


def cells(path):
    notebook = json.loads(path.read_text())
    failing = lambda c: any(o.get("output_type") == "error" for o in c["outputs"]) or "raises-exception" in c["metadata"].get("tags", [])
    code = ["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code" and not failing(c)]
    keep = [[line for line in text.splitlines() if not re.match(r"\s*[:%?]|.*\?\s*$", line)] for text in code]
    return "\n".join("\n".join(lines) for lines in keep) + "\n"


def named_tests(pxl, add):
    path = ROOT / "tests/look/depends.pxl"
    wanted = ("program sized is not built: its parameter `n` depends on the result of a run",
              "program inside is not built: line 11 depends on the result of a run")
    for command in COMMANDS:
        done = subprocess.run([str(pxl), *command, str(path)], capture_output=True, text=True, timeout=60)
        missing = [w for w in wanted if w not in done.stderr]
        add(f"look: {command[0]} names programs that depend on a run",
            f"exit status {done.returncode}, lacks {missing}\n{done.stderr}" if missing or done.returncode not in (0, 65) else None)


def warning_tests(pxl, add, every):
    """Programs that do what is meant have no warnings. The check covers one in `every` tests of the language."""
    lang = [p for p in sorted((ROOT / "tests/lang").rglob("*.pxl")) if "expect" in p.read_text() and "expect error" not in p.read_text()]
    files = [p for folder in ("examples", "stdlib", "bench", "tests/golden", "tests/repeat") for p in sorted((ROOT / folder).rglob("*.pxl"))] + lang[::every]
    done = subprocess.run([str(pxl), "check", "--json", *map(str, files)], capture_output=True, text=True, timeout=600)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = [f"{e.get('file')}:{e.get('line')}: {e['message']} [{e['code']}]" for e in events if e["event"] == "diagnostic" and e["severity"] == "warning"]
    add("look: programs that do what is meant have no warnings", "\n".join(found) or (None if len(events) >= len(files) else done.stderr[-2000:]))


def look_tests(pxl, add, skip, parallel):
    effect_tests(pxl, add, skip)
    named_tests(pxl, add)
    scripts = sorted((ROOT / "tests/look").glob("*.pxl")) + sorted((ROOT / "examples").glob("*.pxl"))
    with tempfile.TemporaryDirectory() as place:
        for notebook in sorted((ROOT / "examples/notebooks").glob("*.ipynb")):
            path = pathlib.Path(place) / (notebook.stem + ".pxl")
            path.write_text(cells(notebook))
            scripts.append(path)
        jobs = [(path.name, lambda path=path: looks_fine(pxl, path)) for path in scripts]
        for name, problem in parallel(jobs, os.cpu_count()):
            add(f"look: {name}", problem)
