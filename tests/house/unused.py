"""Functions that a header declares and nothing calls."""
import collections
import re

CODE = ("*.cpp", "*.hpp", "*.inc", "*.in", "*.h")
COMMENT = re.compile(r"//[^\n]*")
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
# A type, a name and `(`, where a declaration begins a line. Calls follow `return`, `=`, `.` or `(`.
DECLARED = re.compile(r"^ *(?!return\b|throw\b|else\b|new\b|using\b|typedef\b)[\w:][\w:<>,&* ]*[&*> ](\w+)\((?!\*)[^\n]*$", re.M)
# The baseline's tables are named by a macro, and the standard library calls `deallocate`.
ELSEWHERE = re.compile(r"_baseline$|^deallocate$")
DEFINED = re.compile(r"^[\w:][\w:<>,&* ]*[&*> :](\w+)\(", re.M)


def unused(texts):
    """`texts`: the code of each file by its path. The declared functions whose name is elsewhere at most in their definition."""
    code = {path: COMMENT.sub("", text) for path, text in texts.items()}
    uses = collections.Counter(word for text in code.values() for word in WORD.findall(text))
    definitions = collections.Counter(m.group(1) for path, text in code.items() if path.endswith(".cpp") for m in DEFINED.finditer(text))
    found = []
    for path, text in code.items():
        if not path.endswith(".hpp"):
            continue
        for m in DECLARED.finditer(text):
            name = m.group(1)
            if "override" not in m.group() and uses[name] <= 1 + definitions[name] and not ELSEWHERE.search(name):
                found.append(f"{path}:{text.count(chr(10), 0, m.start(1)) + 1}: nothing calls {name}")
    return found


def problems(root, paths):
    return "\n".join(unused({str(p.relative_to(root)): p.read_text(errors="replace") for p in paths})) or None


def planted_functions_are_found():
    header = "int used(int a);\nstd::string lost(const std::string& text);\nbool inline_lost() { return used(1); }\n"
    found = unused({"a.hpp": header, "a.cpp": "std::string lost(const std::string& text) {\nint used(int a) { return a; }\n"})
    return None if [line.split()[-1] for line in found] == ["lost", "inline_lost"] else str(found)
