"""Documents: links lead to files and headings that are there, and files that a page names exist."""
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


# A source file in backquotes: a path below one of these folders. Capital letters stand for a name.
BELOW = ("", "runtime", "interpreter", "include")
SOURCE = re.compile(r"`([a-z_]+(?:/\w+)+\.(?:cpp|hpp|inc|py))`")
TO_BE_WRITTEN = ["runtime/execute/engine_gpu.cpp"]


def missing_files(root, files):
    problems = []
    for path in files:
        for name in SOURCE.findall(FENCE.sub("", path.read_text())):
            if not re.search(r"[A-Z]{2}", name) and name not in TO_BE_WRITTEN and not any((root / folder / name).exists() for folder in BELOW):
                problems.append(f"{path.relative_to(root)}: there is no file {name}")
    return "\n".join(problems) or None
