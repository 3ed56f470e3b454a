"""The table of ops in docs/onnx.md, from interpreter/onnx/import_rows.cpp and export_*.cpp.

    python3 tests/docs/onnx_ops.py            # writes the page
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = "\n## The ops\n"


def rows():
    """(op, since, until, text) of each row, in order."""
    text = (ROOT / "interpreter/onnx/import_rows.cpp").read_text()
    macros = {}
    for name, parameters, body in re.findall(r"#define (\w+)\(([^)]*)\)((?:[^\n]*\\\n)*[^\n]*)", text):
        macros[name] = ([p.strip() for p in parameters.split(",")], body.replace("\\\n", " "))
    table = text[text.index("constexpr ImportRow rows[]"):text.index("#undef")]
    table = re.sub(r"//[^\n]*", "", table)
    for name, (parameters, body) in macros.items():
        def expand(call):
            values = re.findall(r'"(?:[^"\\]|\\.)*"', call[1])
            return re.sub("|".join(rf"\b{p}\b(?! *=)" for p in parameters), lambda m: values[parameters.index(m[0])], body)
        table = re.sub(name + r'\(((?:[^()"]|"(?:[^"\\]|\\.)*")*)\)', expand, table)
    for row in re.findall(r'\{\s*(\.op = (?:[^{}"]|"(?:[^"\\]|\\.)*")*)\}', table):
        value = dict(re.findall(r'\.(\w+) = ((?:"(?:[^"\\]|\\.)*"\s*)+|\w+)', row))
        joined = {k: "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', v)).replace('\\"', '"') if v.startswith('"') else v for k, v in value.items()}
        yield joined["op"], int(joined.get("since", 1)), joined.get("until", ""), joined.get("text", "*")


def snake(op):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", op).lower()


def section():
    lines = []
    for op, since, until, text in sorted(rows(), key=lambda r: r[0]):
        if text.startswith("*"):
            text = f"onnx.{text[1:] or snake(op)}(...)"
        shown = text.replace("|", "\\|")
        lines.append(f"| {op} | {since}-{until} | `{shown}` |")
    tables = [p.read_text() for p in sorted((ROOT / "interpreter/onnx").glob("export_*.cpp")) if p.stem != "export_reasons"]
    forms = sorted(set(re.findall(r'^    \{"(\w+)",(?! plain)', "".join(tables), re.M)))
    return (MARK + "\nHow each op of ONNX is written, by opsets; the first row that fits counts. `{0}` is the first input, `{*}` all inputs, "
            "`{axis}` an\nattribute, `{axis|0}` one with its default, `{,stride=strides}` an argument where the attribute is there, "
            "`{1:ints}` an input that must\nbe known while the graph is built.\n\n| ONNX | opsets | in pxl |\n|---|---|---|\n"
            + "\n".join(lines) + "\n\nOut go calls, loops, conditionals, the ops whose entry in [the list](ops.md) names an op of "
            "ONNX and that have no attributes, and\n" + " ".join(f"`{f}`" for f in forms) + ".\n"
            "\nIn-place forms of these are written as the ops. Some have a form only for some dtypes or attributes; for the others an error "
            "says why:\n\n| op | |\n|---|---|\n" + "\n".join(f"| `{op}` | {'; '.join(why)} |" for op, why in refusals().items())
            + "\n\nWithout a form are ops of replicas, gradients, and\n\n| op | |\n|---|---|\n"
            + "\n".join(f"| `{op}` | {why} |" for op, why in reasons()) + "\n")


def refusals():
    """{op: why it may have no form}, from the rows of forms and the functions that they name."""
    found = {}
    for path in sorted((ROOT / "interpreter/onnx").glob("export_*.cpp")):
        text = path.read_text()
        functions = dict(re.findall(r"^[\w:]+ (\w+)\(const ExportSite& \w[^\n]*\{\n(.*?)^\}", text, re.M | re.S))
        for op, row in re.findall(r'^    \{"(\w+)",(.*?)(?=^    \{"|^\})', text, re.M | re.S):
            called = "".join(functions.get(word, "") for word in re.findall(r"\w+", row))
            needed = re.search(r"need_none\(s, \{([^}]*)\}", row)
            why = re.findall(r'NoForm\{"([^"]*)"( \+)?', row + called)
            texts = [text + ("..." if more else "") for text, more in why]
            texts += [f"{name} has no form in ONNX" for name in re.findall(r"\w+", needed[1] if needed else "")]
            if texts:
                found[op] = list(dict.fromkeys(texts))
    return dict(sorted(found.items()))


def reasons():
    """(op, why) of ops without a form, from export_reasons.cpp."""
    text = (ROOT / "interpreter/onnx/export_reasons.cpp").read_text()
    named = dict(re.findall(r'constexpr const char\* (\w+) = "([^"]*)";', text))
    rows = re.findall(r'^    \{"(\w+)",\s*(?:"((?:[^"]|"\s+")*)"|(\w+))\}', text, re.M)
    return [(op, re.sub(r'"\s+"', "", why) or named[name]) for op, why, name in rows]


def page_problem():
    page = (ROOT / "docs/onnx.md").read_text()
    found = page[page.index(MARK):] if MARK in page else ""
    return None if found == section() else "out of date: python3 tests/docs/onnx_ops.py writes it"


def main():
    path = ROOT / "docs/onnx.md"
    page = path.read_text()
    path.write_text(page[:page.index(MARK)] + section() if MARK in page else page + section())


if __name__ == "__main__":
    sys.exit(main())
