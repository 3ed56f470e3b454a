#!/usr/bin/env python3
"""Budgets: lines of each room, and files in one folder.

A room is a folder of `runtime`, `interpreter`, `tests`, `stdlib` or `python`. `budgets.txt` has the most lines of each room.
A folder of `runtime` or `interpreter` has at most 40 files, or a row with the most that it may have. A commit that raises a
number says why.

usage: tests/house/budgets.py            prints what each room has
       tests/house/budgets.py --update   lowers the numbers to what is there, and adds new rooms
"""
import collections
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "tests/house/budgets.txt"
ENDINGS = {".cpp", ".hpp", ".inc", ".h", ".c", ".py", ".pxl", ".js", ".css", ".html", ".ts"}
MAX_FILES = 40
STEP = 100  # budgets are multiples of it, so that small changes need no commit here
HEADER = """# The most lines of each room, and the most files of each folder with more than 40 (budgets.py). Raise a number only in the
# commit that says why.
"""


def counted(paths, read=lambda p: len(p.read_text(errors="replace").splitlines())):
    """Lines by room and files by folder, of paths below the root."""
    lines, files = collections.Counter(), collections.Counter()
    for path in paths:
        parts = path.relative_to(ROOT).parts
        if path.suffix not in ENDINGS or len(parts) < 2 or parts[0] not in ("runtime", "interpreter", "tests", "stdlib", "python"):
            continue
        lines["/".join(parts[:2]) if len(parts) > 2 and parts[0] in ("runtime", "interpreter", "tests") else parts[0]] += read(path)
        if parts[0] in ("runtime", "interpreter"):
            files["/".join(parts[:-1])] += 1
    return lines, {folder: n for folder, n in files.items() if n > MAX_FILES}


def budgets(text):
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {(kind, name): int(most) for kind, name, most in rows}


def problems(lines, files, allowed):
    found = [f"{room}: {n} lines, the budget is {allowed.get(('lines', room), 0)}" for room, n in sorted(lines.items())
             if n > allowed.get(("lines", room), 0)]
    found += [f"{folder}: {n} files in one folder, at most {allowed.get(('files', folder), MAX_FILES)}: give it rooms"
              for folder, n in sorted(files.items()) if n > allowed.get(("files", folder), MAX_FILES)]
    return found


def updated(lines, files, allowed):
    rows = {}
    for kind, counts, step in (("lines", lines, STEP), ("files", files, 1)):
        for name, n in counts.items():
            now = -(-n // step) * step
            rows[kind, name] = min(now, allowed.get((kind, name), now))
    return HEADER + "".join(f"{kind} {name} {n}\n" for (kind, name), n in sorted(rows.items(), key=lambda r: (r[0][0] != "lines", r[0][1])))


def check(paths):
    return "\n".join(problems(*counted(paths), budgets(TABLE.read_text()))) or None


def planted():
    """The check finds a room and a folder that are too large, and accepts those within their budgets."""
    room = [ROOT / "runtime/new" / f"{i}.cpp" for i in range(MAX_FILES + 1)]
    lines, files = counted(room, read=lambda p: 10)
    cases = [({}, 2), ({("lines", "runtime/new"): 410}, 1), ({("lines", "runtime/new"): 410, ("files", "runtime/new"): 41}, 0),
             ({("lines", "runtime/new"): 409, ("files", "runtime/new"): 41}, 1)]
    return "\n".join(f"{allowed}: {found}" for allowed, wanted in cases if len(found := problems(lines, files, allowed)) != wanted) or None


def main():
    import subprocess
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    lines, files = counted([ROOT / name for name in listed if (ROOT / name).is_file()])
    if "--update" in sys.argv:
        TABLE.write_text(updated(lines, files, budgets(TABLE.read_text()) if TABLE.is_file() else {}))
    for name, n in sorted(lines.items()):
        print(f"{n:7} lines  {name}")
    for name, n in sorted(files.items()):
        print(f"{n:7} files  {name}")


if __name__ == "__main__":
    main()
