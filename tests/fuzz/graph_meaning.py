"""The meaning of a random graph's statements, in NumPy: memory is one array a dtype, a tensor an array of positions in it."""
import numpy as np

NUMPY = {"float32": np.float32, "float16": np.float16, "int32": np.int32, "bool": np.bool_}
FLOATS = ("float32", "float16")


class Tensor:
    def __init__(self, dtype, at):
        self.dtype, self.at = dtype, at

    @property
    def shape(self):
        return self.at.shape


class Memory:
    """One array a dtype. `wide`: floats are float64 throughout, whose difference shows how rounding grows."""

    def __init__(self, wide):
        self.wide = wide
        self.data = {name: np.zeros(0, self.kind(name)) for name in NUMPY}

    def kind(self, dtype):
        return np.float64 if self.wide and dtype in FLOATS else NUMPY[dtype]

    def make(self, dtype, value):
        value = np.asarray(value).astype(self.kind(dtype))
        begin = self.data[dtype].size
        self.data[dtype] = np.concatenate([self.data[dtype], value.ravel()])
        return Tensor(dtype, np.arange(begin, begin + value.size).reshape(value.shape))

    def read(self, t):
        return self.data[t.dtype][t.at]

    def write(self, t, value):
        self.data[t.dtype][t.at] = np.broadcast_to(np.asarray(value).astype(self.kind(t.dtype)), t.shape)


def float8_values(exponent_bits, bias):
    """The values of 8-bit floats without infinities; the negative zero's code is the only NaN."""
    mantissa_bits = 7 - exponent_bits
    values = []
    for code in range(128):
        e, m = code >> mantissa_bits, code & ((1 << mantissa_bits) - 1)
        scale = 1 << mantissa_bits
        values.append(m / scale * 2.0 ** (1 - bias) if e == 0 else (1 + m / scale) * 2.0 ** (e - bias))
    return np.array(values)


FLOAT8 = {"float8_143": float8_values(4, 8), "float8_152": float8_values(5, 16)}


def through_float8(x, kind):
    values = FLOAT8[kind]
    size = np.minimum(np.abs(x), values[-1])
    high = np.clip(np.searchsorted(values, size), 1, 127)
    low = high - 1
    below, above = size - values[low], values[high] - size
    code = np.where((below < above) | ((below == above) & (low % 2 == 0)), low, high)
    return np.copysign(values[code], x)


def tanh_gelu(x):
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x ** 3)))


UNARY = {"negate": lambda x: -x, "abs": np.abs, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
         "relu": lambda x: np.maximum(x, 0), "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "gelu": tanh_gelu,
         "swish": lambda x: x / (1 + np.exp(-x))}
BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "maximum": np.maximum, "minimum": np.minimum}
REDUCE = {"sum": np.sum, "mean": np.mean, "max": np.max}
UPDATES = {  # t, x -> t; those of `alone` take no x
    "add_": lambda t, x: t + x,
    "relu_": lambda t, x: np.maximum(t, 0),
    "gelu_": lambda t, x: tanh_gelu(t),
    "swish_": lambda t, x: t / (1 + np.exp(-t)),
    "copy_var_update_": lambda t, x: x,
    "scaled_add_": lambda t, x: t + 0.5 * x,
    "accumulate_": lambda t, x: t + x,
    "accumulate_square_": lambda t, x: t + 0.25 * x * x,
    "accumulate_moving_average_": lambda t, x: 0.75 * t + 0.25 * x,
    "accumulator_scale_": lambda t, x: 0.5 * t,
    "accumulator_zero_": lambda t, x: 0 * t,
}
UPDATE_TEXT = {"add_": "add_({t}, {x})", "relu_": "relu_({t})", "gelu_": "gelu_({t})", "swish_": "swish_({t})",
               "copy_var_update_": "copy_var_update_({t}, {x})", "scaled_add_": "scaled_add_({t}, {x}, b = 0.5)",
               "accumulate_": "accumulate_({t}, {x})", "accumulate_square_": "accumulate_square_({t}, {x}, f = 0.25)",
               "accumulate_moving_average_": "accumulate_moving_average_({t}, {x}, 0.75)",
               "accumulator_scale_": "accumulator_scale_({t}, 0.5)", "accumulator_zero_": "accumulator_zero_({t})"}
ALONE = {"relu_", "gelu_", "swish_", "accumulator_scale_", "accumulator_zero_"}


class Function:
    def __init__(self, name, params, body, returns):
        # A parameter has a name, a dtype, a shape, and whether it is by reference.
        self.name, self.params, self.body, self.returns = name, params, body, returns


def view(kind, at, detail):
    if kind == "reshape":
        return at.reshape(detail)
    if kind == "flatten":
        return at.reshape(-1)
    if kind == "transpose":
        return at.transpose(detail)
    if kind == "slice":
        cut = [slice(None)] * at.ndim
        for axis, start, stop, step in detail:
            cut[axis] = slice(start, stop, step)
        return at[tuple(cut)]
    return at  # detach


def evaluate(memory, statements, names):
    """Runs statements; yields (output, value) where one is stored."""
    for s in statements:
        kind, out = s[0], s[1]
        x = [names[n] for n in s[3]]
        read = [memory.read(t) for t in x]
        with np.errstate(all="ignore"):
            if kind == "unary":
                names[out] = memory.make(x[0].dtype, UNARY[s[2]](read[0]))
            elif kind == "binary":
                names[out] = memory.make(x[0].dtype, BINARY[s[2]](*read))
            elif kind == "reduce":
                wide = np.float64 if x[0].dtype in FLOATS else np.int32
                names[out] = memory.make(x[0].dtype, REDUCE[s[2]](read[0].astype(wide), axis=s[4]))
            elif kind == "softmax":
                e = np.exp(read[0] - read[0].max(axis=-1, keepdims=True))
                names[out] = memory.make(x[0].dtype, e / e.sum(axis=-1, keepdims=True))
            elif kind == "matmul":
                wide = [r.astype(np.float64) for r in read]
                names[out] = memory.make(x[0].dtype, wide[0] @ wide[1])
            elif kind == "less":
                names[out] = memory.make("bool", read[0] < read[1])
            elif kind == "not":
                names[out] = memory.make("bool", ~read[0])
            elif kind == "and":
                names[out] = memory.make("bool", read[0] & read[1])
            elif kind == "where":
                names[out] = memory.make(x[1].dtype, np.where(*read))
            elif kind == "cast":
                names[out] = memory.make(s[2], read[0])
            elif kind == "float8":
                value = view(s[4][0], through_float8(read[0].astype(np.float64), s[2]), s[4][1])
                names[out] = memory.make(x[0].dtype, value)
            elif kind == "view":
                names[out] = Tensor(x[0].dtype, view(s[2], x[0].at, s[4]))
            elif kind == "copy":
                names[out] = memory.make(x[0].dtype, view(s[2], read[0], s[4]))
            elif kind == "join_view":
                names[out] = Tensor(x[0].dtype, np.concatenate([t.at for t in x], axis=s[4]))
            elif kind == "join":
                names[out] = memory.make(x[0].dtype, np.concatenate(read, axis=s[4]))
            elif kind == "update":
                memory.write(x[0], UPDATES[s[2]](read[0], read[1] if len(read) > 1 else None))
                if out:
                    names[out] = x[0]
            elif kind == "window":
                cut = [slice(None)] * x[0].at.ndim
                cut[s[4][0]] = slice(s[4][1], s[4][1] + s[4][2])
                memory.write(Tensor(x[0].dtype, x[0].at[tuple(cut)]), read[1])
            elif kind in ("write_rows", "add_rows"):
                value = read[0].astype(np.float64)
                for row, index in zip(read[1], s[4]):
                    value[index] = row if kind == "write_rows" else value[index] + row
                memory.write(x[0], value)
                if out:
                    names[out] = x[0]
            elif kind in ("call", "repeat", "conditional"):
                f = s[2]
                arguments = x
                if kind == "conditional":
                    f, arguments = s[2][0 if bool(read[0].reshape(())) else 1], x[1:]
                carried = list(arguments)
                for i, p in enumerate(f.params):
                    if not p[3]:
                        carried[i] = memory.make(p[1], memory.read(arguments[i]))
                first = list(carried)
                for _ in range(s[4] if kind == "repeat" else 1):
                    inner = {}
                    for i, p in enumerate(f.params):
                        # An iteration gets what it is not given by reference as it was.
                        inner[p[0]] = carried[i] if p[3] else memory.make(p[1], memory.read(carried[i]))
                    yield from evaluate(memory, f.body, inner)
                    results = [memory.make(inner[r].dtype, memory.read(inner[r])) for r in f.returns]
                    if kind == "repeat":
                        carried = results + first[len(results):]
                for n, t in zip(out, carried[:len(f.returns)] if kind == "repeat" else results):
                    names[n] = t
            elif kind == "output":
                yield out, read[0]
            else:
                raise AssertionError(kind)


def expected(program, wide):
    memory = Memory(wide)
    variables = {v: memory.make(dtype, value) for v, dtype, value in program[0]}
    found = {}
    for run in range(2):
        for out, value in evaluate(memory, program[1], dict(variables)):
            found[f"{run} {out}"] = np.array(value)
    for v, t in variables.items():
        found[f"2 {v}"] = np.array(memory.read(t))
    return found
