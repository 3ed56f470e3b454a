#!/usr/bin/env python3
"""Normalisations far from 0, log-sum-exps and cross entropies, with their gradients, against long doubles.

A case is an op, a dtype, a shape, a mean up to 1e8 and a deviation. The right values are computed in long doubles, from the
elements less the first of each row, which changes no mean. Their differences are the gradients. The cases run by the
planned engine, by definitions and on tiles.

    python3 tests/fuzz/norms_fuzz.py --seconds 30 --seed 1
    python3 tests/fuzz/norms_fuzz.py --seed 1 --replay 17     # one case again
"""
import random
import re
import sys

from frame import ENGINES, batches, numpy, options, run_in

np = numpy()
BATCH = 8  # cases a process
EPS = 1e-5
PRECISION = {"float16": 2.0**-11, "float32": 2.0**-24, "float64": 2.0**-53}
OF_ROWS = ("logsumexp", "cross_entropy")  # one result a row
PROGRAM = """
program G(f, x, w, b, dy) {
  x, w, b = variable(x, dtype = x.dtype), variable(w, dtype = w.dtype), variable(b, dtype = b.dtype)
  g = ir.create_graph(f, x, w, b)
  info = g.call_with_info(x, w, b)
  grads = info.backward(constant(dy, dy.dtype), [x, w, b])
  stream out y = info.output
  stream out dx = grads[x]
  stream out dw = grads[w]
}
def show(i, f, x, w, b, dy) {
  r = Session(G(f, x, w, b, dy)).run()
  print(i, [r.y.reshape([-1]).tolist(), r.dx.reshape([-1]).tolist(), r.dw.reshape([-1]).tolist()])
}
"""


def normal(x, axes):
    centred = x - x.mean(axis=axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=axes, keepdims=True) + np.longdouble(EPS))


class Case:
    def __init__(self, rng):
        self.kind = rng.choice(["layer", "group", "batch", "logsumexp", "cross_entropy"])
        self.dtype = rng.choice(["float32", "float64", "float16" if self.kind == "cross_entropy" else "float64"])
        n, c, spatial = rng.choice([2, 3, 5]), rng.choice([2, 4, 6]), rng.choice([1, 3, 8, 11])
        self.shape = (n, c) if self.kind in ("layer", *OF_ROWS) else (n, c, spatial)
        self.groups = rng.choice([1, 2])
        mean = rng.choice([0, 1, 100, 1e4] + ([1e6, 1e8] if self.dtype == "float64" else []))
        deviation = rng.choice([0.1, 1, 30])
        size = int(np.prod(self.shape))
        self.x = np.array([mean + deviation * rng.gauss(0, 1) for _ in range(size)]).reshape(self.shape)
        self.labels = [rng.randrange(c) for _ in range(n)]
        if self.kind == "cross_entropy":
            self.x = np.array([rng.choice([1, 10, 100]) * rng.gauss(0, 1) for _ in range(size)]).reshape(self.shape)
        if self.kind == "logsumexp":
            self.x = np.full(self.shape, mean) + np.array([rng.uniform(-3, 3) for _ in range(size)]).reshape(self.shape)
        self.x = self.x.astype(self.dtype)
        self.w, self.b = (np.array([rng.uniform(0.5, 2) for _ in range(c)]).astype(self.dtype) for _ in range(2))
        out = (n,) if self.kind in OF_ROWS else self.shape
        self.dy = np.array([rng.uniform(-1, 1) for _ in range(int(np.prod(out)))]).reshape(out).astype(self.dtype)

    def forward(self, x, w, b):
        """x minus the first element of its row, in long doubles."""
        c, wide = self.shape[1], np.longdouble
        if self.kind == "logsumexp":
            return np.log(np.exp(x).sum(axis=1))
        if self.kind == "cross_entropy":
            return np.log(np.exp(x).sum(axis=1)) - np.take_along_axis(x, np.array(self.labels)[:, None], 1)[:, 0]
        if self.kind == "layer":
            return normal(x, (1,)) * w + b
        channel = (1, c) + (1,) * (len(self.shape) - 2)
        if self.kind == "batch":
            hat = normal(x, (0, 2))
        else:
            rows = x.reshape(self.shape[0], self.groups, -1)
            hat = normal(rows, (2,)).reshape(self.shape)
        return hat * w.reshape(channel).astype(wide) + b.reshape(channel)

    def origin(self):
        """Every element of a row loses this number: the result does not depend on it, but for a log-sum-exp."""
        x = self.x.astype(np.longdouble)
        if self.kind == "batch":
            return x[:1, :, :1]
        if self.kind == "group":
            rows = x.reshape(self.shape[0], self.groups, -1)
            return np.broadcast_to(rows[:, :, :1], rows.shape).reshape(self.shape)
        return x[:, :1]

    def expected(self):
        near = self.x.astype(np.longdouble) - self.origin()
        w, b, dy = (v.astype(np.longdouble) for v in (self.w, self.b, self.dy))
        y = self.forward(near, w, b)
        if self.kind == "logsumexp":
            y = y + self.origin()[:, 0]

        def gradient(at, f, h=np.longdouble(1e-4)):
            out = np.zeros(at.shape, dtype=np.longdouble)
            for i in np.ndindex(at.shape):
                low, high = at.copy(), at.copy()
                lower, higher = at.copy(), at.copy()
                low[i] -= h
                high[i] += h
                lower[i] -= 2 * h
                higher[i] += 2 * h
                step = [((f(v) - f(at)) * dy).sum() for v in (lower, low, high, higher)]
                out[i] = (step[0] - 8 * step[1] + 8 * step[2] - step[3]) / (12 * h)
            return out
        # A normalisation changes over distances as large as the deviation.
        dx = gradient(near, lambda v: self.forward(v, w, b), np.longdouble(1e-4 * min(1.0, self.deviation())))
        dw = gradient(w, lambda v: self.forward(near, v, b))
        return [y, dx, dw]

    def text(self, number):
        def array(v):
            return f"array({v.astype(np.float64).tolist()}, {self.dtype})"
        f = {"layer": f"ops.layer_norm(x, w, b, eps = {EPS})",
             "group": f"ops.group_norm(x, w, b, {self.groups}, eps = {EPS})",
             "batch": f"ops.batch_norm(x, w, b, b * 0.0, b * 0.0 + 1.0, epsilon = {EPS})[0]",
             "logsumexp": "logsumexp(x, axis = 1) + sum(w * 0.0) + sum(b * 0.0)",
             "cross_entropy": f"cross_entropy(x, constant({self.labels}), reduction = 'none') + sum(w * 0.0) + sum(b * 0.0)"}[self.kind]
        arrays = ", ".join(array(v) for v in (self.x, self.w, self.b, self.dy))
        return f"show({number}, (x, w, b) => {f}, {arrays})"

    def deviation(self):
        return 1 if self.kind in OF_ROWS else max(float(np.sqrt(self.x.astype(np.float64).var(axis=-1).min())), 1e-3)

    def verdict(self, found):
        precision, deviation = PRECISION[self.dtype], self.deviation()
        for name, got, want in zip(("y", "dx", "dw"), found, self.expected()):
            # Differences are good to 1e-11.
            scale = max(1.0, float(np.abs(want).max())) * (1 if name != "dx" else max(1.0, 1 / deviation))
            most = scale * ((16 if self.kind == "cross_entropy" else 200 * self.x.size) * precision + 3e-11)
            apart = float(np.abs(np.array(got, dtype=np.longdouble) - want.reshape(-1)).max())
            if not apart <= most:
                return f"{name} is {apart:.3g} from the right values, more than {most:.3g}"
        return None


def main():
    o = options(__doc__, seconds=10, replay=True)
    tried = failures = 0
    for numbers in batches(o.seconds, BATCH) if o.replay is None else [[o.replay]]:
        cases = {i: Case(random.Random(o.seed * 1000003 + i)) for i in numbers}
        script = PROGRAM + "\n".join(c.text(i) for i, c in cases.items()) + "\n"
        for engine in ENGINES:
            done = run_in(engine, [o.pxl, "-"], script)
            found = {int(m[1]): eval(m[2], {"nan": np.nan, "inf": np.inf})
                     for m in re.finditer(r"^(\d+) (\[\[.*\])$", done.stdout, re.M)}
            for i, case in cases.items():
                tried += 1
                why = case.verdict(found[i]) if i in found else done.stderr[-600:]
                if why:
                    failures += 1
                    print(f"case {i}, {engine}, {case.kind} of {case.dtype}: {why}")
    print(f"{tried} normalisations and losses, {failures} failures")
    sys.exit(failures > 0)


main()
