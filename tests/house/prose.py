"""How comments, pages, docstrings and names of tests read, by room: sentences that are long, begin with the object, or chain "of".

    python3 tests/house/prose.py                 # the shares of each room, in percent
    python3 tests/house/prose.py --list docs     # the sentences of a room that count, with their places
    python3 tests/house/prose.py --update        # lowers tests/house/prose.txt to the tree's counts

A room meets the goals, or has a row in prose.txt: a ratchet, whose counts may only fall. A room is a folder of two levels."""
import argparse
import collections
import itertools
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.harness import ROOT

RATCHET = ROOT / "tests/house/prose.txt"
FILES = ("*.md", "*.cpp", "*.hpp", "*.h", "*.inc", "*.pxl", "*.py", "*.g4")
Kind = collections.namedtuple("Kind", "name goal text found")  # goal: a share of the sentences; found: (words, sentence) -> bool
FRONT = re.compile(r"(?:Of|In|Where|What|Whose|Than|As|By|From|With|To|For|On|At|Besides?|Behind|Under|Between) [a-z`]")
CHAIN = re.compile(r"\bof\b(?: [\w`'-]+){0,4} of\b")
KINDS = [Kind("long", 0.04, "have more than 25 words", lambda words, sentence: words > 25),
         Kind("front", 0.025, "begin with the object", lambda words, sentence: bool(FRONT.match(sentence))),
         Kind("chain", 0.01, "chain `of`", lambda words, sentence: bool(CHAIN.search(sentence)))]
# The mark of a comment; a page has paragraphs.
MARKS = {".md": re.compile(r"()(?=[A-Za-z`(\[])"), ".pxl": re.compile(r"\s*##?(\s+)"), ".py": re.compile(r"\s*##?(\s+)")}
DOCSTRING = re.compile(r'^( *)"""(\w.*?)"""$', re.S | re.M)
TEST_NAME = re.compile(r'\b(?:TEST_CASE|SUBCASE)\("((?:[^"\\]|\\.)*)"')
SLASHES = re.compile(r"\s*(?://+|\*)!?(\s+)")
# Lines of a test that its runner reads.
NO_PROSE = re.compile(r"(?:expect|exit|run|engine|covers|args|error)\b[^:]*:")
SENTENCE = re.compile(r"(?<=[.!?;])\s+")
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
Sentence = collections.namedtuple("Sentence", "line text kinds")


def quoted(text, suffix):
    """(first line, text) of each docstring's paragraphs, but for indented examples, and of each name of a test."""
    line_of = lambda place: text.count("\n", 0, place) + 1
    if suffix == ".cpp":
        yield from ((line_of(m.start()), m.group(1)) for m in TEST_NAME.finditer(text))
    elif suffix == ".py":
        for m in DOCSTRING.finditer(text):
            for paragraph in re.finditer(rf"^{m.group(1)}\S.*(?:\n{m.group(1)}\S.*)*", m.group(1) + m.group(2), re.M):
                if not paragraph.group().lstrip().startswith("usage:"):
                    yield line_of(m.start()) + m.group(2).count("\n", 0, paragraph.start()), " ".join(paragraph.group().split())


def blocks(text, suffix):
    """(first line, text) of each comment or paragraph. Tables, lists, headings and code are none, and neither are examples in a
    comment of pxl, which are indented."""
    mark, lines, first, fenced = MARKS.get(suffix, SLASHES), [], 0, False
    for number, line in enumerate([*text.split("\n"), ""], 1):
        fence = suffix == ".md" and re.match(r"\s*(```|~~~)", line)
        fenced ^= bool(fence)
        begins = None if fence or fenced or line.startswith("#!") else mark.match(line)
        said = line[begins.end():].strip() if begins and (suffix != ".pxl" or len(begins.group(1)) < 4) else ""
        if re.match(r"[A-Za-z`(\[]", said) and not NO_PROSE.match(said):
            first = first if lines else number
            lines.append(said)
        elif lines:
            yield first, " ".join(lines)
            lines = []


def sentences(text, suffix):
    """The sentences of a file: of four words or more, code in backquotes being one."""
    for line, block in itertools.chain(blocks(text, suffix), quoted(text, suffix)):
        for sentence in SENTENCE.split(LINK.sub(r"\1", re.sub(r"`[^`]*`", "x", block))):
            words = len(re.findall(r"[A-Za-z][\w'-]*", sentence))
            if words >= 4:
                yield Sentence(line, sentence, [k.name for k in KINDS if k.found(words, sentence)])


def room_of(path):
    return "/".join(path.relative_to(ROOT).parts[:-1][:2]) or "."


def rooms(paths):
    """{room: [(path, sentence)]}"""
    found = collections.defaultdict(list)
    for path in paths:
        found[room_of(path)] += [(path, s) for s in sentences(path.read_text(errors="replace"), path.suffix)]
    return {room: found[room] for room in sorted(found) if found[room]}


def counts(found):
    return [sum(k.name in s.kinds for _, s in found) for k in KINDS]


def ratchet():
    rows = [line.split() for line in RATCHET.read_text().splitlines() if line and not line.startswith("#")]
    return {room: [int(n) for n in numbers] for room, *numbers in rows}


def allowed(kind, count, recorded):
    """The number of `kind`'s sentences that a room with `count` sentences may have."""
    return max(recorded, math.ceil(kind.goal * count))


def problems(found, rows):
    """`found` of rooms() against the rows of ratchet()."""
    out = []
    for room, there in found.items():
        for kind, got, recorded in zip(KINDS, counts(there), rows.get(room, [0] * len(KINDS))):
            most = allowed(kind, len(there), recorded)
            if got > most:
                out.append(f"{room}: {got} of {len(there)} sentences {kind.text}, {most} may: python3 tests/house/prose.py --list {room}")
    return "\n".join(out) or None


PLANTED = [
    ("a.cpp", "// In a loop the copies are those of the body.\n", ["front"]),
    ("a.hpp", "  /// The mean of the rows of a matrix is kept.\n", ["chain"]),
    ("a.md", "Where several names fit, an error\nlists them.\n", ["front"]),
    ("a.md", "The size of `x` of\na tensor is [a number](b.md).\n", ["chain"]),
    ("a.pxl", "## What a stage makes is stashed.\n##\n##     In a doc example is code of a kind of no prose\n", ["front"]),
    ("a.py", "# " + "word " * 26 + "end.\n", ["long"]),
    ("a.inc", "// Of the rows of all of the parts, " + "the reader reads some, " * 8 + "and ends.\n", ["long", "front", "chain"]),
    ("a.py", 'def f():\n    """Where it is, the sum of a\n    row of names is.\n\n        an example of a row of code\n    """\n', ["front", "chain"]),
    ("a.py", 'TEXT = """Of code of a row of code\n"""\n', []),
    ("a.cpp", 'TEST_CASE("the sum of rows of parts") {\n  f("the name of rows of parts");\n', ["chain"]),
    ("a.cpp", "// The planner copies a row. It keeps the order of rows.\n", []),
    ("a.pxl", "# expect error at 1:2: In a list of names of tensors there is none\n", []),
    ("a.md", "```\nIn a block of code of a page is no prose.\n```\n| In a table | of rows of a page |\n", []),
]


def planted_sentences_are_found():
    out = []
    for name, text, wanted in PLANTED:
        got = [kind for s in sentences(text, pathlib.Path(name).suffix) for kind in s.kinds]
        if got != wanted:
            out.append(f"{name}: {text!r}: expected {wanted}, got {got}")
    for i, kind in enumerate(KINDS):
        plain, bad = (ROOT / "a.md", Sentence(1, "", [])), (ROOT / "a.md", Sentence(1, "", [kind.name]))
        most = math.ceil(200 * kind.goal)
        for more, recorded, refused in ((0, 0, False), (1, 0, True), (1, most + 1, False), (2, most + 1, True)):
            room = {"a": [bad] * (most + more) + [plain] * (200 - most - more)}
            if bool(problems(room, {"a": [recorded * (i == j) for j in range(len(KINDS))]})) != refused:
                out.append(f"{kind.name}: {most + more} of 200, {recorded} recorded: expected {'a' if refused else 'no'} problem")
    return "\n".join(out) or None


def update(found):
    """A room without a row keeps the goals."""
    rows = ratchet()
    text = "# Rooms above a goal: how many sentences are long, begin with the object, chain `of` (prose.py). Counts may only fall.\n"
    for room, there in found.items():
        above = [got if got > allowed(kind, len(there), 0) else 0 for kind, got in zip(KINDS, counts(there))]
        row = [min(pair) for pair in zip(above, rows.get(room, [0] * len(KINDS)))]
        text += f"{room} {' '.join(map(str, row))}\n" if any(row) else ""
    RATCHET.write_text(text)


def main():
    from tests.house.rules import tracked
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--list", metavar="ROOM")
    options.add_argument("--update", action="store_true")
    options = options.parse_args()
    found = rooms(tracked(*FILES))
    if options.update:
        update(found)
    elif options.list:
        for path, s in found.get(options.list, []):
            if s.kinds:
                print(f"{path.relative_to(ROOT)}:{s.line}: {', '.join(s.kinds)}: {s.text}")
    else:
        print(f"{'':24}{'sentences':>10}" + "".join(f"{k.name + ' %':>9}" for k in KINDS))
        for room, there in found.items():
            print(f"{room:24}{len(there):10}" + "".join(f"{100 * n / len(there):9.1f}" for n in counts(there)))


if __name__ == "__main__":
    main()
