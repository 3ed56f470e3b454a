#!/usr/bin/env python3
"""Gradients of random loops: of `repeat`, `repeat_while` and `scan` against those of the same calls written one after the other.

A step has states that use each other, and inputs that stay. Some results of the loop have no reader; of these, some
have derivatives that are NaN or infinite, which must not reach any gradient.

    python3 tests/fuzz/loops_fuzz.py --seconds 30 --seed 1
    python3 tests/fuzz/loops_fuzz.py --seed 1 --replay 17     # one program again
"""
import math
import random
import sys

from frame import batches, options, printed

BATCH = 8  # programs a process
SMOOTH = ["{0} * {1}", "{0} + {1}", "sin({0}) * {1}", "{0} - tanh({1})", "{0} * 0.5 + {1} * 0.25", "sigmoid({0} + {1})"]
ALONE = ["{0} * 1.0", "cos({0})", "gelu({0})", "{0}"]
SINKS = ["nan * {0}", "inf * {0}", "sqrt({0} - {0})", "log({0} - {0})", "{0} / ({0} - {0})"]


class Loop:
    def __init__(self, rng):
        self.states = [f"s{i}" for i in range(rng.randrange(1, 5))]
        self.others = [f"w{i}" for i in range(rng.randrange(0, 3))]
        self.count = rng.choice([1, 2, 3, 4, 5, 6, 9])
        self.bound = max(self.count, random.Random(self.count + len(self.states)).choice([0, 16, 17, 26, 200]))
        names = self.states + self.others
        sinks = {s for s in self.states[1:] if rng.random() < 0.4}
        others = [n for n in names if n not in sinks]
        self.results, self.reads = [], {}
        for s in self.states:
            form = rng.choice(SINKS + SMOOTH + ALONE if s in sinks else SMOOTH + ALONE)
            # An unused value may depend on unused values.
            used = [rng.choice(names if s in sinks else others) for _ in range(2 if "{1}" in form else 1)]
            self.results.append(form.format(*used))
            self.reads[s] = set(used)
        fine = [s for s in self.states if s not in sinks]
        self.used = rng.sample(fine, rng.randrange(1, len(fine) + 1))
        self.start = {n: [rng.randrange(-16, 17) / 8 for _ in range(2)] for n in names}

    def wanted(self):
        """The variables on which a used result depends after all iterations."""
        after, found = set(self.used), set()
        for _ in range(self.count):
            read = set().union(*(self.reads[s] for s in after)) if after else set()
            found |= read & set(self.others)
            after = read & set(self.states)
        return [n for n in self.start if n in found | after]

    def text(self, number):
        names, states = ", ".join(self.start), ", ".join(self.states)
        loss = " + ".join(f"sum({s} * {s})" for s in self.used)
        others = "".join(f", {w}" for w in self.others)
        lines = [f"def step{number}({names}) {{",
                 '  nan, inf = float("nan"), float("inf")',
                 f"  return [{', '.join(self.results)}]", "}"]
        ways = {"repeat": [f"out = repeat(ir.create_graph(step{number}, {names}), {self.count}, {names})"],
                "scan": [f"out = scan(step{number}, [{states}], []{others}, count = {self.count})"],
                "while": [f"out = repeat_while(({states}, n) => list(step{number}({names})) + [n + 1], "
                          f"({states}, n) => n < {self.count}, {states}, 0, bound = {self.bound})"],
                "calls": [f"g = ir.create_graph(step{number}, {names})", f"out = [{states}]",
                          f"for _ in range({self.count}) {{ out = g.call_with_info(*out{others}).outputs }}"]}
        for way, body in ways.items():
            lines += [f"program {way}{number} {{"]
            lines += [f"  variable {n}: float32[2] = {v}" for n, v in self.start.items()]
            lines += [f"  def loss({names}) {{", *(f"    {line}" for line in body),
                      "    if not isinstance(out, (list, tuple)) { out = [out] }",
                      *(f"    {s} = out[{i}]" for i, s in enumerate(self.states)), f"    return {loss}", "  }"]
            wanted = self.wanted()
            lines += [f"  grads = ir.create_graph(loss, {names}).call_with_info({names}).backward(1.0, [{', '.join(wanted)}])"]
            lines += [f"  stream out d_{n} = grads[{i}]" for i, n in enumerate(wanted)] + ["}"]
            shown = " + ".join(f"o.d_{n}.tolist()" for n in wanted)
            lines += [f"o = Session({way}{number}()).run()", f'print("{number} {way}", {shown})']
        return "\n".join(lines) + "\n"


def run(pxl, loops):
    lines, why = printed(pxl, "".join(loop.text(n) for n, loop in loops if loop.wanted()))
    found = {}
    for line in lines or []:
        number, way, value = line.split(" ", 2)
        found[int(number), way] = eval(value, {"nan": math.nan, "inf": math.inf})
    return found, why


def same(a, b):
    if math.isnan(a) or math.isnan(b) or math.isinf(a) or math.isinf(b):
        return str(a) == str(b)
    return abs(a - b) <= 1e-3 * (1 + abs(a) + abs(b))


def differences(found):
    for (number, way), value in sorted(found.items()):
        expected = found[number, "calls"]
        if not all(same(a, b) for a, b in zip(value, expected)):
            yield number, f"{way} {value}\ncalls {expected}"


def main():
    given = options(__doc__, replay=True)
    if given.replay is not None:
        loop = Loop(random.Random(f"{given.seed} {given.replay}"))
        found, why = run(given.pxl, [(0, loop)])
        print(loop.text(0), why or "\n".join(text for _, text in differences(found)) or "no finding")
        return 0
    findings = 0
    for numbers in batches(given.seconds, BATCH):
        loops = [(n, Loop(random.Random(f"{given.seed} {n}"))) for n in numbers]
        found, why = run(given.pxl, loops)
        problems = [(loops[0][0], why)] if why else list(differences(found))
        for n, text in problems:
            findings += 1
            print(f"program {n} of seed {given.seed}:\n{dict(loops)[n].text(n)}{text}\n")
    print(f"{numbers.stop} programs, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
