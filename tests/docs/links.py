"""Documents: links lead to files and headings that are there, and every kind of test has its line in docs/testing.md."""
import re

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
CODE = re.compile(r"`[^`\n]*`")


def anchor(heading):
    """A heading's anchor, as hosts of repositories make it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip().replace("`", "")).lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def headings(path):
    return {anchor(h) for h in re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text()), re.M)}


def broken_links(root, files):
    problems = []
    for path in files:
        for target in LINK.findall(CODE.sub("", FENCE.sub("", path.read_text()))):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, heading = target.partition("#")
            there = (path.parent / name).resolve() if name else path
            if not there.exists():
                problems.append(f"{path.relative_to(root)}: there is no {target}")
            elif heading and heading not in headings(there):
                problems.append(f"{path.relative_to(root)}: no heading is #{heading} in {there.relative_to(root)}")
    return "\n".join(problems) or None


def kinds_without_line(root, kinds):
    lines = re.findall(r"^\| (\w+) \|", (root / "docs/testing.md").read_text(), re.M)
    missing = [k for k in kinds if k not in lines]
    return f"docs/testing.md has no line for {', '.join(missing)}" if missing else None


def link_tests(root, files, kinds, add):
    add("house: links of the documents", broken_links(root, files))
    add("house: kinds of tests in docs/testing.md", kinds_without_line(root, kinds))
