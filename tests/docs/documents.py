"""The programs in README.md and docs run and print what stands beside them."""
import difflib
import pathlib
import shlex
import tempfile

from tests.support.harness import ROOT, parallel, run

DOCS = ["README.md", "docs/getting-started.md", "docs/from-pytorch.md", "docs/from-popxl.md", "docs/language.md", "docs/graphs.md",
        "docs/stdlib.md", "docs/replicas.md", "docs/onnx.md", "docs/formats.md", "docs/library.md", "docs/python.md", "docs/comparison.md",
        *(f"docs/tasks/{page.name}" for page in sorted((ROOT / "docs/tasks").glob("*.md"))),
        *(f"docs/book/{page.name}" for page in sorted((ROOT / "docs/book").glob("*.md")))]


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
