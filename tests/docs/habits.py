"""The table of calls as other frameworks write them (interpreter/language/names/habits.inc): docs/from-pytorch.md has it. Each
row's example is refused with the row's sentence. `--update` rewrites the page."""
import pathlib
import re
import tempfile

from tests.support.harness import ROOT, run

TABLE = ROOT / "interpreter/language/names/habits.inc"
PAGE = ROOT / "docs/from-pytorch.md"
HEADING = "## Calls that are written in another way\n"
LEAD = """
pxl refuses these calls, which another framework writes so, with this sentence. `pxl check` and editors say it before anything runs. An
editor's quick fix rewrites the call if the table has one of the same function.

| framework | writes | here | why |
|---|---|---|---|
"""
ROW = re.compile(r"HABIT\(" + r",\s*".join([r'"((?:[^"\\]|\\.)*)"'] * 6) + r"\)")
SETUP = """from nn import *
x, y, w = ones([2, 3]), ones([2, 3]), ones([3])
m, labels = ones([2, 3]) > 0, array([0, 1])
images, pixels = ones([2, 3, 4, 5]), zeros([2, 4, 5], int32)
column, row = ones([4, 1]), ones([4])
layer = MultiHeadAttention(64, 8)
"""


def parts(text):
    """The arguments of a call, without their names."""
    out, depth, one = [], 0, ""
    for c in text + ",":
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            out.append(one.split(" = ")[-1].strip())
            one = ""
        else:
            one += c
    return out


def rows():
    # Adjacent literals are one.
    for found in ROW.finditer(re.sub(r'"\s*\n\s*"', "", TABLE.read_text())):
        callable_, told_by, framework, example, here, why = (re.sub(r"\\(.)", r"\1", f) for f in found.groups())
        values = parts(example)
        call = f"{'layer' if callable_.endswith('.build') else callable_}({example})"
        yield callable_, told_by, framework, call, re.sub(r"\{(\d)\}", lambda m: values[int(m.group(1))], here), why


def page_with(table):
    text = PAGE.read_text()
    begin = text.index(HEADING) + len(HEADING)
    end = text.index("\n## ", begin)
    return text[:begin] + table + text[end:]


def program(all_rows):
    modules = {path.stem: set(re.findall(r"^(?:module|def) (\w+)", path.read_text(), re.M)) for path in sorted((ROOT / "stdlib").glob("*.pxl"))}
    names = {}
    for callable_, *_ in all_rows:
        name = callable_.split(".")[0]
        names.setdefault("nn" if re.search(rf"\b{name}\b", (ROOT / "stdlib/nn.pxl").read_text()) else
                         next(m for m, has in modules.items() if name in has), set()).add(name)
    lines = [f"from {module} import {', '.join(sorted(has))}" for module, has in names.items()]
    lines += SETUP.splitlines()[1:]
    for _, _, framework, call, here, why in all_rows:
        sentence = f"{why}, so {framework}'s `{call}` is `{here}`".replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'with expect_error("{sentence}") {{ {call} }}')
    return "\n".join(lines + ['print("all")']) + "\n"


def habits_tests(pxl, tally, update=False):
    all_rows = list(rows())
    wanted = page_with(LEAD + "".join(f"| {framework} | `{call}` | `{here}` | {why} |\n" for _, _, framework, call, here, why in all_rows))
    if update:
        PAGE.write_text(wanted)
    tally.add("docs: the table of calls in docs/from-pytorch.md is that of habits.inc",
              None if PAGE.read_text() == wanted else "write it anew: python3 tests/run.py --only docs --update")
    written = TABLE.read_text().count("\nHABIT(")
    tally.add("docs: each row of habits.inc is read", None if written == len(all_rows) else f"{written} rows, {len(all_rows)} are read")
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "habits.pxl"
        path.write_text(program(all_rows))
        code, out, err = run([str(pxl), path.name], cwd=folder, env={"NO_COLOR": "1"})
    tally.add("docs: each row of habits.inc is refused with its sentence", None if code == 0 and out == "all\n" else f"exit status {code}\n{out}{err}")
