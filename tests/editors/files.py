"""Editor files: one list of words for all, the TextMate grammar's own tests, Vim's colours and indentation, the .vsix."""
import ast
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import zipfile

from tests.support.harness import ROOT

VSCODE = ROOT / "editors/vscode"
VIM = ROOT / "editors/vim"


def words_of_grammar():
    """Reserved words, those kept for later, and declaring words, from the lexer and the table of roles; dtypes from theirs."""
    lexer = (ROOT / "grammar/PxlLexer.g4").read_text()
    later = re.search(r"^LATER:(.*?);", lexer, re.M | re.S).group(1)
    reserved = re.findall(r"\b[A-Z]+: '([a-z]+)';", lexer)
    roles = (ROOT / "interpreter/syntax/roles.cpp").read_text()
    declaring = set(re.findall(r'\{+"(\w+)", ids::', roles)) | set(re.findall(r'word == "(\w+)" && ', roles)) - {"else"}
    dtypes = re.findall(r'\{DType::\w+, "(\w+)"', (ROOT / "runtime/tensor/dtype.hpp").read_text())
    return set(reserved), set(re.findall(r"'(\w+)'", later)), declaring - set(reserved), set(dtypes)


def compare(what, found, wanted):
    missing, extra = wanted - found, found - wanted
    return [f"{what}: missing {sorted(missing)}" if missing else "", f"{what}: not in the grammar {sorted(extra)}" if extra else ""]


def alternatives(node):
    """Every plain word among the alternatives of the regexes under a node of a TextMate grammar."""
    text = json.dumps(node)
    return {w for group in re.findall(r"\((?:\?:)?((?:[a-z]\w*\|)*[a-z]\w*)\)", text) for w in group.split("|")}


def textmate_words():
    reserved, later, declaring, dtypes = words_of_grammar()
    repository = json.loads((VSCODE / "syntaxes/pxl.tmLanguage.json").read_text())["repository"]
    keywords = repository["keywords"]["patterns"]
    illegal = [k for k in keywords if k["name"].startswith("invalid")]
    plain = [k for k in keywords if k not in illegal] + [repository["literals"]["patterns"][0]]
    declared = alternatives(repository["declarations"])
    dtype = [p for p in repository["dtypes"]["patterns"] if "dtype" in p["name"]]
    return compare("TextMate, reserved", alternatives(plain), reserved) + \
        compare("TextMate, for later", alternatives(illegal), later) + \
        compare("TextMate, declaring", declared - reserved, declaring) + \
        compare("TextMate, dtypes", alternatives(dtype), dtypes)


def vim_words():
    reserved, later, declaring, dtypes = words_of_grammar()
    text = (VIM / "syntax/pxl.vim").read_text()
    lists = {}
    for name, words in re.findall(r"^syntax keyword (\w+) (.*)$", text, re.M):
        lists.setdefault(name, set()).update(words.split())
    for name, words in re.findall(r"^syntax match (\w+) /\\v<%\(([a-z|]+)\)>/$", text, re.M):
        lists.setdefault(name, set()).update(words.split("|"))
    declared = set()
    for pattern in re.findall(r"^syntax match pxlDeclaration (.*)$", text, re.M):
        declared |= set(re.findall(r"[a-z]{2,}", re.sub(r"\\z?[a-z]", " ", pattern)))
    return compare("Vim, for later", lists.pop("pxlReserved"), later) + compare("Vim, dtypes", lists.pop("pxlDType"), dtypes) + \
        compare("Vim, declaring", declared - reserved, declaring) + \
        compare("Vim, reserved", set().union(*(w for n, w in lists.items() if n != "pxlType")), reserved)


def pygments_words():
    reserved, later, declaring, dtypes = words_of_grammar()
    lists = {node.targets[0].id: set(ast.literal_eval(node.value)) for node in ast.parse((ROOT / "editors/pygments/pxl.py").read_text()).body
             if isinstance(node, ast.Assign)}
    # These have rules of their own.
    ruled = {"test", "build", "in", "out", "ref"}
    return compare("Pygments, for later", lists["LATER"], later) + compare("Pygments, dtypes", lists["DTYPES"], dtypes) + \
        compare("Pygments, declaring", lists["DECLARING"] | (ruled & declaring), declaring) + \
        compare("Pygments, reserved", lists["RESERVED"] | lists["OPERATORS"] | lists["CONSTANTS"], reserved)


def pygments_problem():
    """Every program of the examples is coloured without an error token, and words are what they are."""
    if run(["/usr/bin/python3", "-c", "import pygments"])[0] != 0:
        return None
    script = """
import pathlib, sys
sys.path.insert(0, "editors/pygments")
import pxl
from pygments.token import Error
for path in sorted(pathlib.Path("examples").glob("*.pxl")) + sorted(pathlib.Path("stdlib").glob("*.pxl")):
    for token, text in pxl.PxlLexer().get_tokens(path.read_text()):
        if token is Error: print(f"{path}: {text!r} is an error")
kinds = {text: str(token) for token, text in pxl.PxlLexer().get_tokens('program p { param w: float32[2] = 0.5  # a\\n x = gelu(w) }')}
for text, wanted in (("program", "Token.Keyword.Declaration"), ("param", "Token.Keyword.Declaration"), ("float32", "Token.Keyword.Type"),
                     ("0.5", "Token.Literal.Number.Float"), ("gelu", "Token.Name.Function")):
    if kinds.get(text) != wanted: print(f"{text} is {kinds.get(text)}, not {wanted}")
"""
    code, out = run(["/usr/bin/python3", "-c", script])
    return out if code or out.strip() else None


def word_lists():
    return "\n".join(p for p in textmate_words() + vim_words() + pygments_words() if p) or None


def run(command, cwd=ROOT, timeout=300):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=timeout, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout + done.stderr


VIM_START = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-N", "--cmd", f"set runtimepath^={VIM}", "--cmd", "filetype plugin indent on", "--cmd", "syntax on"]

COLOURS = [  # text, column (from 1), group
    ("module Net(a: int) {", 1, "pxlDefinition"), ("  stream in x: float32[2]", 3, "pxlDeclaration"),
    ("  stream in x: float32[2]", 10, "pxlDeclaration"), ("  stream in x: float32[2]", 16, "pxlDType"),
    ("  build(x) {", 3, "pxlDeclaration"), ("  build(x)", 3, "pxlCall"), ("program = test + 1", 1, ""),
    ("f(with = 1)", 3, "pxlArgument"), ("x.in.y", 3, "pxlMember"), ('f"a {loss:.3f} b"', 6, "pxlInterpolation"), ('f"a {loss} b"', 12, "pxlFString"),
    ('f"{{x}}"', 3, "pxlBraces"), ("x = 1e-3 # lr", 6, "pxlFloat"), ("x = 1e-3 # lr", 10, "pxlComment"), ("## doc", 1, "pxlDoc"),
    ("lambda", 1, "pxlReserved"), ("for a in b { pass }", 14, "pxlStatement"), ('"""a', 4, "pxlString")]


def vim_colours():
    with tempfile.TemporaryDirectory() as folder:
        source, out, script = (pathlib.Path(folder) / n for n in ("a.pxl", "out", "ask.vim"))
        source.write_text("\n".join(text for text, _, _ in COLOURS) + "\n")
        asks = "".join(f"call add(found, synIDattr(synID({row}, {column}, 1), 'name'))\n" for row, (_, column, _) in enumerate(COLOURS, 1))
        script.write_text(f"let found = []\n{asks}call writefile(found, '{out}')\nqa!\n")
        code, text = run([*VIM_START, str(source), "-S", str(script)])
        if not out.exists():
            return f"vim: exit status {code}\n{text}"
        found = out.read_text().splitlines()
        return "\n".join(f"{t!r} column {c}: {got}, expected {want}" for (t, c, want), got in zip(COLOURS, found) if got != want) or None


INDENTED = """module Net(
  a: int,
  b: int = 3
) {
  fc1 = Linear(512)   # a { in a comment
  build(x) {
    if a > b {
      text = "}} {" + f(
        x)
    } else if a == b { x = 1 }
    else {
      x = [
        1, 2,
        [3]]
    }
    return x
  }
}
y = {"a": 1}
"""


def vim_indents():
    """Lines without their indentation get it back."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "a.pxl"
        copy.write_text("\n".join(l.lstrip() for l in INDENTED.splitlines()) + "\n")
        run([*VIM_START, str(copy), "-c", "normal! gg=G", "-c", "wq!"])
        return None if copy.read_text() == INDENTED else copy.read_text()


def extension():
    code, text = run(["npm", "test", "--silent"], cwd=VSCODE)
    if code != 0:
        return f"the grammar's tests failed\n{text[-3000:]}"
    code, text = run([str(ROOT / "scripts/vsix")])
    archive = ROOT / "build/pxl.vsix"
    if code != 0 or not archive.exists():
        return f"scripts/vsix failed\n{text[-3000:]}"
    names = set(zipfile.ZipFile(archive).namelist())
    wanted = {"extension/package.json", "extension/dist/extension.js", "extension/syntaxes/pxl.tmLanguage.json", "extension/language-configuration.json"}
    return None if wanted <= names else f"missing in the .vsix: {sorted(wanted - names)}"


def editor_tests(add, skip):
    add("editors: word lists agree with the grammar", word_lists)
    add("editors: Pygments' colours", pygments_problem)
    if shutil.which("vim"):
        add("editors: Vim's colours", vim_colours)
        add("editors: Vim's indentation", vim_indents)
    else:
        skip("editors: Vim", "vim is not installed")
    if not shutil.which("npm"):
        skip("editors: VS Code", "npm is not installed")
        return
    if not (VSCODE / "node_modules").is_dir():
        code, text = run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=VSCODE)
        if code != 0:
            skip("editors: VS Code", "npm could not fetch the extension's tools: " + (text.strip().splitlines() or ["?"])[-1])
            return
    add("editors: VS Code's grammar and package", extension)
