"""Rules that hold for every file: layering, formatting, words that do not belong, links."""
import re
import tempfile
import unicodedata

from tests.docs import coverage, links
from tests.house import budgets, kinds, prose, statics, unused
from tests.support.harness import ROOT, TESTS, Unavailable, run

def declared_layers():
    """What CMake says of the layers: the folders of each target in order, and the targets that each links. Neither counts a
    link back to a target that is declared later: objects may need it, sources may not include it."""
    text = re.sub(r"^include\((cmake/\w+\.cmake)\)$", lambda m: (ROOT / m.group(1)).read_text(), (ROOT / "CMakeLists.txt").read_text(), flags=re.M)
    folders, links = {}, {}
    declared = re.compile(r"pxl_layer\((pxl_\w+)\s+FOLDERS([^)]*)\)|target_link_libraries\((pxl_\w+)\s+PUBLIC([^)]*)\)")
    for m in declared.finditer(text):
        if m.group(1):
            own, _, linked = m.group(2).partition("LINKS")
            folders[m.group(1)] = list(dict.fromkeys("/".join(f.split("/")[:2]) for f in own.split()))
            links[m.group(1)] = set()
        target, linked = (m.group(1), linked) if m.group(1) else (m.group(3), m.group(4).partition("PRIVATE")[0])
        if target in links:
            order = list(folders)
            links[target] |= {l for l in linked.split() if l in folders and order.index(l) < order.index(target)}
    return folders, links


def allowed_includes():
    """The layers that each layer may include: itself, those before it in its target, and those of all targets that are linked."""
    folders, links = declared_layers()

    def reached(target):
        return {target}.union(*(reached(l) for l in links[target]))

    return {folder: set(own[:i + 1]).union(*(folders[l] for l in reached(target) - {target}))
            for target, own in folders.items() for i, folder in enumerate(own)}


ALLOWED = allowed_includes()
# Statements declare parts of graphs, and graphs are built by running code: the language sees values of the room that follows it.
LATER = {"interpreter/language": ["interpreter/graphs"]}
WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK|(most|least)_[a-z]\w*)\b")  # limits are max_ and min_


def tracked(*patterns):
    code, out, err = run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns])
    if code != 0:
        raise Unavailable(f"git does not list the files: {err.strip().splitlines()[0]}")
    return [ROOT / line for line in out.splitlines() if (ROOT / line).is_file()]


def layering():
    problems = []
    for layer, included in ALLOWED.items():
        allowed = included.union(LATER.get(layer, []))
        for path in sorted((ROOT / layer).rglob("*.[ch]pp")):
            for number, line in enumerate(path.read_text().splitlines(), 1):
                m = re.match(r'#include "((?:runtime|interpreter)/\w+)/', line)
                if m and m.group(1) not in allowed:
                    problems.append(f"{path.relative_to(ROOT)}:{number}: {layer} must not include {m.group(1)}")
    for path in tracked("*.cpp", "*.hpp"):
        text = path.read_text()
        if re.search(r"#include <xt(ensor|l|ensor-blas)?/", text) and path.parent not in (ROOT / "runtime/reference", TESTS / "library"):
            problems.append(f"{path.relative_to(ROOT)}: only runtime/reference includes xtensor")
    return "\n".join(problems) or None


def documented_layers():
    """The table of docs/architecture.md has every layer, each after those that it includes."""
    table = (ROOT / "docs/architecture.md").read_text().partition("## The folders")[2].partition("\n## ")[0]
    rows = [name for line in re.findall(r"^\| (`[^|]*) \|", table, re.M) for name in re.findall(r"`((?:runtime|interpreter)/\w+)`", line)]
    problems = [f"docs/architecture.md: no row for {layer}" for layer in ALLOWED if layer not in rows]
    problems += [f"docs/architecture.md: {row} is not a layer in CMakeLists.txt" for row in rows if row not in ALLOWED]
    problems += [f"docs/architecture.md: {later} stands before {row}, which includes it" for i, row in enumerate(rows)
                 for later in rows[i + 1:] if later not in ALLOWED.get(later, ()) or later in ALLOWED.get(row, ())]
    folders = {p.name for part in ("runtime", "interpreter") for p in (ROOT / part).iterdir() if p.is_dir() and any(p.glob("*.cpp"))}
    problems += [f"CMakeLists.txt: the folder {name} belongs to no layer" for name in sorted(folders - {l.split("/")[1] for l in ALLOWED})]
    return "\n".join(problems) or None


def rooms_of_tests():
    """Tests are in rooms that docs/testing.md names: scripts in folders of tests, unit tests in folders named after those of the source."""
    page = (ROOT / "docs/testing.md").read_text().partition("## Where a new test goes")[2].partition("\n[coverage.md]")[0]
    problems = [f"{p.relative_to(ROOT)}: belongs in a room of tests" for p in tracked("tests/*.py") if p.parent == TESTS and p.name != "run.py"]
    rooms = {p.relative_to(TESTS).parts[0] for p in tracked("tests/*") if p.parent != TESTS}
    problems += [f"docs/testing.md: `tests/{room}` is missing where a new test goes" for room in sorted(rooms)
                 if not re.search(rf"`tests/{room}\b", page + (ROOT / "docs/testing.md").read_text().partition("\n## ")[0])]
    folders = {layer.split("/")[1] for layer in ALLOWED} | {"support"}
    for path in tracked("tests/unit/*/*"):
        if path.parent.name not in folders:
            problems.append(f"{path.relative_to(ROOT)}: {path.parent.name} is no folder of runtime or interpreter")
        if path.stem.endswith("_test"):
            problems.append(f"{path.relative_to(ROOT)}: named after what it tests, without _test")
    return "\n".join(problems) or None


def interpreters():
    """All interpreters come from make_interpreter, which gives them all built-ins."""
    made = re.compile(r"make_unique<Interpreter>|\bnew Interpreter\b|^ *Interpreter \w+[({]")
    return "\n".join(f"{path.relative_to(ROOT)}:{number}: use interpreter/tools/make_interpreter.hpp"
                     for path in tracked("interpreter/*.[ch]pp") if path != ROOT / "interpreter/tools/make_interpreter.cpp"
                     for number, line in enumerate(path.read_text().splitlines(), 1) if made.search(line)) or None


def settings_are_rows():
    """Environment variables of pxl are read through runtime/base/settings.inc, and docs/cli.md has each."""
    read = re.compile(r'(?:getenv|environment|variable)\("PXL_')
    problems = [f"{path.relative_to(ROOT)}:{number}: use runtime/base/settings.hpp"
                for path in tracked("runtime/*.[ch]pp", "interpreter/*.[ch]pp", "python/*.[ch]pp")
                for number, line in enumerate(path.read_text().splitlines(), 1) if read.search(line)]
    names = re.findall(r'^PXL_SETTING\(\w+, "(\w+)"', "".join(p.read_text() for p in tracked("runtime/*settings.inc")), re.M)
    page = (ROOT / "docs/cli.md").read_text()
    problems += [f"docs/cli.md: no row for {name}" for name in names if f"`{name}" not in page]
    return "\n".join(problems) or (None if names else "no settings were found")


def calls_upward(build):
    """Symbols that a layer's library uses and only the library of a later layer defines, in the order of CMakeLists.txt. A
    layer that CMakeLists.txt links to a later one by name is one layer with it, compiled with other options."""
    text = (ROOT / "CMakeLists.txt").read_text()
    layers = re.findall(r"^ *pxl_layer\((\w+)", text, re.M)
    one = set(re.findall(r"^target_link_libraries\((\w+) PUBLIC (\w+)\)", text, re.M))
    libraries = {layer: path for layer in layers if (path := build / f"lib{layer}.a").is_file()}
    if not libraries:
        return f"no libraries in {build}"
    defines, uses = {}, {}
    for layer, path in libraries.items():
        code, out, err = run(["nm", "--demangle", "--format=posix", str(path)])
        symbols = [m.groups() for m in re.finditer(r"^(.+) ([A-Za-z])(?: [0-9a-f]+ *[0-9a-f]*)? *$", out, re.M)]
        defines[layer] = {name for name, kind in symbols if kind in "TDBR"}
        uses[layer] = {name for name, kind in symbols if kind == "U"}
    problems = []
    order = list(libraries)
    for index, layer in enumerate(order):
        below = set().union(*(defines[l] for l in order[:index + 1]))
        for above in order[index + 1:]:
            if (layer, above) in one:
                continue
            problems += [f"{layer} calls {name}, which {above} defines" for name in sorted((uses[layer] - below) & defines[above])]
    return "\n".join(problems) or None


def one_table_of_strategies():
    """The tile model's row of a strategy says all about it: no other file compares or switches on one."""
    problems = []
    for path in tracked("runtime/tiles/*.[ch]pp"):
        if path.name == "strategies.cpp":
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if "TileStrategy::" in line:
                problems.append(f"{path.relative_to(ROOT)}:{number}: a column of runtime/tiles/candidates/strategies.hpp: {line.strip()}")
    return "\n".join(problems) or None


def machines_are_data():
    """The tile model knows no machine by its name: machines are descriptions."""
    names = [path.stem for path in tracked("runtime/tiles/machines/*.machine")]
    quoted = re.compile(r'(?<!\\)"(' + "|".join(names) + r')\b')
    problems = [] if names else ["no machines"]
    for path in tracked("runtime/tiles/*.[ch]pp", "runtime/execute/*.[ch]pp"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if quoted.search(line.partition("//")[0]) and "default_machine" not in line:
                problems.append(f"{path.relative_to(ROOT)}:{number}: make it a constant of runtime/tiles/machines: {line.strip()}")
    return "\n".join(problems) or None


# A kernel's ops are rows of a table (an enumeration made from an .inc file): a difference between ops is a column.
SWITCHES = re.compile(r"(?:\bcase|[!=]=)\s*(?:Unary|Binary|Reduction|ScatterReduction|Accumulate|UpdateOpKind)::(?!function\b|derivative\b)\w+"
                      r"|\b(?:Unary|Binary|Reduction|ScatterReduction|Accumulate|UpdateOpKind)::\w+\s*[!=]=|->row->name\s*[!=]=")
# An op or a parameter that code recognises by a literal: a misspelt one matches nothing, in silence.
BY_NAME = re.compile(r"(?:\brow|\bparams\[\w+\]|\b\w)(?:\.|->)(?:name|schedule|onnx|path)\s*[!=]=\s*\"|\bschedule\s*[!=]=")
PLANTED_BY_NAME = ['if (op->row->name == "sum_n") {', 'return s.row.params[2].name == "t_zero";', 'else if (p.name == "shape")',
                   'if (op.row->schedule == wanted) return;', 'row.onnx != "Sum"']


def switches_on_ops():
    """No kernel, pass, engine or tile model compares or switches on an op, nor recognises one by its name."""
    problems = [f"a planted line is not found: {line}" for line in PLANTED_BY_NAME if not BY_NAME.search(line)]
    for layer in ("graph", "op", "ops", "kernels", "reference", "transform", "plan", "execute", "tiles"):
        for path in tracked(f"runtime/{layer}/*"):
            for number, line in matches(SWITCHES, path.read_text()) + (matches(BY_NAME, path.read_text()) if layer != "tiles" else []):
                problems.append(f"{path.relative_to(ROOT)}:{number}: make it a column of the op's table: {line}")
    return "\n".join(problems) or None


def matches(pattern, text):
    """Numbers and texts of the lines that a pattern matches, without comments."""
    return [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1) if pattern.search(line.partition("//")[0])]


def lines_with(pattern, remedy, *exempt):
    """The lines of the sources that a pattern matches, but for those of files that are exempt."""
    return "\n".join(f"{path.relative_to(ROOT)}:{number}: {remedy}: {line}"
                     for path in tracked("runtime/*.[ch]pp", "interpreter/*.[ch]pp", "python/*.[ch]pp")
                     if str(path.relative_to(ROOT)) not in exempt for number, line in matches(pattern, path.read_text())) or None


# Code that writes to the standard streams, and throws or ends the process if they are closed or full.
WRITES = re.compile(r"\bfmt::print\(|\bstd::(cout|cerr|clog)\b|\b(printf|puts|putchar|perror|psignal|vprintf|dprintf)\("
                    r"|\bf(printf|puts|putc|write|flush)\([^;]*std(out|err)|\bwrite\((STD(OUT|ERR)_FILENO|[12]),|/dev/(tty|std(out|err))\"")


# Containers in the order of addresses, whose elements a program shows: each process would have another order.
BY_ADDRESS = re.compile(r"\bstd::(map|set)<(const )?(Stream|Document) ?\*(?!.*Order>)")
PLANTED_BY_ADDRESS = ["std::map<const Stream*, int64_t> most;", "std::set<Document*> seen;"]


def orders_of_addresses():
    unseen = [line for line in PLANTED_BY_ADDRESS if not BY_ADDRESS.search(line)]
    return "".join(f"a planted offender is not found: {line}\n" for line in unseen) + (lines_with(BY_ADDRESS, "use StreamMap, StreamSet or DocumentOrder") or "") or None


def standard_streams():
    return lines_with(WRITES, "use runtime/base/files/standard_streams.hpp", "runtime/base/files/standard_streams.cpp",
                      "runtime/base/files/standard_streams.hpp",
                      "runtime/base/heap/one_core_while_loading.cpp")  # before the constructors of all libraries


# Text goes to the streams cleaned, but for what a program prints, colours and keys of the cursor. These files write such text, of
# which they, `styled` or `render` have cleaned each part that comes from elsewhere.
AS_IS = re.compile(r"\bwrite_(out|err)_as_is\b")
MAY_WRITE_AS_IS = ["runtime/base/files/standard_streams.cpp", "runtime/base/files/standard_streams.hpp", "runtime/processes/run_output.cpp",
                   "interpreter/api/program.cpp", "interpreter/cli/command.cpp", "interpreter/cli/fmt.cpp", "interpreter/cli/test.cpp",
                   "interpreter/cli/terminal/waiting.cpp", "interpreter/commands/tour.cpp", "interpreter/repl/repl.cpp", "interpreter/repl/line_editor.cpp",
                   "interpreter/repl/line_libedit.cpp", "interpreter/repl/line_readline.cpp"]
ESCAPES = re.compile(r"\\x1[bB]|\\033|\\e\[|\\u001[bB]")
MAY_ESCAPE = ["runtime/base/diagnostics/diagnostic.cpp", "runtime/base/text/wrap.cpp", "runtime/io/chart_text.cpp", "interpreter/cli/command.cpp",
              "interpreter/tools/theme.cpp", "interpreter/repl/repl.cpp", "interpreter/repl/line_editor.cpp",
              "interpreter/repl/line_libedit.cpp", "interpreter/repl/line_readline.cpp", "runtime/io/png.cpp"]


def terminals_get_clean_text():
    found = [lines_with(AS_IS, "use write_out or write_err, which clean the text", *MAY_WRITE_AS_IS),
             lines_with(ESCAPES, "use interpreter/tools/theme.hpp", *MAY_ESCAPE)]
    return "\n".join(filter(None, found)) or None


# Code that makes or changes a file, but for runtime/base/files/output_file.cpp, which opens all files for writing. Standard
# input and output are opened where they are closed.
OPENS = re.compile(r"\b(basic_)?(ofstream|fstream)\b(?!>)|\bfopen\([^;]*\"[^\"]*[wa+]|\bf(d|re)open\(|\bO_(CREAT|WRONLY|RDWR|APPEND|TMPFILE|TRUNC)\b"
                   r"|\bcreat\(|\bmk[os]*temps?\(|\btmpfile\(|\brename\(\w+\.c_str|\b(fs|filesystem)::(rename|copy|copy_file|resize_file)\("
                   r"|\btruncate\(|\bgzopen|\bsf_open\(|\bstbi_write_")
MAY_OPEN = ["runtime/base/files/output_file.cpp", "runtime/base/files/standard_streams.cpp"]


def files_are_opened_in_one_place():
    return lines_with(OPENS, "use runtime/base/files/output_file.hpp or atomic_file.hpp", *MAY_OPEN)


# Lines that a rule must find, and lines that it must not.
PLANTED = [(WRITES, ['std::cerr << path;', 'fmt::print("{}", name);', '::write(STDERR_FILENO, text.data(), text.size());',
                     'std::fputs(name.c_str(), stderr);', 'dprintf(2, "%s", name);'], ['file_.write(text);', '::write(fd, text.data(), 3);']),
           (AS_IS, ['write_err_as_is(message);', 'o.err = write_out_as_is;'], ['write_err(message);']),
           (ESCAPES, ['out += "\\x1b[31m" + name;', "text += '\\033';"], ['out += styled(name, "31");']),
           (OPENS, ['std::ofstream out(path);', 'int fd = ::open(path, O_WRONLY | flags);', 'FILE* f = fopen(path, "wb");',
                    'fd = openat(folder, name, O_RDWR | O_CREAT, 0666);', 'std::fstream log(path, std::ios::app);', '::creat(path, 0666);',
                    'std::filesystem::copy_file(from, to);', 'FILE* f = std::fopen(path, "r+");'],
            ['std::ifstream in(path);', '#include <fstream>', '::open(path, O_RDONLY | O_CLOEXEC);', 'fopen(path, "rb");'])]


def planted_lines_are_found():
    problems = [f"not found: {line}" for pattern, found, _ in PLANTED for line in found if not matches(pattern, line)]
    problems += [f"found in error: {line}" for pattern, _, others in PLANTED for line in others if matches(pattern, line)]
    return "\n".join(problems) or None


# Code that parses a user's text: a file, an input, an argument. Program texts that pxl itself writes are assembled by
# interpreter/syntax/program_text.hpp, whose texts have a type of their own.
READS_PROGRAMS = ["runtime/tiles/machine/machine_file.cpp", "runtime/tiles/cuts/cut_file.cpp", "interpreter/api/program.cpp",
                  "interpreter/cli/run.cpp", "interpreter/cli/command.cpp", "interpreter/cli/onnx.cpp", "interpreter/tools/engine.cpp",
                  "interpreter/tools/help/member_help.cpp", "interpreter/language/imports.cpp", "interpreter/language/check.cpp",
                  "interpreter/language/packages/packages.cpp", "interpreter/library/onnx.cpp", "interpreter/onnx/run_model.cpp"]  # the last two: a ProgramText
MAKES_PROGRAMS = ["runtime/base/diagnostics/source.cpp", "runtime/base/diagnostics/source.hpp", "interpreter/syntax/program_text.cpp",
                  "interpreter/syntax/program_text.hpp"]
# Program text of the documentation, with examples from tables, and of remedies in messages.
SHOWS_PROGRAMS = ["interpreter/tools/help/doc_page.cpp", "interpreter/tools/help/help.cpp", "interpreter/language/imports.cpp", "interpreter/graphs/streams.cpp"]
ADDS_SOURCE = re.compile(r"\badd_source\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
GIVEN_TEXT = re.compile(r"(?:std::string\()?\*?(?:std::move\()?\*?[\w.>-]+(?:\.\w+\(\))?\)?\)?")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
STATEMENT = re.compile(r'"(?:\\n|\s)*(?:def [\w{}]+\(|(?:module|program) [\w{}]+ ?(?:\{\{|\()|import [\w{}]+\\n|from (?:[\w.{}]|\\")+ import\b|'
                       r'(?:param|option) [\w{}]+ ?[:=]|stream (?:in|out) |return [\w{\[(])')


def composed_programs(name, text):
    """Places of a C++ source where program text comes from `+` or a format, or where computed text is parsed."""
    text = re.sub(r'"\s*\n\s*"', "", re.sub(r"//[^\n]*", "", text))
    problems = []

    def found(at, what):
        problems.append(f"{name}:{text[:at].count(chr(10)) + 1}: {what}; use interpreter/syntax/program_text.hpp")

    for call in ADDS_SOURCE.finditer(text):
        argument = call.group(1).rpartition(", ")[2]
        if name not in READS_PROGRAMS:
            found(call.start(), f"a text is parsed: {call.group()}")
        elif not GIVEN_TEXT.fullmatch(argument):
            found(call.start(), f"a text that is made here is parsed: {call.group()}")
    for literal in STRING.finditer(text):
        before, after = text[:literal.start()].rstrip(), text[literal.end():].lstrip()
        is_composed = re.search(r"format\($", before) or before.endswith(("+", "+=")) or after.startswith("+")
        if is_composed and STATEMENT.match(literal.group()) and name not in SHOWS_PROGRAMS:
            found(literal.start(), f"program text is composed: {literal.group()}")
    return problems


# Each is found by composed_programs: what a change may bring back.
PLANTED_PROGRAMS = ['auto& s = add_source("<x>", "a = " + name);', 'parse_or_throw(add_source(shown, text));', 'line(fmt::format("def {}({}) {{", f, p));',
                    'line("return onnx.result(" + results + ")");', 'out += "param w: " + type;', 'head = "import onnx\\n" + text;',
                    'fmt::format("module Model{} {{\\n"\n  "build({}) {{", a, b)', 'add_source(path, fmt::format("{}()", call))']


def programs_are_assembled():
    problems = [problem for path in tracked("runtime/*.[ch]pp", "interpreter/*.[ch]pp")
                if str(path.relative_to(ROOT)) not in MAKES_PROGRAMS for problem in composed_programs(str(path.relative_to(ROOT)), path.read_text())]
    problems += [f"a planted line is not found: {line}" for line in PLANTED_PROGRAMS if not composed_programs("interpreter/cli/planted.cpp", line)]
    problems += [f"{path.relative_to(ROOT)}: the name of a project is in a program" for path in tracked("interpreter/cli/project/*.pxl")
                 if "@@" in path.read_text()]
    return "\n".join(problems) or None


# If the system makes no thread, each of these throws, and ends a process that has joinable threads.
THREADS = re.compile(r"\bstd::j?thread\s*[({]|\bstd::j?thread \w+[({]|\bpthread_create\(|\bstd::async\(")


def threads_are_made_in_one_place():
    # The Python module has the library's public headers only; it goes on without the thread.
    return lines_with(THREADS, "use runtime/base/threads/start_thread.hpp", "runtime/base/threads/start_thread.cpp", "python/calls.cpp")


# Their formatters are 250 functions in each file, for up to three seconds of the compiler's time.
RANGES = re.compile(r"fmt/ranges\.h|\bfmt::(?:join|format_to)\(")


def lists_are_joined_in_one_way():
    return lines_with(RANGES, "use runtime/base/text/join_texts.hpp, or append what fmt::format returns")


def formatting():
    files = [str(f) for f in tracked("*.cpp", "*.hpp", "*.inc")]
    code, out, err = run(["clang-format-14", "--dry-run", "-Werror", *files])
    return None if code == 0 else "\n".join(sorted(set(re.findall(r"^([^:\n]+):\d+:\d+: error", err, re.M))))


# A pass of the planner is a row of the table, and in the same order a row of the docs. A file has its function.
# It asks a target (runtime/plan/target.hpp), and knows no kernels.
PASS = re.compile(r"^PXL_(?:LOWERING_)?PASS\((\w+),", re.M)


def passes():
    rows = PASS.findall((ROOT / "runtime/plan/passes.inc").read_text())
    documented = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/kernels.md").read_text().partition("| pass |")[2].partition("\n\n")[0], re.M)
    files = {p.stem: p.read_text() for p in (ROOT / "runtime/plan/passes").glob("*.cpp")}
    problems = [f"runtime/plan/passes/{name}.cpp: no row in passes.inc" for name in sorted(set(files) - set(rows))]
    for name in rows:
        if not re.search(rf"^(void|FlattenedGraph) {name}\(", files.get(name, ""), re.M):
            problems.append(f"passes.inc: `{name}` is not defined in runtime/plan/passes/{name}.cpp")
    for name, text in files.items():
        if re.search(r'#include "runtime/(kernels/|plan/(cpu_lowering|register_program))', text):
            problems.append(f"runtime/plan/passes/{name}.cpp: includes kernels; what a pass asks is a question of Target")
    if documented != rows:
        problems.append(f"docs/kernels.md: expected the rows {', '.join(rows)}, got {', '.join(documented)}")
    return "\n".join(problems) or None


# Tables of which each row is a function of a file: what "What to touch" of docs/architecture.md names.
TABLES = [("interpreter/commands/commands.inc", r"^PXL_REPL_COMMAND\((\w+),", "interpreter/commands/*.cpp", r"^void command_{}\("),
          ("interpreter/cli/commands.inc", r"^PXL_COMMAND\((\w+)\)", "interpreter/cli/*.cpp", r"\b{}_command\b *(?:=|\{{)"),
          ("runtime/execute/engines/engines.inc", r"^PXL_ENGINE\((\w+),", "runtime/execute/engines/engine_*.cpp", r"\bmake_{}_engine\(")]


def tables():
    """Each row of a table has its function in exactly one file of the folder, and the page names files that exist."""
    problems = []
    for table, row, folder, definition in TABLES:
        texts = [p.read_text() for p in tracked(folder)]
        names = re.findall(row, (ROOT / table).read_text(), re.M)
        problems += [] if names else [f"{table}: no rows"]
        problems += [f"{table}: {name} is defined in {found} files of {folder}" for name in names
                     if (found := sum(bool(re.search(definition.format(name), text, re.M)) for text in texts)) != 1]
    rows = re.findall(TABLES[-1][1], (ROOT / TABLES[-1][0]).read_text(), re.M)
    documented = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/engines.md").read_text().partition("\n\n`")[0], re.M)
    problems += [] if documented == rows else [f"docs/engines.md: expected the rows {', '.join(rows)}, got {', '.join(documented)}"]
    page = (ROOT / "docs/architecture.md").read_text().partition("## What to touch")[2].partition("\n## ")[0]
    problems += [f"docs/architecture.md: What to touch: no file {path}" for path in re.findall(r"`((?:runtime|interpreter|tests)/[\w./]+)`", page)
                 if not (ROOT / path).exists() and "NAME" not in path]
    return "\n".join(problems) or None


# What the root has. Files that programs write are data, and data are in these folders.
ROOT_FILES = {".clang-format", ".clang-tidy", ".gitattributes", ".gitignore", "CHANGELOG.md", "CMakeLists.txt", "CMakePresets.json",
              "CONTRIBUTING.md", "LICENSE", "README.md"}
DATA = re.compile(r"\.(safetensors|onnx|pb|np[yz]|png|svg|jpe?g|wav|csv|bin|gz|zip)$")
DATA_FOLDERS = ("docs/pictures/", "editors/", "examples/data/", "tests/curves/", "tests/model/", "tests/oracle/", "tests/docs/")


def strays(paths):
    """Files, tracked or not, that a run has left: unknown ones in the root, and data outside the folders of data."""
    return [path for path in paths if (path not in ROOT_FILES if "/" not in path else DATA.search(path) and not path.startswith(DATA_FOLDERS))]


def stray_files():
    planted = ["start.safetensors", "a.pxl", "tests/lang/data/other.npy", "runtime/kernels/graph.svg"]
    unseen = [path for path in planted if strays([path]) != [path]]
    return "\n".join([f"a planted file is not found: {path}" for path in unseen] +
                     [f"{path}: belongs in no checkout, or in a folder of data" for path in strays(str(p.relative_to(ROOT)) for p in tracked("*"))]) or None


# A kernel declares its memory (kernels/workspace.hpp): nothing that grows while it runs, and nothing that others may find.
KERNEL_MEMORY = re.compile(r"\bthread_local\s+(?!bool const\b)|\bscratch<|make_shared<std::(vector|array)")


def example_commits():
    """Each commit that "What to touch" names is in the history, and changed a file of its row, wherever that was then."""
    if run(["git", "rev-parse", "--is-shallow-repository"])[1].strip() != "false":
        raise Unavailable("the checkout has no history")
    problems, rows = [], [line.split(" | ") for line in (ROOT / "docs/architecture.md").read_text().splitlines()
                          if re.search(r" \| [0-9a-f]{8}: .* \|$", line)]
    for what, *named, example in rows:
        files = set(re.findall(r"`(?:[\w.]+/)*(\w+\.[a-z]+)`", " ".join(named)))
        for commit in re.findall(r"\b([0-9a-f]{8}):", example):
            changed = run(["git", "show", "--format=", "--name-only", commit])[1]
            if not any(re.search(rf"(^|/){re.escape(name).replace('NAME', '[a-z_]+')}(/|$)", changed, re.M) for name in files):
                problems.append(f"docs/architecture.md: {what.strip('| ')}: {commit} changed none of {', '.join(sorted(files))}")
    return "\n".join(problems) or (None if rows else "no example was found")


def kernel_memory():
    problems = []
    for path in tracked("runtime/kernels/*", "runtime/plan/*"):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if KERNEL_MEMORY.search(line.partition("//")[0]):
                problems.append(f"{path.relative_to(ROOT)}:{number}: declare a WorkspaceLayout: {line.strip()}")
    return "\n".join(problems) or None


def name_characters():
    """The table of name characters is what Python's copy of Unicode says; a later Unicode may assign more."""
    of_macro = {"LETTERS": {"Lu", "Ll", "Lt", "Lm", "Lo", "Nl"}, "MARKS": {"Nd", "Mn", "Mc"}}
    text = (ROOT / "interpreter/syntax/name_characters.inc").read_text()
    listed = {macro: set() for macro in of_macro}
    for macro, first, last in re.findall(r"(LETTERS|MARKS)\((0x[0-9a-f]+), (0x[0-9a-f]+)\)", text):
        listed[macro] |= set(range(int(first, 16), int(last, 16) + 1))
    later = unicodedata.unidata_version != re.search(r"Unicode (\d+)", text).group(1) + ".0.0"
    problems = []
    for macro, categories in of_macro.items():
        known = {c for c in range(0x80, 0x110000) if unicodedata.category(chr(c)) in categories}
        problems += [f"{macro} has U+{c:04X}, which is none" for c in sorted(listed[macro] - known)]
        problems += [f"{macro} lacks U+{c:04X}" for c in sorted(known - listed[macro]) if not later]
    return "\n".join(problems[:20]) or None


# A constant at the beginning of a line.
CONSTANT = re.compile(r"^(?:inline |static )*constexpr [^=({;]*?(\w+)(?:\[[^\]]*\])* ?[={;]", re.M)


def hidden_constants():
    """No constant in an unnamed namespace has the name of a constant in a header of the same or an earlier layer. Files are
    compiled in batches, so other files in the batch would read it instead."""
    of_headers = {layer: {name for path in tracked(f"{layer}/*.hpp") for name in CONSTANT.findall(path.read_text())} for layer in ALLOWED}
    problems = []
    for layer, included in ALLOWED.items():
        sources = {path: path.read_text() for path in tracked(f"{layer}/*.cpp")}
        for path, text in sources.items():
            own = {name for part in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.M | re.S) for name in CONSTANT.findall(part)}
            for name in sorted(own & set().union(*(of_headers[l] for l in included))):
                if any(other != path and re.search(rf"(?<![\w.:\"]){name}\b", re.sub(r'"[^"\n]*"|//.*', "", code)) and
                       not re.search(rf"^\s*(?:static )?constexpr [^=;]*\b{name}\b", code, re.M) for other, code in sources.items()):
                    problems.append(f"{path.relative_to(ROOT)}: `{name}` hides the constant of a header from other files of the layer")
    return "\n".join(problems) or None


def leftovers():
    problems = []
    for path in tracked("*.cpp", "*.hpp", "*.inc", "*.pxl", "*.py", "*.cmake", "*.g4"):
        if path == TESTS / "house/rules.py":
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if WORDS.search(line):
                problems.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    return "\n".join(problems) or None


FIXED_WIDTH = re.compile(r"\bu?int(8|16|32|64)_t\b")


def fixed_widths():
    """A file that names an integer of fixed width includes <cstdint>, or a file of pxl or xtensor that does. Other headers
    of the standard library include it in some releases of GCC only."""
    included = {}

    def brings(path):
        if path not in included:
            text = path.read_text() if path.is_file() else ""
            included[path] = False  # of a ring
            included[path] = bool(re.search(r"#include <(cstdint|xtensor/)", text)) or any(
                brings(folder / name) for name in re.findall(r'^#include "([^"]+)"', text, re.M) for folder in (ROOT, path.parent))
        return included[path]

    return "\n".join(f"{path.relative_to(ROOT)}: include <cstdint>" for path in tracked("*.cpp", "*.hpp")
                     if FIXED_WIDTH.search(re.sub(r'//.*|"[^"\n]*"', "", path.read_text())) and not brings(path)) or None


def packages_of_both_releases():
    """A line of scripts/packages.txt is a group, a package, or a package and the one release of Debian that has it."""
    line = re.compile(r"\[\w+\]|[a-z0-9][a-z0-9.+-]+( 1[23])?")
    lines = [text for text in (ROOT / "scripts/packages.txt").read_text().splitlines() if text and not text.startswith("#")]
    return "\n".join(f"scripts/packages.txt: {text}" for text in lines if not line.fullmatch(text)) or None


def configured_without_a_cache():
    """A machine without ccache compiles in other batches and precompiles headers: it must be possible to configure that, too."""
    with tempfile.TemporaryDirectory() as folder:
        code, out, err = run(["cmake", "--preset", "release", "-B", folder, "-DCCACHE=OFF", "-DPXL_PRECOMPILE=ON"], cwd=ROOT)
    return err[-2000:] if code != 0 else None


def house_tests(tally, build, lists):
    """`lists`: the rows of tests/run.py."""
    tally.add("house: data flows one way", layering)
    tally.add("house: tests are in rooms", rooms_of_tests)
    tally.add("house: one place makes interpreters", interpreters)
    tally.add("house: settings are rows", settings_are_rows)
    tally.add("house: no run left a file behind", stray_files)
    tally.add("house: rooms keep their budgets", lambda: budgets.check(tracked("*")))
    tally.add("house: planted rooms beyond a budget are found", budgets.planted)
    tally.add("house: no layer calls a later one", lambda: calls_upward(build))
    tally.add("house: a tile strategy is one row", one_table_of_strategies)
    tally.add("house: nothing switches on an op", switches_on_ops)
    tally.add("house: machines are data", machines_are_data)
    tally.add("house: layers are documented in order", documented_layers)
    tally.add("house: one place writes to the standard streams", standard_streams)
    tally.add("house: what a program shows is not in the order of addresses", orders_of_addresses)
    tally.add("house: terminals get clean text", terminals_get_clean_text)
    tally.add("house: files are opened for writing in one place", files_are_opened_in_one_place)
    tally.add("house: planted lines are found", planted_lines_are_found)
    tally.add("house: program text is assembled in one way", programs_are_assembled)
    tally.add("house: threads are made in one place", threads_are_made_in_one_place)
    statics.static_tests(tally, build)
    tally.add("house: lists are joined in one way", lists_are_joined_in_one_way)
    tally.add("house: passes are files and documented", passes)
    tally.add("house: rows of tables have their functions", tables)
    tally.add("house: examples of rows are commits", example_commits)
    tally.add("house: kernels declare their memory", kernel_memory)
    tally.add("house: characters of names are Unicode's", name_characters)
    tally.add("house: formatting", formatting)
    tally.add("house: no constant hides another", hidden_constants)
    tally.add("house: nothing left over", leftovers)
    tally.add("house: something calls each function", lambda: unused.problems(ROOT, tracked(*unused.CODE)))
    tally.add("house: planted functions without a call are found", unused.planted_functions_are_found)
    tally.add("house: docs/coverage.md", coverage.check)
    tally.add("house: sentences are short and direct", lambda: prose.problems(prose.rooms(tracked(*prose.FILES)), prose.ratchet()))
    tally.add("house: planted sentences are found", prose.planted_sentences_are_found)
    tally.add("house: links of the documents", lambda: links.broken_links(ROOT, tracked("*.md")))
    tally.add("house: files that pages name exist", lambda: links.missing_files(ROOT, tracked("*.md")))
    tally.add("house: each kind of test is in a list, and documented", lambda: kinds.problems(lists))
    tally.add("house: a test that raises ends no other", kinds.attempts)
    tally.add("house: tests are given as functions", kinds.tests_are_functions)
    tally.add("house: packages are named for both releases", packages_of_both_releases)
    tally.add("house: integers of fixed width are included", fixed_widths)
    tally.add("house: a build without a compiler cache is configured", configured_without_a_cache)
