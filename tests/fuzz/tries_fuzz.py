#!/usr/bin/env python3
"""Random programs with `try` and `expect_error` blocks that fail at random places, nested, in programs, builds and bodies of graphs.

The additions of a failing block to graphs are rolled back. So a program must print what its twin prints, which has only the
blocks that end well and the `catch` and `finally` blocks that run: the graphs with their ids, the variables, the streams,
and the results of two runs.

usage: tries_fuzz.py [--pxl FILE] [--seconds N] [--seed S] [--replay N]
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.fuzz.frame import batches, options, printed

START = """def square(z) { return z * z }
outlined def shared(z) { return relu(z) + 1 }
module Layer {
  build(x: float32[2]) {
    param w: float32[2] = 2
    state s: float32[2] = 0
    next s = s + x
    return x * w + s
  }
}
module Outer {
  outlined inner = Layer()
  plain = Layer()
  build(x) { return plain(inner(x)) }
}
record Pair(a: float32[2], b: float32[2])
def swapped(p) { return Pair(p.b, p.a * 2) }
"""
# `@` is a new number, `$` a tensor, `%` a variable. The tensors of a form are named t@ or v@.
OPS = ["t@ = $ * 0.5 + $", "t@ = relu($) - 1", "t@ = shared($)", "constant t@: float32[2] = @", "t@ = $[0:1] + $",
       "t@ = ir.create_graph(square, float32[2])($)", "t@ = ir.create_graph((z) => z * $ * 0.1, float32[2])($)",
       "t@ = repeat(ir.create_graph((z) => z * 0.5 + 1, float32[2]), 2, $)", "t@ = grad((z) => sum(z * z))($)",
       "with name_scope('s@') { t@ = $ + 3 }", "with in_sequence(), name_scope('a') { t@ = $ * 0.5\n  t@ = t@ + $ }",
       "t@ = autodiff(ir.create_graph(square, float32[2])).graph($, $)[0]", "t@ = conditional($[0] > 0, (z) => z + 1, (z) => z - 1, [$], [$])",
       "t@ = scan((h, r) => (h + r, h * r), constant(0.5), $)[1]", "t@ = repeat((z) => z * 0.5 + $, 2, $)",
       "t@ = repeat_while((z, n) => (z * 0.5, n + 1), (z, n) => n < 3, $, 0, bound = 4)[0]", "t@ = vmap((z) => z * sum($))($)",
       "t@ = jvp((z) => z * $, $, $)[1]", "t@ = recompute((z) => relu(z * $))($)", "t@ = value_and_grad((z) => sum(z * z * $))($)[1]",
       "t@ = ir.create_graph(swapped, Pair($, $))(Pair($, $)).b", "t@ = (try fail('no') else $) + 1"]
MAIN = ["variable v@: float32[2] = @", "stream in i@: float32[2]\nt@ = host_load(i@)", "stream out o@ = $",
        "with in_sequence() { scaled_add_(%, $, b = 0.5) }", "n@ = Layer().bound($)\nt@ = n@($)", "n@ = Outer().bound($)\nt@ = n@($) + n@($)",
        "n@ = Layer().bound($, training = true)", "n@ = Layer().bound($, training = true)\nt@ = n@($)\nt@ = n@.frozen()(t@)",
        "stream in i@: {'a': float32[2], 'b': float32[2]}\nt@ = host_load(i@)['b']", "stream out o@ = {'a': $, 'b': $}",
        "n@ = Layer().bound($, training = true)\nt@ = repeat((z) => n@(z), 2, $)"]
BUILD = ["param t@: float32[2] = 2", "state t@: float32[2] = 1\nnext t@ = $", "param ref t@: float32[2] = 0"]
FAILURES = [("fail('no')", "fail"), ("1 // 0", "arithmetic"), ("{}['k']", "key"), ("[1][5]", "index"), ("matmul($, ones([3, 3]))", "shape"),
            ("fail('own', kind = 'own-kind')", "own_kind"), ("autodiff(ir.main_graph)", "gradient"), ("sum($, axis = 5)", "shape")]
WORLD = ("fail", "arithmetic", "key", "index", "own_kind")


class Maker:
    def __init__(self, chance):
        self.chance, self.number = chance, 0

    def new(self):
        self.number += 1
        return str(self.number)

    def line(self, form, tensors, variables):
        while "$" in form:
            form = form.replace("$", self.chance.choice(tensors), 1)
        while "%" in form:
            form = form.replace("%", self.chance.choice(variables), 1)
        return form.replace("@", self.new())

    def block(self, count, forms, depth, tensors, variables):
        """Statements of both texts. Names that they bind are added to the lists."""
        tried, twin = [], []
        for _ in range(count):
            if depth > 0 and self.chance.random() < 0.35:
                parts = self.attempt(forms, depth - 1, tensors, variables)
            else:
                parts = [self.line(self.chance.choice(forms), tensors, variables).split("\n")] * 2
                self.bind(parts[0], tensors, variables)
            tried += parts[0]
            twin += parts[1]
        return tried, twin

    @staticmethod
    def bind(lines, tensors, variables):
        for line in lines:
            for word in line.replace("{", " ").replace(":", " ").split():
                if word[0] in "tv" and word[1:].isdigit() and word not in tensors:
                    tensors.append(word)
            if line.startswith("variable "):
                variables.append(line.split()[1].rstrip(":"))

    def attempt(self, forms, depth, tensors, variables):
        fails = self.chance.random() < 0.7
        # Names that a failing block binds are not used after it.
        inner = (list(tensors), list(variables)) if fails else (tensors, variables)
        before = self.block(self.chance.randrange(4), forms, depth, *inner)
        lines, twin = [list(side) for side in before]
        if fails:
            text, kind = self.chance.choice(FAILURES)
            lines.append(self.line(text, *inner))
            lines += self.block(self.chance.randrange(2), forms, 0, list(inner[0]), list(inner[1]))[0]
            twin = []
        else:
            kind = "key"
        head = "catch " if self.chance.random() < 0.3 and kind in WORLD else f"catch {kind} "
        catching = self.block(self.chance.randrange(2), forms, 0, *((tensors, variables) if fails else (list(tensors), list(variables))))
        if fails:
            twin = twin + catching[1]
            if self.chance.random() < 0.25:
                return ["with expect_error('') {", *self.indented(lines), "}", *catching[0]], twin
        out = ["try {", *self.indented(lines), "} " + head + "as e {", *self.indented(catching[0]), "}"]
        if self.chance.random() < 0.4:
            finishing = self.block(1, forms, 0, tensors, variables)
            out[-1] += " finally {"
            out += [*self.indented(finishing[0]), "}"]
            twin = twin + finishing[1]
        return out, twin

    @staticmethod
    def indented(lines):
        return ["  " + line for line in lines]

    def programs(self):
        module = self.block(self.chance.randrange(2, 6), OPS + BUILD, 2, ["x"], ["x"])
        body = self.block(self.chance.randrange(3, 8), OPS + MAIN, 3, ["t0", "v0"], ["v0"])
        texts = []
        for side in (0, 1):
            build = [line for line in module[side] if "%" not in line]
            texts.append(START + "\n".join(
                ["module Deep {", "  build(x: float32[2]) {", *self.indented(self.indented(build)), "    return x + 1", "  }", "}",
                 "program p {", "  stream in i0: float32[2]", "  t0 = host_load(i0)", "  variable v0: float32[2] = 1", "  deep = Deep().bound(t0)",
                 *self.indented(body[side]), "  stream out last = deep(t0) + v0", "}", LOOK]))
        return texts


LOOK = """ir = p()
for g in ir.graphs { print(g) }
print(ir.variables, [v.spec for v in ir.variables], ir.get_all_h2d_streams(), ir.get_all_d2h_streams())
s = Session(ir)
for i in range(2) {
  out = s.run({x: [i + 1, -2] for x in s.expected_inputs()})
  for k in out.keys() { print(k, out[k]) }
}
for v in ir.variables { print(v, s.get_tensor_data(v)) }
"""


def main():
    given = options(__doc__, replay=True)
    count = refused = 0
    for numbers in ([range(given.replay, given.replay + 1)] if given.replay is not None else batches(given.seconds)):
        for number in numbers:
            tried, twin = Maker(random.Random(f"{given.seed}:{number}")).programs()
            if given.replay is not None:
                print(tried, "-" * 20, twin, sep="\n")
            (a, why), (b, why_twin) = printed(given.pxl, tried), printed(given.pxl, twin)
            count += 1
            if b is None:
                # Both are refused: the random statements do not fit each other.
                refused += 1
                if a is None:
                    continue
            if a != b:
                print(f"program {number} of seed {given.seed} differs (--replay {number}):\n{tried}\n--- tried: {why or ''}\n--- twin: {why_twin or ''}")
                if a and b:
                    for x, y in zip(a, b):
                        if x != y:
                            print(f"< {x}\n> {y}")
                return 1
    print(f"{count} programs, {refused} refused")
    return 1 if refused > count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
