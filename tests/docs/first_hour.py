"""docs/first-hour.md, walked in one folder: each program is written to its file, each command runs, and prints what the page shows.

`<!-- file: NAME -->` before a pxl block names its file; a text block after commands is what they print to standard output.
"""
import difflib
import os
import pathlib
import re
import tempfile

from tests.support.harness import ROOT, run

PAGE = ROOT / "docs/first-hour.md"
BLOCK = re.compile(r"(?:^<!-- file: (?P<file>\S+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


def steps(text):
    """(line, file or None, program or commands, wanted output or None), in order."""
    found = []
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start()) + 1
        if block["language"] == "text":
            found[-1]["wanted"] = block["text"]
        elif block["language"] in ("pxl", "sh"):
            found.append({"line": line, "file": block["file"], "text": block["text"], "wanted": None})
    return found


def step_problem(pxl, folder, step):
    if step["file"]:
        (pathlib.Path(folder) / step["file"]).write_text(step["text"])
        return None
    code, out, err = run(["bash", "-e", "-c", step["text"]], cwd=folder,
                         env={"NO_COLOR": "1", "PATH": f"{pathlib.Path(pxl).resolve().parent}:{os.environ['PATH']}"})
    if code != 0:
        return f"exit status {code}\n{out[-1500:]}{err[-1500:]}"
    if step["wanted"] is not None and out != step["wanted"]:
        return "\n".join(difflib.unified_diff(step["wanted"].splitlines(), out.splitlines(), "shown", "printed", lineterm=""))
    return None


def first_hour_tests(pxl, add):
    with tempfile.TemporaryDirectory() as folder:
        for step in steps(PAGE.read_text()):
            problem = step_problem(pxl, folder, step)
            add(f"docs: first hour, line {step['line']}", problem)
            if problem:
                return
        left = sorted(p.name for p in pathlib.Path(folder).iterdir())
        wanted = ["cost.html", "data.pxl", "graph.html", "inside.npy", "points.npy", "ring.pxl", "ring.safetensors", "use.pxl"]
        add("docs: the first hour's files", None if left == wanted else str(left))
