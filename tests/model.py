"""The page of the IPU model shows what `pxl validate-model` prints."""

import difflib
import pathlib
import re
import subprocess

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/ipu-model.md"
SHOWN = re.compile(r"(<!-- pxl (.*?) -->\n)(.*?)(<!-- end -->)", re.S)


def output(pxl, arguments):
    done = subprocess.run([str(pxl), *arguments.split()], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr}"


def model_tests(pxl, add, update):
    """`add(name, problem or None)`; `update` rewrites the page."""
    text = PAGE.read_text()
    if update:
        PAGE.write_text(SHOWN.sub(lambda m: m[1] + output(pxl, m[2]) + m[4], text))
        return
    shown = list(SHOWN.finditer(text))
    add("docs/ipu-model.md shows the model's table", None if shown else "no table")
    for m in shown:
        got = output(pxl, m[2])
        add(f"docs/ipu-model.md: pxl {m[2]}",
            None if got == m[3] else "\n".join(difflib.unified_diff(m[3].splitlines(), got.splitlines(), "page", "printed")))
