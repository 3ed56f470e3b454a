"""docs/methods.md, written from the tables of members by `pxl doc --json`: every example runs. `--update` rewrites the page."""
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.harness import ROOT, parallel, run

PAGE = ROOT / "docs/methods.md"
LEAD = """# Members of values

Every attribute and method of the values of the language, from the tables by which they are found; a test keeps this page up to
date and runs the examples. An attribute is read without a call: `a.shape`. `pxl doc NAME` and `:help NAME` tell the same of one
(`pxl doc session.run`, `pxl doc backward`) or of a kind (`pxl doc str`). Most [ops](ops.md) are methods of tensors and arrays as
well. Functions are on [a page of their own](functions.md), modules of the library in [the standard library](stdlib.md).
"""


def documented(pxl, name, folder):
    code, out, err = run([str(pxl), "doc", "--json"] + ([name] if name else []), cwd=folder, env={"NO_COLOR": "1"})
    assert code == 0, (name, err)
    return json.loads(out)


def kinds(pxl, folder):
    """Names of the kinds, in the order of the tables: the overview lists them."""
    return [e["name"] for e in documented(pxl, None, folder)["entries"] if e["kind"] == "values"]


def entry_text(entry):
    head = entry["signature"].split(".", 1)[1]
    text = f"\n**`{head}`** {entry['doc']}\n"
    if not entry["example"]:
        return text
    lines, shown = entry["example"].split("\n"), entry["result"].split("\n") if entry["result"] else []
    body = ["pxl> " + line for line in lines] + shown
    return text + "\n```text\n" + "".join(line.rstrip() + "\n" for line in body) + "```\n"


def page_text(pages):
    out = LEAD
    for page in pages:
        doc, *program = page["lead"].rstrip("\n").split("\nThe examples continue this program.\n")
        out += f"\n## {page['title']}\n\n{doc.strip()}\n"
        setup = next((e["setup"] for e in page["entries"] if e["setup"]), "")
        if setup:
            out += f"\nThe examples continue this program.\n\n```pxl\n{setup}\n```\n"
        for entry in page["entries"]:
            if entry["kind"] in ("attribute", "method"):
                out += entry_text(entry)
    return out


def example_problem(pxl, entry):
    """An example that uses files has no result in the page: it runs by itself."""
    if not entry["example"] or entry["result"]:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "example.pxl"
        path.write_text(entry["setup"] + "\n" + entry["example"] + "\n")
        code, out, err = run([str(pxl), path.name], cwd=folder, env={"NO_COLOR": "1"})
    return None if code == 0 else f"exit status {code}\n{out}{err}"


def function_problem(pxl, entry):
    """Each example runs by itself, in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "example.pxl"
        path.write_text(entry["example"] + "\n")
        code, out, err = run([str(pxl), "--quiet", path.name], cwd=folder, env={"NO_COLOR": "1", "PXL_DATA": "built-in"})
    return None if code == 0 else f"exit status {code}\n{out}{err}"


FUNCTIONS = ROOT / "docs/functions.md"
FUNCTIONS_LEAD = """# Functions

The functions of the language that are not [ops](ops.md), from their declarations; a test keeps this page up to date and runs the
examples. Those that use files, or whose results differ from run to run, are shown without results. `pxl doc NAME` and `:help NAME` tell the
same, and `pxl doc functions` lists all. Members of values are on [a page of their own](methods.md).
"""


def transcript(entry):
    """An example as the REPL shows it, with a prompt for each line."""
    lines, depth = [], 0
    for line in entry["example"].split("\n"):
        lines.append(("...> " if depth else "pxl> ") + line)
        depth += sum(line.count(c) for c in "([{") - sum(line.count(c) for c in ")]}")
    return "".join(line.rstrip() + "\n" for line in lines + (entry["result"].split("\n") if entry["result"] else []))


def functions_text(page):
    return FUNCTIONS_LEAD + "".join(f"\n**`{e['signature']}`** {e['doc']}\n\n```text\n{transcript(e)}```\n" for e in page["entries"])


def methods_tests(pxl, tally, update=False):
    with tempfile.TemporaryDirectory() as folder:
        page = documented(pxl, "functions", folder)
        functions = functions_text(page)
        if update:
            FUNCTIONS.write_text(functions)
        tally.add("docs: docs/functions.md is what the declarations say",
                  None if FUNCTIONS.exists() and FUNCTIONS.read_text() == functions else "write it anew: python3 tests/run.py --only docs --update")
        for e in page["entries"]:
            tally.add(f"docs: function {e['name']} has an example", None if e["example"] else "its row has none")
        for name, problem in parallel([(f"docs: example of {e['name']}", lambda e=e: function_problem(pxl, e)) for e in page["entries"]], 2):
            tally.add(name, problem)
        pages = [documented(pxl, kind, folder) for kind in kinds(pxl, folder)]
    wanted = page_text(pages)
    if update:
        PAGE.write_text(wanted)
    same = PAGE.exists() and PAGE.read_text() == wanted
    tally.add("docs: docs/methods.md is what the tables of members say",
              None if same else "write it anew: python3 tests/run.py --only docs --update")
    entries = [e for page in pages for e in page["entries"] if e["kind"] in ("attribute", "method")]
    for name, problem in parallel([(f"docs: example of {e['name']}", lambda e=e: example_problem(pxl, e)) for e in entries], 2):
        tally.add(name, problem)
    for e in entries:
        if not e["doc"].endswith("."):
            tally.add(f"docs: text of {e['name']}", "is not a sentence")
