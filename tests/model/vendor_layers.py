"""Single layers as the vendor's library planned them, and what the model says of them: errors by family.

`python3 -m tests.model.vendor_layers build/release/pxl [FAMILY ...]` prints a table of the families, and the rows of named families.
"""
import argparse
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).with_suffix(".csv")
# Ops that only make gradients of a loss: sum(y * dy).
FRAME = {"Mul", "ReduceSum", "Expand", "Call"}


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

    @property
    def chip(self):
        tiles = self.values.get("tiles-per-ipu")
        return f"{self.machine},tiles={tiles}" if tiles else self.machine

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
                f"""stream out y = sum(x @ w)
                   stream out dx = sum(dy @ transpose(w, [{axes}]))
                   scaled_add_(w, transpose(x, [{axes}]) @ dy, b = -0.1)""")

    def conv(self):
        batch, groups = self.number("batch-size"), self.number("conv-groups")
        read, given = (groups * self.number(key) for key in ("input-channels", "output-channels"))
        field, kernel, stride = self.pair("field", 1), self.pair("kernel-size", 1), self.pair("stride", 1)
        both = self.pair("padding", 0)
        lower, upper = ([a + b for a, b in zip(both, self.pair(f"padding-{side}", 0))] for side in ("lower", "upper"))
        return (self.variable("x", batch, read, *field) + self.variable("w", given, read // groups, *kernel) +
                self.variable("dy", batch, given, *windows(field, kernel, stride, lower, upper)) +
                f"""y = conv(x, w, stride = {stride}, padding = {lower + upper}, groups = {groups})
                    found = grad(sum(y * dy), [x, w])
                    scaled_add_(w, found[w], b = -0.1)
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


def measured(pxl, rows, flags=()):
    """The report of each layer, in the order of the rows. Layers for one machine are one command."""
    found = {}
    for machine in {row.chip for row in rows}:
        some = [row for row in rows if row.chip == machine]
        found.update(zip(some, reports(pxl, machine, some, flags)))
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
    frame = sum(op["total_cycles"] for op in run["ops"] if op["name"] in FRAME) if row.kind not in ("reduction", "gru", "lstm") else 0
    return run["totals"]["cycles"] - frame - sum(op["total_cycles"] - op["host_cycles"] for op in run["ops"] if op["name"] == "HostStore")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pxl")
    parser.add_argument("families", nargs="*")
    parser.add_argument("--machine", action="append")
    parser.add_argument("--ops", action="store_true")
    parser.add_argument("--steps", action="store_true")
    parser.add_argument("--flags", default="")
    given = parser.parse_args()
    for machine in given.machine or ("mk2", "mk1"):
        rows = [row for row in layers() if row.machine == machine and (not given.families or row.family in given.families)]
        by_family = {}
        for row, run in zip(rows, measured(given.pxl, rows, given.flags.split())):
            error, size = cycles_of(row, run) / row.cycles - 1, run["totals"]["total_bytes"] / row.bytes - 1
            by_family.setdefault(row.family, []).append((error, size))
            if given.families:
                print(f"{machine} {row.family:16} {row.name:45} {row.cycles:9,} {cycles_of(row, run):9,} {error:+7.1%}  bytes {size:+7.1%}")
                for op in run["ops"] if given.ops else []:
                    print(f"      {op['name']:22} {op['total_cycles']:9,} compute {op['compute_cycles']:8,} exchange {op['exchange_cycles']:8,} "
                          f"sync {op['sync_cycles']:6,} relayout {op['relayout_cycles']:7,}  {op['plan']}")
                    for step in op["steps"] if given.steps else []:
                        print("            ", step)
        for family, errors in by_family.items():
            c, b = (sorted(abs(e[i]) for e in errors) for i in (0, 1))
            print(f"{machine} {family:18} {len(c):3} rows: cycles mean {sum(c) / len(c):6.1%} median {c[len(c) // 2]:6.1%} most {c[-1]:6.1%}; "
                  f"bytes mean {sum(b) / len(b):6.1%} most {b[-1]:6.1%}")


if __name__ == "__main__":
    main()
