#!/usr/bin/env python3
"""Gradients among updates: calls, gradients of earlier calls, and updates of variables, in random order.

A gradient reads what its forward call read, whatever was updated since. The expected values are computed here with versions of the
variables; where the gradient depends on such an update, the program must be refused.

    python3 tests/fuzz/updates_fuzz.py --seconds 30 --seed 1
    python3 tests/fuzz/updates_fuzz.py --seed 1 --replay 17     # one program again
"""
import random
import sys

from frame import batches, options, printed

BATCH = 25  # programs a process
REFUSED = "cannot run before that change"


class Program:
    """Lines of text and what they mean: values, and which op must run after which."""

    def __init__(self, rng):
        self.rng, self.lines, self.refused = rng, [], False
        self.values, self.maker = {}, {}                        # of tensors that ops make
        self.before, self.ops = {}, 0                           # by op: those that it directly follows
        self.versions = {v: [rng.randrange(-8, 9) / 8] for v in ("u", "v", "w")}
        self.writers = {v: [None] for v in self.versions}       # by version: the op that wrote it, and those that read it
        self.readers = {v: [[]] for v in self.versions}
        self.calls, self.outputs = [], []
        self.first = {v: x[0] for v, x in self.versions.items()}
        for _ in range(rng.randrange(4, 14)):
            rng.choice([self.call, self.call, self.gradient, self.gradient, self.update])()
            if self.refused:
                break

    def op(self):
        self.ops += 1
        self.before[self.ops] = set()
        return self.ops

    def read(self, op, name, version=None):
        """The value of an operand; of a variable's present version unless another one is named."""
        if name not in self.versions:
            self.before[op].add(self.maker[name])
            return self.values[name]
        version = len(self.versions[name]) - 1 if version is None else version
        self.readers[name][version].append(op)
        if self.writers[name][version]:
            self.before[op].add(self.writers[name][version])
        if version + 1 < len(self.versions[name]):
            self.before[self.writers[name][version + 1]].add(op)
        return self.versions[name][version]

    def follows(self, op, other):
        seen, found = set(), [op]
        while found:
            at = found.pop()
            if at == other:
                return True
            if at not in seen:
                seen.add(at)
                found += self.before[at]
        return False

    def tensor(self, name, op, value):
        self.values[name], self.maker[name] = value, op
        self.outputs.append(name)

    def pick(self):
        return self.rng.choice([*self.versions, *self.versions, *self.values])

    def call(self):
        a, b = self.pick(), self.pick()
        if a == b:
            return
        op = self.op()
        seen = {x: len(self.versions[x]) - 1 for x in (a, b) if x in self.versions}
        x, y = self.read(op, a), self.read(op, b)
        self.lines.append(f"info{op} = f.call_with_info({a}, {b})")
        self.lines.append(f"y{op} = info{op}.output")
        self.tensor(f"y{op}", op, x * y + 0.25 * x * x)
        self.calls.append((op, a, b, x, y, seen))

    def gradient(self):
        if not self.calls:
            return
        forward, a, b, x, y, seen = self.rng.choice(self.calls)
        wanted, dy = self.rng.choice([a, b]), self.rng.choice(["0.5", self.pick()])
        op = self.op()
        given = 0.5 if dy == "0.5" else self.read(op, dy)
        used = [n for n in ((a, b) if wanted == a else (a,)) if n in self.versions]
        for n in used:
            later = self.writers[n][seen[n] + 1:]
            if later and any(self.follows(op, w) for w in later):
                self.refused = True
            elif not self.refused:
                self.read(op, n, seen[n])
        for n in {a, b} - set(used) - set(self.versions):
            self.before[op].add(self.maker[n])
        # A variable that is read in two versions, an older one as a forward value, follows the update between them.
        self.refused = self.refused or any(self.follows(w, op) and self.follows(op, w) for w in self.before if w != op)
        self.lines.append(f"g{op} = info{forward}.backward({dy}, [{wanted}])[{wanted}]")
        if not self.refused:
            self.before[op].add(forward)
            self.tensor(f"g{op}", op, given * (y + 0.5 * x) if wanted == a else given * x)

    def update(self):
        if not self.values:
            return
        v, t = self.rng.choice([*self.versions]), self.rng.choice([*self.values])
        op = self.op()
        value = self.read(op, t)
        self.before[op] |= {o for o in [self.writers[v][-1], *self.readers[v][-1]] if o}
        self.versions[v].append(0.5 * self.versions[v][-1] + 0.25 * value)
        self.writers[v].append(op)
        self.readers[v].append([])
        way = self.rng.choice(["change.call({v}, {t})", "repeat(change, 1, {v}, {t})", "change.call(detach_({v}), {t})"])
        self.lines.append(way.format(v=v, t=t))

    def text(self, number):
        lines = [f"program p{number}() {{", "  f = ir.create_graph((a, b) => a * b + a * a * 0.25, float32[], float32[])",
                 "  change = ir.create_graph(moved, float32[], float32[])"]
        lines += [f"  variable {v}: float32[] = {x}" for v, x in self.first.items()]
        lines += [f"  {line}" for line in self.lines]
        lines += [f"  stream out o_{n} = {n}" for n in [*self.outputs, *self.versions]] + ["}"]
        if self.refused:
            return "\n".join([*lines, f'with expect_error("{REFUSED}") {{ p{number}() }}', ""])
        shown = ", ".join(f"float(o.o_{n})" for n in [*self.outputs, *self.versions])
        return "\n".join([*lines, f"o = Session(p{number}()).run()", f'print("{number}", [{shown}])', ""])

    def expected(self):
        return [self.values[n] for n in self.outputs] + [x[-1] for x in self.versions.values()]


HEAD = "def moved(ref v, t) {\n  with in_sequence() {\n    accumulator_scale_(v, 0.5)\n    accumulate_(v, t, f = 0.25)\n  }\n}\n"


def run(pxl, programs):
    lines, why = printed(pxl, HEAD + "".join(p.text(n) for n, p in programs))
    found = {}
    for line in lines or []:
        number, values = line.split(" ", 1)
        found[int(number)] = eval(values, {"nan": float("nan"), "inf": float("inf")})
    return found, why


def problem(pxl, programs):
    """(number, text) of the first thing wrong with some programs, or None."""
    found, why = run(pxl, programs)
    if why and len(programs) > 1:
        return next((p for p in (problem(pxl, [one]) for one in programs) if p), (programs[0][0], why))
    if why:
        return programs[0][0], why
    for n, p in programs:
        if p.refused:
            continue
        if any(abs(a - b) > 1e-4 * (1 + abs(b)) for a, b in zip(found[n], p.expected()) if abs(b) < 1e6):
            return n, f"pxl      {found[n]}\nexpected {p.expected()}"
    return None


def main():
    given = options(__doc__, replay=True)
    made = lambda n: (n, Program(random.Random(f"{given.seed} {n}")))
    if given.replay is not None:
        found = problem(given.pxl, [made(given.replay)])
        print(HEAD + made(given.replay)[1].text(0), found[1] if found else "no finding")
        return 0
    findings = refused = 0
    for numbers in batches(given.seconds, BATCH):
        programs = [made(n) for n in numbers]
        refused += sum(p.refused for _, p in programs)
        if found := problem(given.pxl, programs):
            findings += 1
            print(f"program {found[0]} of seed {given.seed}:\n{HEAD}{dict(programs)[found[0]].text(0)}{found[1]}\n")
    print(f"{numbers.stop} programs, {refused} of them refused, {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
