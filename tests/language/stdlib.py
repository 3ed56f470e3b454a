"""The standard library's examples: the indented lines of the `##` comments in stdlib/**/*.pxl.

Each public declaration of the library (a module, a def, a name of the file) has a doc comment with an example, lines indented
by four spaces, that runs with the names of its file and `run_module` imported. Its output is in the comments that
end its lines: `print(1 + 1)   # 2`.
"""
import pathlib
import re
import tempfile

DECLARATION = re.compile(r"(?:module|def|program)\s+(\w+)|(\w+)\s*=(?!=)")
PRINTED = re.compile(r"\s{3}# (.*)$")


def declarations(text):
    """(name, line, example lines) of each public declaration at the top level of a file."""
    doc = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("##"):
            doc.append(line[2:])
            continue
        found = DECLARATION.match(line)
        if found:
            name = found.group(1) or found.group(2)
            if not name.startswith("_"):
                yield name, number, [l[5:] for l in doc if l.startswith("     ")]
        doc = []


def unannotated(text):
    """(name, parameters without a type) of each public function and module."""
    for found in re.finditer(r"^(?:module|def|outlined def) ([a-zA-Z]\w*)\(((?:[^()]|\([^()]*\))*)\)", text, re.M):
        parameters = [p.strip() for p in re.split(r",(?![^\[\]()]*[\])])", found.group(2)) if p.strip()]
        bare = [p for p in parameters if ":" not in p and p != "*"]
        if bare:
            yield found.group(1), bare


def example_test(pxl, run, module, names, example):
    if not example:
        return "no example in its doc comment"
    imports = [f"from {module} import {', '.join(names)}"]
    if "run_module" not in names:
        imports.append("from testing import run_module")
    if module != "nn":
        imports.append("from nn import Linear")
    wanted = [m.group(1) for m in map(PRINTED.search, example) if m]
    if not wanted:
        return "its example shows no result"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "example.pxl"
        path.write_text("\n".join(imports + example) + "\n")
        code, out, err = run([str(pxl), path.name], cwd=folder, env={"NO_COLOR": "1"})
    if code != 0:
        return f"exit status {code}\n{out[-1500:]}{err[-3000:]}"
    # An array of several rows stands on one line in the comment.
    got = " ".join(out.split())
    return None if got == " ".join(" ".join(wanted).split()) else f"expected {wanted}, printed {out}"


def stdlib_tests(pxl, root, tally_add, parallel, run):
    jobs, page = [], (root / "docs/stdlib.md").read_text()
    modules = [path.stem for path in sorted((root / "stdlib").glob("*.pxl"))]
    tally_add("stdlib: docs/stdlib.md has each module", ", ".join(m for m in modules if f"| [`{m}`](../stdlib/{m}.pxl) |" not in page) or None)
    for path in sorted((root / "stdlib").rglob("*.pxl")):
        module = ".".join(path.relative_to(root / "stdlib").with_suffix("").parts)
        found = list(declarations(path.read_text()))
        if not module.startswith("onnx"):  # the ops of ONNX have its names and orders
            tally_add(f"stdlib/{path.name}: parameters have types", "; ".join(f"{name}: {', '.join(bare)}" for name, bare in unannotated(path.read_text())) or None)
        names = [name for name, _, _ in found]
        for name, line, example in found:
            # Functions that stand for ops of ONNX are tested by the standard's tests (tests/runtime/onnx_models.py).
            if module.startswith("onnx") and not example:
                continue
            jobs.append((f"{path.relative_to(root)}:{line}: {name}",
                         lambda m=module, e=example, n=names: example_test(pxl, run, m, n, e)))
    for name, problem in parallel(jobs, 2):
        tally_add(name, problem)
