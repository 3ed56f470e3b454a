"""Makes random graphs: statements that fit what there is, found by evaluating them as they are made."""
import numpy as np
from graph_meaning import ALONE, BINARY, FLOAT8, FLOATS, Function, Memory, NUMPY, REDUCE, UNARY, UPDATES, evaluate


class Maker:
    def __init__(self, rng):
        self.rng = rng
        self.names = self.functions = 0

    def name(self, letter="t"):
        self.names += 1
        return f"{letter}{self.names}"

    def shape(self):
        r = self.rng
        if r.random() < 0.12:  # worth dividing among threads
            return tuple(r.choice([[48, 65], [33, 96], [4100], [8, 20, 24]]))
        return tuple(r.choice([1, 2, 2, 3, 4, 5, 6]) for _ in range(r.choice([1, 2, 2, 2, 3])))

    def dtype(self):
        return self.rng.choice(["float32"] * 6 + ["float16"] * 2 + ["int32"] * 2)

    def value(self, dtype, shape):
        n = int(np.prod(shape))
        r = self.rng
        if dtype == "bool":
            flat = [r.random() < 0.5 for _ in range(n)]
        elif dtype == "int32":
            flat = [r.randrange(-9, 10) for _ in range(n)]
        else:
            flat = [r.randrange(-64, 65) / 32 for _ in range(n)]
        return np.array(flat, NUMPY[dtype]).reshape(shape)

    def program(self):
        memory, names, variables = Memory(True), {}, []
        for _ in range(self.rng.randrange(2, 5)):
            v, dtype, shape = self.name("w"), self.dtype(), self.shape()
            variables.append((v, dtype, self.value(dtype, shape)))
            names[v] = memory.make(dtype, variables[-1][2])
        statements = self.block(names, self.rng.randrange(4, 22), 0, memory)
        for n in self.rng.sample(sorted(names), min(3, len(names))):
            statements.append(("output", self.name("o"), None, [n]))
        return variables, statements

    def block(self, names, count, depth, memory, change=True):
        statements = []
        for _ in range(count):
            s = self.statement(names, depth, memory, change)
            if s is None:
                continue
            for _ in evaluate(memory, [s], names):
                pass
            statements.append(s)
        return statements

    def pick(self, names, wanted):
        found = [n for n in sorted(names) if wanted(names[n])]
        # The last results are used more often, so that chains grow.
        return self.rng.choice(found[-4:] if found and self.rng.random() < 0.3 else found) if found else None

    def shortened(self, at):
        """A slice of one or two axes: (axis, start, stop, step)."""
        r, detail = self.rng, []
        for axis in sorted(r.sample(range(at.ndim), r.randrange(1, min(2, at.ndim) + 1))):
            n = at.shape[axis]
            step = r.choice([1, 1, 1, 2, 3, -1, -2])
            a, b = sorted(r.sample(range(n + 1), 2))
            if step < 0:
                # A stop before the first element cannot be written as a position: the extent more than all.
                a, b = b - 1, (a - 1 if a > 0 else -n - 1)
            detail.append((axis, a, b, step))
        return detail

    def view_of(self, t):
        r = self.rng
        kind = r.choice(["reshape", "flatten", "transpose", "transpose", "slice", "slice", "slice", "detach"])
        if t.at.ndim == 0 or t.at.size == 0:
            return "detach", None
        if kind == "reshape":
            n, shape = t.at.size, []
            while n > 1 and len(shape) < 3:
                factor = r.choice([d for d in range(1, n + 1) if n % d == 0][:8] + [n])
                shape.append(factor)
                n //= factor
            return kind, tuple(shape + ([n] if n > 1 or not shape else []))
        if kind == "transpose":
            return kind, tuple(r.sample(range(t.at.ndim), t.at.ndim))
        if kind == "slice":
            return kind, self.shortened(t.at)
        return kind, None

    @staticmethod
    def writable(t):
        return t.at.size > 0 and np.unique(t.at).size == t.at.size

    def fits(self, small, large):
        try:
            return np.broadcast_shapes(small.shape, large.shape) == large.shape
        except ValueError:
            return False

    def statement(self, names, depth, memory, change):
        r = self.rng
        kinds = ["unary"] * 4 + ["binary"] * 6 + ["reduce"] * 2 + ["view"] * 7
        kinds += ["matmul", "softmax", "less", "logic", "where", "where", "cast", "float8", "copy", "join", "join_view", "output"]
        if change:
            kinds += ["update"] * 9 + ["window", "rows", "rows"]
        if depth < 2:
            kinds += ["call"] * 2 + ["repeat", "conditional"] if depth else ["call"] * 3 + ["repeat", "conditional"] * 2
        kind, out = r.choice(kinds), self.name()
        floats = lambda t: t.dtype in FLOATS
        if kind == "unary":
            a = self.pick(names, floats)
            return a and ("unary", out, r.choice(sorted(UNARY)), [a])
        if kind == "binary":
            a = self.pick(names, lambda t: t.dtype != "bool")
            b = a and self.pick(names, lambda t: t.dtype == names[a].dtype and self.fits(t, names[a]))
            return b and ("binary", out, r.choice(["add"] * 3 + sorted(BINARY)), r.sample([a, b], 2))
        if kind == "reduce":
            a = self.pick(names, lambda t: t.dtype != "bool" and t.at.ndim > 0 and t.at.size > 0)
            if not a:
                return None
            op = r.choice(sorted(REDUCE)) if floats(names[a]) else r.choice(["sum", "max"])
            return ("reduce", out, op, [a], r.randrange(names[a].at.ndim))
        if kind == "softmax":
            a = self.pick(names, lambda t: floats(t) and t.at.ndim > 0 and t.at.size > 0)
            return a and ("softmax", out, None, [a])
        if kind == "matmul":
            a = self.pick(names, lambda t: floats(t) and t.at.ndim >= 2)
            b = a and self.pick(names, lambda t: t.dtype == names[a].dtype and t.at.ndim == 2 and
                                t.shape[0] == names[a].shape[-1])
            return b and ("matmul", out, None, [a, b])
        if kind in ("less", "logic"):
            if kind == "less":
                a = self.pick(names, lambda t: t.dtype == "int32")
                b = a and self.pick(names, lambda t: t.dtype == "int32" and t.shape == names[a].shape)
                return b and ("less", out, None, [a, b])
            a = self.pick(names, lambda t: t.dtype == "bool")
            b = a and self.pick(names, lambda t: t.dtype == "bool" and t.shape == names[a].shape)
            return a and (("and", out, None, [a, b]) if b and r.random() < 0.5 else ("not", out, None, [a]))
        if kind == "where":
            c = self.pick(names, lambda t: t.dtype == "bool")
            a = c and self.pick(names, lambda t: t.dtype != "bool" and t.shape == names[c].shape)
            b = a and self.pick(names, lambda t: t.dtype == names[a].dtype and t.shape == names[c].shape)
            return b and ("where", out, None, [c, a, b])
        if kind == "cast":
            a = self.pick(names, lambda t: True)
            if not a:
                return None
            to = {"float32": ["float16"], "float16": ["float32"], "int32": ["float32"], "bool": ["int32", "float32"]}
            # An integer that a float32 cannot hold would be rounded: they stay small in most programs.
            return ("cast", out, r.choice(to[names[a].dtype]), [a])
        if kind == "float8":
            a = self.pick(names, lambda t: t.dtype == "float16" and t.at.ndim > 0 and t.at.size > 0)
            return a and ("float8", out, r.choice(sorted(FLOAT8)), [a], self.view_of(names[a]))
        if kind in ("view", "copy"):
            a = self.pick(names, lambda t: t.at.size > 0)
            if not a:
                return None
            op, detail = self.view_of(names[a])
            return (kind, out, op, [a], detail)
        if kind in ("join", "join_view"):
            a = self.pick(names, lambda t: t.at.ndim > 0 and t.at.size > 0)
            axis = a and r.randrange(names[a].at.ndim)
            rest = lambda t: t.shape[:axis] + t.shape[axis + 1:]
            b = a and self.pick(names, lambda t: t.dtype == names[a].dtype and t.at.ndim == names[a].at.ndim and
                                t.at.size > 0 and rest(t) == rest(names[a]))
            # A view that has an element twice must not be changed, nor must views of it that have it once.
            if b and kind == "join_view" and not set(names[a].at.ravel()).isdisjoint(names[b].at.ravel()):
                return None
            return b and (kind, out, None, [a, b], axis)
        if kind == "update":
            a = self.pick(names, self.writable)
            if not a or names[a].dtype == "bool":
                return None
            ints = names[a].dtype == "int32"
            op = r.choice(["add_", "copy_var_update_"] if ints else sorted(UPDATES))
            result = out if r.random() < 0.3 else None
            if op in ALONE:
                return ("update", result, op, [a])
            b = self.pick(names, lambda t: t.dtype == names[a].dtype and
                          (self.fits(t, names[a]) if op == "add_" else t.shape == names[a].shape))
            return b and ("update", result, op, [a, b])
        if kind == "window":
            a = self.pick(names, lambda t: self.writable(t) and t.at.ndim > 0)
            b = a and self.pick(names, lambda t: t.dtype == names[a].dtype and t.at.ndim == names[a].at.ndim and
                                t.at.size > 0 and sum(x != y for x, y in zip(t.shape, names[a].shape)) <= 1 and
                                all(x <= y for x, y in zip(t.shape, names[a].shape)))
            if not b:
                return None
            axis = next((i for i, (x, y) in enumerate(zip(names[b].shape, names[a].shape)) if x != y), 0)
            size = names[b].shape[axis]
            return ("window", None, None, [a, b], (axis, r.randrange(names[a].shape[axis] - size + 1), size))
        if kind == "rows":
            return self.rows(names, out)
        if kind == "output":
            a = self.pick(names, lambda t: True) if depth == 0 else None
            return a and ("output", self.name("o"), None, [a])
        return self.control(kind, names, depth)

    def rows(self, names, out):
        """Rows written or added at indices: often rows of the changed memory itself."""
        r = self.rng
        a = self.pick(names, lambda t: self.writable(t) and t.at.ndim > 0 and t.dtype != "bool")
        if not a:
            return None
        target = names[a]
        fits = lambda t: t.dtype == target.dtype and t.at.ndim == target.at.ndim and t.shape[1:] == target.shape[1:]
        own = set(target.at.ravel())
        b = r.random() < 0.7 and self.pick(names, lambda t: fits(t) and t.at.size > 0 and not own.isdisjoint(t.at.ravel()))
        b = b or self.pick(names, lambda t: fits(t) and t.at.size > 0)
        if not b or names[b].shape[0] > 100:
            return None
        indices = [r.randrange(target.shape[0]) for _ in range(names[b].shape[0])]
        kind = r.choice(["write_rows", "add_rows"]) if target.dtype in FLOATS else "write_rows"
        return (kind, out if r.random() < 0.3 else None, None, [a, b], indices)

    def control(self, kind, names, depth):
        r = self.rng
        arguments = [self.pick(names, lambda t: t.at.size > 0) for _ in range(r.randrange(1, 4))]
        if kind == "conditional":
            c = self.pick(names, lambda t: t.dtype == "bool" and t.at.size == 1)
            if not c:
                return None
            f, g = (self.function(names, arguments, depth, False) for _ in range(2))
            specs = lambda h: [(h.types[n].dtype, h.types[n].shape) for n in h.returns]
            both = [x for x, y in zip(specs(f), specs(g)) if x == y]
            if not both or specs(f)[0] != specs(g)[0]:
                return None
            f.returns, g.returns = f.returns[:1], g.returns[:1]
            return ("conditional", [self.name()], (f, g), [c, *arguments])
        by_ref = [self.writable(names[a]) and r.random() < 0.5 for a in arguments]
        if kind == "repeat":
            # A body cannot get memory twice that it changes.
            for i in range(1, len(by_ref)):
                by_ref[i] = by_ref[i] and not any(by_ref[:i])
            f = self.function(names, arguments, depth, by_ref)
            carried = []
            for p, a in zip(f.params, arguments):
                # Outputs are carried into the first inputs.
                if p[3]:
                    break
                same = [n for n in sorted(f.types) if (f.types[n].dtype, f.types[n].shape) == (p[1], p[2])]
                carried.append(r.choice(same))
            f.returns = carried
            if not carried and not any(p[3] for p in f.params):
                return None
            return ("repeat", [self.name() for _ in carried], f, arguments, r.choice([0, 1, 2, 3]))
        f = self.function(names, arguments, depth, by_ref)
        return ("call", [self.name() for _ in f.returns], f, arguments)

    def function(self, names, arguments, depth, by_ref):
        memory, inner, params = Memory(True), {}, []
        for i, a in enumerate(arguments):
            p, t = self.name("a"), names[a]
            params.append((p, t.dtype, t.shape, bool(by_ref) and by_ref[i]))
            inner[p] = memory.make(t.dtype, np.zeros(t.shape))
        body = self.block(inner, self.rng.randrange(1, 8), depth + 1, memory)
        # Two parameters joined may be one memory where the graph is called.
        params_at = [set(inner[p[0]].at.ravel()) for p in params]
        mixed = {n for n, t in inner.items() if sum(not s.isdisjoint(t.at.ravel()) for s in params_at) > 1}
        changes = {"update", "window", "write_rows", "add_rows", "call", "repeat"}
        if any(s[0] in changes and mixed & set(s[3]) for s in body):
            body = [s for s in body if s[0] not in {*changes, "join_view"}]
            body = closed(body, {p[0] for p in params})
        made = {p[0] for p in params} | {n for s in body for n in results_of(s)}
        inner = {n: t for n, t in inner.items() if n in made}
        self.functions += 1
        f = Function(f"f{self.functions}", params, body, [])
        f.types = inner
        f.returns = self.rng.sample(sorted(inner), min(len(inner), self.rng.randrange(1, 3)))
        return f


def results_of(s):
    return s[1] if isinstance(s[1], list) else [s[1]] if s[1] and s[0] != "output" else []


def closed(statements, known):
    """The statements whose operands are there."""
    kept, known = [], set(known)
    for s in statements:
        if all(n in known for n in s[3]):
            kept.append(s)
            known.update(results_of(s))
    return kept
