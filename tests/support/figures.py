"""Costs by kind of test: tests, seconds, and CPU seconds of this process and all that it started; as a table of
docs/testing.md."""
import contextlib
import math
import os
import re
import time

from tests.support.harness import ROOT

PAGE = ROOT / "docs/testing.md"
HEAD = "| kind | list | tests | CPU seconds |\n|---|---|---|---|\n"


def cpu_seconds():
    return sum(os.times()[:4])


def table_rows():
    """The rows of the page: (kind, list) to its figures as text."""
    table = PAGE.read_text().partition(HEAD)[2].partition("\n\n")[0]
    return {(kind, name): figures for kind, name, figures in re.findall(r"^\| (\w+) \| (\w+) \| (.*) \|$", table, re.M)}


class Figures:
    def __init__(self):
        self.rows = {}

    @contextlib.contextmanager
    def of(self, kind, name, tally):
        """Measures the tests of a row. A kind may have several rows in a list."""
        began, before, count = time.monotonic(), cpu_seconds(), tally.count
        yield
        new = tally.count - count, cpu_seconds() - before, time.monotonic() - began
        self.rows[kind, name] = [old + more for old, more in zip(self.rows.get((kind, name), (0, 0, 0)), new)]

    def seconds(self):
        return {f"{kind} ({name})": figures[2] for (kind, name), figures in self.rows.items()}

    def write_table(self):
        """Rewrites the rows of what ran, and the sums of both lists."""
        rows = table_rows()
        rows.update({key: f"{tests} | {math.ceil(cpu)}" for key, (tests, cpu, _) in self.rows.items()})
        text = PAGE.read_text()
        before, _, rest = text.partition(HEAD)
        names = ("daily", "full")
        lines = [(kind, name, *rows[kind, name].split(" | ")) for name in names for kind, of in rows if of == name and kind != "all"]
        for name in names:
            own = [line for line in lines if line[1] == name]
            lines.append(("all", name, *(str(sum(int(line[i]) for line in own)) for i in (2, 3))))
        PAGE.write_text(before + HEAD + "".join(f"| {' | '.join(line)} |\n" for line in lines) + re.sub(r"\A(\|.*\n)*", "", rest))
