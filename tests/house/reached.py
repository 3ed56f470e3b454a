"""Which places that raise an error the tests reach: `throw`, and calls of functions that only throw.

    python3 tests/house/reached.py build/asan           # runs lang and unit of a build with line numbers (-g1)
    python3 tests/house/reached.py --log build/asan/throws.log --list

tests/house/reached.txt has, by folder, how many places no test reaches: a ratchet, which `scripts/test --full` checks."""
import argparse
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.harness import ROOT, Tally

RATCHET = ROOT / "tests/house/reached.txt"
# Text that is no code, newlines kept: comments, strings, characters.
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
ONLY_THROWS = re.compile(r"\[\[noreturn\]\][^;{]*?\b(\w+)\s*\(")


def code_of(path):
    """The text with comments and literals blank, so that places stay where they are."""
    def blank(found):
        return re.sub(r"[^\n]", " ", found.group())
    return NO_CODE.sub(blank, path.read_text())


def places():
    """[(path, first line, last line)] of all places that raise an error."""
    files = {p: code_of(p) for top in ("runtime", "interpreter") for p in sorted((ROOT / top).rglob("*")) if p.suffix in (".cpp", ".hpp", ".inc")}
    everywhere, own = set(), collections.defaultdict(set)
    for path, code in files.items():
        for name in ONLY_THROWS.findall(code):
            (everywhere if path.suffix == ".hpp" else own[path]).add(name)
    found = []
    for path, code in files.items():
        names = "|".join(sorted(everywhere | own[path]))
        declared = {m.start(1) for m in ONLY_THROWS.finditer(code)}
        for m in re.finditer(rf"\bthrow\b(?!\s*;)|(?<!::)(?<!->)(?<!\.)\b(?:{names})\s*\(", code):
            before = code[:m.start()].rstrip()
            # A definition has a type before the name; a statement begins, or goes on with an operator or `return`.
            defines = m.start() in declared or re.search(r"\b(?:void|auto|Value|double|bool|int64_t)$|[&*]$", before) and not before.endswith("&&")
            if not defines:
                found.append((path, code.count("\n", 0, m.start()) + 1, code.count("\n", 0, code.find(";", m.end())) + 1))
    return found


@contextlib.contextmanager
def recorded(log, more=False):
    """Programs that run meanwhile write to `log` where they throw; with `more` after what is there."""
    if not more:
        log.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        library = f"{folder}/throw_log.so"
        subprocess.run(["c++", "-std=c++20", "-O1", "-shared", "-fPIC", "-o", library, str(ROOT / "tests/support/throw_log.cpp")], check=True)
        # The address sanitizer wants to be loaded first, but has no need to.
        options = [os.environ.get("ASAN_OPTIONS", ""), "verify_asan_link_order=0"]
        given = {"LD_PRELOAD": library, "THROW_LOG": str(log), "ASAN_OPTIONS": ":".join(filter(None, options))}
        before = {name: os.environ.get(name) for name in given}
        os.environ.update(given)
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})


def lines_of(log):
    """{path: lines} of all calls in the log."""
    programs = collections.defaultdict(set)
    for line in pathlib.Path(log).read_text(errors="replace").splitlines():
        program, *addresses = line.split(" ")
        programs[program].update(addresses)
    lines = collections.defaultdict(set)
    for program, addresses in programs.items():
        if not os.path.exists(program):
            continue
        found = subprocess.run(["addr2line", "-i", "-e", program], input="\n".join(sorted(addresses)), capture_output=True, text=True).stdout
        for place in found.splitlines():
            path, _, line = place.partition(" ")[0].rpartition(":")
            if line.isdigit():
                lines[os.path.realpath(path)].add(int(line))
    return lines


def counted(log):
    """{folder: (reached, all)} and the places that are not reached."""
    lines, counts, missing = lines_of(log), collections.defaultdict(lambda: [0, 0]), []
    for path, first, last in places():
        reached = any(first <= line <= last for line in lines.get(str(path.resolve()), ()))
        folder = str(path.parent.relative_to(ROOT))
        counts[folder][0] += reached
        counts[folder][1] += 1
        if not reached:
            missing.append(f"{path.relative_to(ROOT)}:{first}")
    return counts, missing


def check(log, update=False):
    """The problem with the places that the programs in the log did not reach, or None."""
    counts, _ = counted(log)
    left = {folder: total - reached for folder, (reached, total) in sorted(counts.items())}
    if update:
        RATCHET.write_text("".join(f"{folder} {n}\n" for folder, n in left.items() if n))
    allowed = {folder: int(n) for folder, n in (line.split() for line in RATCHET.read_text().splitlines())}
    more = {folder: n for folder, n in left.items() if n > allowed.get(folder, 0)}
    fewer = {folder: n for folder, n in left.items() if n < allowed.get(folder, 0)}
    if fewer and not more:
        print(f"{RATCHET.name} can be lowered, by `python3 tests/house/reached.py --log {log} --update`: {fewer}")
    return "\n".join(f"{folder}: no test reaches {n} places that raise an error, {RATCHET.name} allows {allowed.get(folder, 0)}"
                     for folder, n in more.items()) or None


def main():
    from tests.language import expectations
    from tests.unit import doctests
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, nargs="?", help="a build with line numbers; its lang and unit tests run")
    parser.add_argument("--log", type=pathlib.Path, help="count an earlier run")
    parser.add_argument("--list", action="store_true", help="print the places that no test reaches")
    parser.add_argument("--update", action="store_true", help="write tests/house/reached.txt")
    options = parser.parse_args()
    log = options.log
    if not log:
        build = options.build.resolve()
        log = build / "throws.log"
        with recorded(log):
            expectations.lang_tests(build / "pxl", Tally())
            doctests.unit_tests(build, Tally())
    counts, missing = counted(log)
    if options.list:
        print("\n".join(missing))
    for folder, (reached, total) in sorted(counts.items()):
        print(f"{folder:24} {reached:4} of {total:4}")
    print(f"tests reach {sum(c[0] for c in counts.values())} of {sum(c[1] for c in counts.values())} places that raise an error")
    problem = check(log, options.update)
    print(problem or "no fewer than recorded")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
