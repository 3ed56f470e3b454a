"""Research programs of tests/text: the numbers that PyTorch printed for the same computation."""
import re

from tests.support.harness import TESTS, own_folder, parallel, run

NUMBER = re.compile(r"^[-+]?(\d|inf|nan)")


def checks(text):
    """CHECK NAME 1 2 3 tol=1e-5, by name: the numbers and the tolerance."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("CHECK "):
            continue
        parts, tolerance = line.split()[1:], 1e-5
        if parts[-1].startswith("tol="):
            tolerance = float(parts.pop()[4:])
        first = next(i for i, part in enumerate(parts) if i and NUMBER.match(part))
        found[" ".join(parts[:first])] = [float(p) for p in parts[first:]], tolerance
    return found


def compare(pxl, path):
    with own_folder(path) as folder:
        code, out, err = run([str(pxl), path.name], cwd=folder, timeout=120)
    if code:
        return f"exit status {code}\n{err[-3000:]}"
    ours = checks(out)
    for name, (theirs, tolerance) in checks((path.parent / "expected" / f"{path.stem}.txt").read_text()).items():
        mine = ours.get(name, ([], 0))[0]
        scale = max([abs(x) for x in theirs] + [1e-6])
        if len(mine) != len(theirs) or not all(abs(a - b) <= tolerance * scale for a, b in zip(mine, theirs)):
            return f"{name}: pxl {mine[:4]}, PyTorch {theirs[:4]}"
    return None


def research_tests(pxl, add):
    programs = [p for p in sorted((TESTS / "text").glob("*.pxl")) if p.stem != "det"]
    for name, problem in parallel([(f"text/{p.name}", lambda p=p: compare(pxl, p)) for p in programs], 2):
        add(name, problem)
