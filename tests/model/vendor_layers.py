"""Single layers as the vendor's library planned them, and what the model says of them: errors by family.

`python3 -m tests.model.vendor_layers build/release/pxl [FAMILY ...]` prints the table of docs/ipu-model.md, or the rows of named families.
Constants are fitted to a random half of each family's layers. The table has the errors of the other half, for five such halves.
The table is PopLibs' regression table of 10 March 2021: cycles and bytes as its planner and its model of an IPU have them. A dense layer or a
convolution is forward, input gradient and weight update together, `gemm` is C += A B, a pool is forward and gradient.
"""
import argparse
import functools
import itertools
import json
import pathlib
import random
import re
import subprocess
import tempfile

from tests.support.harness import ROOT

TABLE = pathlib.Path(__file__).with_suffix(".csv")
PAGE = ROOT / "docs/ipu-model.md"
SHOWN = re.compile(r"(<!-- layers of the vendor -->\n)(.*?)(<!-- end -->)", re.S)
# Ops that a layer's program needs beside the layer: gradients begin at sum(y * dy). Sums of everything are for the host.
FRAME = {"Mul", "Expand"}
# The vendor's model omits copies of a call's arguments, those for the host, and bytes of code.
NOT_COUNTED = {"Call", "Loop", "HostLoad", "HostStore"}
NOT_COUNTED_BYTES = {"vertex code", "control code", "runtime", "gaps"}
FAMILIES = ("products", "dense layers", "1 x 1", "1 x 1, stride 2", "spatial kernels", "first layers", "depthwise", "max pools", "reductions",
            "embedding", "gru", "lstm")
SEEDS = range(5)
# What a half of the rows decides. The vendor's model of an IPU has fewer costs of an exchange than a chip.
MODELS = (",sync=0,exchange_entry=0,exchange_efficiency=100", ",sync=0,exchange_entry=0", ",exchange_efficiency=100", ",sync=0", "")
POOLS = tuple(f",pool_window={window},pool_visit={visit},pool_vector={vector}"
              for window, visit, vector in itertools.product((35, 50, 65), (5, 7, 9), (2, 3, 4)))


def windows(field, kernel, stride, lower, upper):
    return [(n + a + b - k) // s + 1 for n, a, b, k, s in zip(field, lower, upper, kernel, stride)]


class Layer:
    """A row of the table."""

    def __init__(self, line):
        self.machine, self.kind, self.name, text, cycles, size = line.strip().split(",")
        self.cycles, self.bytes = int(cycles), int(size)
        self.values = dict(part.split("=", 1) for part in text.split())
        self.dtype = "float32" if self.values.get("data-type") == "float" else "float16"

    def number(self, key, default=1):
        return int(self.values.get(key, default))

    def pair(self, key, default):
        """Two numbers: `3x1`, or one number for both axes."""
        found = [int(n) for n in self.values.get(key, str(default)).split("x")]
        return found if len(found) == 2 else found * 2

    def chip(self, constants):
        tiles = self.values.get("tiles-per-ipu")
        return self.machine + constants + (f",tiles={tiles}" if tiles else "")

    @property
    def plans(self):
        """The vendor stores no operand in copies. Its choice of one cut for the products of a variable is emulated."""
        return "separately" if self.kind == "fc" else "gather"

    @property
    def family(self):
        if self.kind != "conv":
            return {"gemm": "products", "fc": "dense layers", "pooling": "max pools", "reduction": "reductions"}.get(self.kind, self.kind)
        if self.number("conv-groups") > 1:
            return "depthwise"
        if self.number("input-channels") < 16:
            return "first layers"
        if max(self.pair("kernel-size", 1)) > 1:
            return "spatial kernels"
        return "1 x 1, stride 2" if max(self.pair("stride", 1)) > 1 else "1 x 1"

    def program(self, name):
        body = getattr(self, self.kind)()
        lines = "\n  ".join(line.strip() for line in body.strip().splitlines())
        return f"program {name} with in_sequence() {{\n  {lines}\n}}\n"

    def variable(self, name, *shape):
        return f"variable {name}: {self.dtype}[{', '.join(map(str, shape))}] = 0\n"

    def gemm(self):
        m, k, n = (self.number(key) for key in "mkn")
        return self.variable("a", m, k) + self.variable("b", k, n) + self.variable("c", m, n) + "scaled_add_(c, a @ b, b = 1.0)"

    def fc(self):
        rows, read, given = (self.number(key) for key in ("batch-size", "input-size", "output-size"))
        groups = [self.number("num-groups")] if "num-groups" in self.values else []
        axes = "0, 2, 1" if groups else "1, 0"
        return (self.variable("x", *groups, rows, read) + self.variable("w", *groups, read, given) + self.variable("dy", *groups, rows, given) +
                self.variable("bias", *groups, 1, given) + f"""stream out y = sum(x @ w + bias)
                   stream out dx = sum(dy @ transpose(w, [{axes}]))
                   scaled_add_(w, transpose(x, [{axes}]) @ dy, b = -0.1)
                   scaled_add_(bias, sum(dy, axis = {len(groups)}, keepdims = true), b = -0.1)""")

    def conv(self):
        batch, groups = self.number("batch-size"), self.number("conv-groups")
        read, given = (groups * self.number(key) for key in ("input-channels", "output-channels"))
        field, kernel, stride = self.pair("field", 1), self.pair("kernel-size", 1), self.pair("stride", 1)
        both = self.pair("padding", 0)
        lower, upper = ([a + b for a, b in zip(both, self.pair(f"padding-{side}", 0))] for side in ("lower", "upper"))
        return (self.variable("x", batch, read, *field) + self.variable("w", given, read // groups, *kernel) +
                self.variable("dy", batch, given, *windows(field, kernel, stride, lower, upper)) + self.variable("bias", 1, given, 1, 1) +
                f"""y = conv(x, w, stride = {stride}, padding = {lower + upper}, groups = {groups}) + bias
                    found = grad(sum(y * dy), [x, w])
                    scaled_add_(w, found[w], b = -0.1)
                    scaled_add_(bias, sum(dy, axis = [0, 2, 3], keepdims = true), b = -0.1)
                    stream out o = sum(y)
                    stream out dx = sum(found[x])""")

    def pooling(self):
        planes = self.number("batch-size"), self.number("channels")
        field, kernel, stride = self.pair("field", 1), self.pair("kernel", 1), self.pair("stride", 1)
        lower, upper = self.pair("padding-lower", 0), self.pair("padding-upper", 0)
        return (self.variable("x", *planes, *field) + self.variable("dy", *planes, *windows(field, kernel, stride, lower, upper)) +
                f"""y = max_pool(x, {kernel}, stride = {stride}, padding = {lower + upper})
                    stream out o = sum(y)
                    stream out dx = sum(grad(sum(y * dy), x))""")

    def reduction(self):
        shape, axes = ([int(n) for n in self.values[key].split("x")] for key in ("shape", "dims"))
        op = {"ADD": "sum", "SQUARE_ADD": "sumsquare"}[self.values["operation"]]
        return self.variable("x", *shape) + f"stream out y = {op}(x, axis = {axes})"

    def embedding(self):
        rows, width = (int(n) for n in self.values["shape"].split("x"))
        count = self.number("num-indices")
        return (self.variable("table", rows, width) + f"variable ids: int32[{count}] = 0\n" + self.variable("dy", count, width) +
                """y = gather(table, ids)
                   scaled_add_(table, grad(sum(y * dy), table), b = -0.1)
                   stream out o = sum(y)""")

    def recurrent(self, module):
        steps, batch, read, hidden = (self.number(key) for key in ("sequence-size", "batch-size", "input-size", "output-size"))
        return (self.variable("x", steps, batch, read) +
                f"""facts, graph = {module}({hidden}).create_graph(x.spec)
                    bound = graph.bind(facts.init_zero())
                    loss = sum(bound(x)[0])
                    stream out y = loss""" + ("" if self.values.get("phase") != "all" else """
                    found = grad(loss, [x, *bound.vars.tensors])
                    stream out dx = sum(found[x])
                    for v in bound.vars.tensors { scaled_add_(v, found[v], b = -0.1) }"""))

    def lstm(self):
        return self.recurrent("LSTM")

    def gru(self):
        return self.recurrent("GRU")


def layers():
    return [Layer(line) for line in TABLE.read_text().splitlines() if not line.startswith("#")]


def measured(pxl, rows, constants):
    """The report of each layer, in the order of the rows. Layers for one machine, planned alike, are one command."""
    found = {}
    for machine, plans in {(row.chip(constants), row.plans) for row in rows}:
        some = [row for row in rows if (row.chip(constants), row.plans) == (machine, plans)]
        found.update(zip(some, reports(pxl, machine, some, ("--plans", plans))))
    return [found[row] for row in rows]


def reports(pxl, machine, rows, flags):
    text = "from recurrent import LSTM, GRU\n" + "".join(row.program(f"layer{i}") for i, row in enumerate(rows))
    text += "sessions = [\n" + ",\n".join(f'  Session(layer{i}(), "ipu_model")' for i in range(len(rows))) + "\n]\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "layers.pxl"
        path.write_text(text)
        done = subprocess.run([str(pxl), "profile", "--machine", machine, "--json", *flags, str(path)], capture_output=True, text=True, timeout=1200)
    if done.returncode:
        raise RuntimeError(done.stderr)
    runs = {run["name"]: run for run in json.loads(done.stdout)["runs"]}
    return [runs[f"layer{i}"] for i in range(len(rows))]


def cycles_of(row, run):
    """Cycles of a layer's ops; copies from and to the host are not the layer's."""
    whole = row.kind in ("reduction", "gru", "lstm")
    ops = [op for op in run["ops"] if op["name"] not in NOT_COUNTED and
           (whole or (op["name"] not in FRAME and (op["name"], op["results"][-1:]) != ("ReduceSum", [f"{row.dtype}[]"])))]
    return sum(op["total_cycles"] - op["host_cycles"] for op in ops)


def bytes_of(run):
    return sum(category["bytes"] for category in run["categories"] if category["name"] not in NOT_COUNTED_BYTES)


def errors(pxl, rows, constants):
    """(error of cycles, error of bytes, report) by row."""
    return {row: (cycles_of(row, run) / row.cycles - 1, bytes_of(run) / row.bytes - 1, run)
            for row, run in zip(rows, measured(pxl, rows, constants))}


def mean(values):
    return sum(values) / len(values)


def halves(family, seed):
    """A random half of a family's layers, and the others. A layer is in the same half for all machines."""
    names = sorted({row.name for row in family})
    drawn = set(random.Random(seed).sample(names, len(names) // 2))
    return [row for row in family if row.name in drawn], [row for row in family if row.name not in drawn]


class Fit:
    """The errors of rows that constants were not fitted to."""

    def __init__(self, pxl, rows):
        self.families = {family: [row for row in rows if row.family == family] for family in FAMILIES}
        self.of_model = {model: errors(pxl, rows, model) for model in MODELS}
        self.of_pool = functools.cache(lambda constants: errors(pxl, self.families["max pools"], constants))

    def held_back(self, seed):
        """The constants that fit a half of the rows best, and the errors of the other half: (cycles, bytes) by row."""
        split = {family: halves(rows, seed) for family, rows in self.families.items()}

        def error(found, families):
            return mean([mean([abs(found[row][0]) for row in split[family][0]]) for family in families if split[family][0]])

        model = min(MODELS, key=lambda model: error(self.of_model[model], FAMILIES))
        pool = min(POOLS, key=lambda pool: error(self.of_pool(model + pool), ["max pools"]))
        found = {**self.of_model[model], **self.of_pool(model + pool)}
        return (model, pool), {row: found[row][:2] for family in FAMILIES for row in split[family][1]}


def table(pxl):
    """The errors of rows held back, by family, as the lines of docs/ipu-model.md."""
    fit = Fit(pxl, layers())
    found = [fit.held_back(seed) for seed in SEEDS]
    lines = ["| family | layers | mk2: cycles, mean | worst half | most | bytes, mean | mk1: cycles, mean | worst half | most | bytes, mean |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    for family in FAMILIES:
        cells = []
        for machine in ("mk2", "mk1"):
            seeds = [[pair for row, pair in held.items() if (row.family, row.machine) == (family, machine)] for _, held in found]
            cycles, size = ([[abs(pair[i]) for pair in seed] for seed in seeds] for i in (0, 1))
            means = [mean(seed) for seed in cycles]
            cells += [f"{100 * value:.1f} %" for value in (mean(means), max(means), max(map(max, cycles)), mean([mean(seed) for seed in size]))]
        lines.append(f"| {family} | {len(fit.families[family])} | " + " | ".join(cells) + " |")
    models, pools = (" or ".join(f"`{text.strip(',')}`" for text in sorted({constants[i] for constants, _ in found})) for i in (0, 1))
    return "\n".join([*lines, "", f"The halves chose {models}.", f"For pools they chose {pools}."]) + "\n"


def vendor_tests(pxl, add, update):
    """The page has the errors of rows held back as they are."""
    text, shown = PAGE.read_text(), table(pxl)
    print(shown, end="", flush=True)
    if update:
        PAGE.write_text(SHOWN.sub(lambda m: m[1] + shown + m[3], text))
        return
    at = SHOWN.search(text)
    add("docs/ipu-model.md shows the errors by family of the vendor's layers",
        None if at and at[2] == shown else f"{shown}is what the model says now")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pxl")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--machine", default="mk2")
    parser.add_argument("--ops", action="store_true", help="print the ops of each row")
    given = parser.parse_args()
    if not given.families:
        print(table(given.pxl), end="")
        return
    rows = [row for row in layers() if row.machine == given.machine and row.family in given.families]
    for row, (cycles, size, run) in errors(given.pxl, rows, MODELS[0]).items():
        print(f"{row.family:16} {row.name:50} {row.cycles:9,} cycles {cycles:+7.1%}  bytes {size:+7.1%}")
        for op in run["ops"] if given.ops else []:
            print(f"      {op['name']:22} {op['total_cycles']:9,} compute {op['compute_cycles']:8,} exchange {op['exchange_cycles']:8,} "
                  f"relayout {op['relayout_cycles']:7,}  {op['plan']}")


if __name__ == "__main__":
    main()
