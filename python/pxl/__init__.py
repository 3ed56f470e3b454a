"""pxl: explicit tensor graphs, from Python.

    m = pxl.load("model.pxl", lr=0.1)      # a file that has run, with values of its options
    s = m.Session("train")                 # one of its programs, prepared to run
    loss = s.run(x=x, target=y).loss       # arrays of NumPy or PyTorch in, arrays of NumPy out
    s["fc1/weight"]                        # the value of a variable; s["fc1/weight"] = array sets it
    s.save("model.safetensors")
    pxl.eval("x @ x.T", x=x)

Arrays are passed without copies, runs let other threads of Python go on, Ctrl-C ends them, and errors are exceptions whose
text has the place in the program. The pages docs/python.md and docs/library.md tell more."""
import atexit as _atexit
import json as _json
import os as _os

import numpy as _np

from . import _pxl
from ._pxl import Opaque, __version__, engines
from .errors import Cancelled, Error, MissingName

__all__ = ["Cancelled", "Error", "MissingName", "Opaque", "Outputs", "Program", "Session", "__version__", "engines", "eval",
           "from_text", "load", "load_ipython_extension"]


_atexit.register(_pxl._end_calls)
_os.register_at_fork(after_in_child=_pxl._forget_calls)


def _option_text(value):
    if isinstance(value, (bool, _np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(_option_text(item) for item in value)
    if isinstance(value, (type, _np.dtype)):
        return _np.dtype(value).name
    return str(value)


def _options(given):
    return {name: _option_text(value) for name, value in given.items()}


class Outputs(dict):
    """The arrays of a run by the names of the output streams: `out["loss"]` or `out.loss`. If the stream is a tree,
    `out.y` has the branches: `out.y["loss"]`, `out.y[0]`."""

    def __missing__(self, name):
        if not isinstance(name, str) and str(name) in self:
            return self[str(name)]
        branches = {key.removeprefix(f"{name}."): value for key, value in self.items() if key.startswith(f"{name}.")}
        if not branches:
            raise KeyError(name)
        return Outputs(branches)

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the run gave nothing named {name!r}; it gave {', '.join(self) or 'nothing'}") from None

    def __dir__(self):
        return [*super().__dir__(), *self]


class Function:
    """A function of a program, to be called with values of Python."""

    def __init__(self, program, name):
        self._program, self.__name__ = program, name

    def __call__(self, *args, **named):
        return self._program._own.call(self.__name__, *args, **named)

    def __repr__(self):
        return f"<function {self.__name__} of pxl>"


class Program:
    """A file of the language that has run. Its names are attributes: functions are called with values of Python."""

    def __init__(self, own):
        self._own = own

    def Session(self, program, *, engine="", device="ipu_model", variables=None, **arguments):
        """Prepares a program to run. `program` is its name, with `arguments` for its parameters, or a call such as
        "infer(n = 8)", or "main", the ops of the top level. `engine` is one of `pxl.engines`. `variables` is the session
        that has the variables which the program shares; the text names it: "evaluate(variables.ir.net)"."""
        return Session(self._own.session(program, engine, device, arguments, None if variables is None else variables._own))

    def eval(self, text, /, *, title="<eval>", **names):
        """The value of a text's final expression, which sees the names of the file and `names`; it may bind more."""
        return self._own.eval(text, names, title)

    @property
    def programs(self):
        """Names of the programs, in order."""
        return self._own.programs()

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._own.names():
            raise AttributeError(f"the program has no name {name!r}")
        value = self._own.eval(name, {}, "<attribute>")
        return Function(self, name) if isinstance(value, Opaque) and value.type == "function" else value

    def __dir__(self):
        return [*super().__dir__(), *self._own.names()]

    def __repr__(self):
        return f"<pxl program with {', '.join(self.programs) or 'no programs'}>"


class Session:
    """A program prepared to run, with the state of its variables: a mapping from their names to arrays.

    Threads may share a session: its calls take turns. Runs of different sessions go on at the same time."""

    def __init__(self, own):
        self._own = own

    def _given(self, named):
        """Whether a run is `finite`, which is taken out of the arguments unless a stream has this name."""
        return "finite" in named and not any(name == "finite" for name, *_ in self.inputs) and bool(named.pop("finite"))

    def run(self, inputs=None, /, **named):
        """Runs the program once. Input streams are given by name, as arrays of NumPy, tensors of PyTorch on the CPU (or
        anything else with __dlpack__), numbers or lists. Returns the output streams. finite=True: a NaN or an infinity in an
        output or a variable is the error "not-finite"."""
        finite = self._given(named)
        return Outputs(self._own.run({**inputs, **named} if inputs else named, finite))

    def run_into(self, outputs, /, **named):
        """The same, with results in given arrays or tensors, by the names of output streams."""
        finite = self._given(named)
        self._own.run_into(outputs, named, finite)

    def call(self, net, /, *arrays, **named):
        """Calls a bound graph of the program, by its name, on arrays of any shapes, with the variables as they are."""
        return self._own.call(net, *arrays, **named)

    def __getitem__(self, name):
        return self._own.read(name)

    def __setitem__(self, name, value):
        self._own.write({name: value})

    def __iter__(self):
        return iter(self.keys())

    def __len__(self):
        return len(self._own.variables())

    def __contains__(self, name):
        return name in self.keys()

    def keys(self):
        """Names of the variables, in order."""
        return [name for name, _, _ in self._own.variables()]

    def items(self):
        return [(name, self[name]) for name in self.keys()]

    def update(self, values=None, /, **named):
        """Sets variables: all of them, or none if one does not fit."""
        self._own.write({**dict(values or {}), **named})

    @property
    def inputs(self):
        """Name, dtype and shape of each input stream."""
        return self._own.inputs()

    @property
    def outputs(self):
        """Name, dtype and shape of each output stream."""
        return self._own.outputs()

    @property
    def engine(self):
        return self._own.engine

    @property
    def device(self):
        return self._own.device

    def save(self, path):
        """Writes all variables to a file, NAME.safetensors."""
        self._own.save(_os.fsencode(path))

    def restore(self, path, *, strict=True, map=None, transpose_linear=False, states=True):
        """Reads variables by name, and returns which were loaded, missing, mismatched and unused. `map` has names of
        variables by names in the file (None ignores an entry); `transpose_linear`: weights of dense layers are [out, in] in
        the file, as PyTorch stores them. `states=False` leaves the states of modules alone."""
        return self._own.restore(_os.fsencode(path), strict, transpose_linear, map, states)

    def load_from(self, other):
        """Copies the variables of another session by name."""
        return self._own.load_from(other._own)

    def load_torch(self, module, *, map=None, strict=True):
        """Sets variables from a PyTorch module or its state_dict: `layer.weight` is the variable `layer/weight` or
        `layer.weight`, and weights of dense layers are transposed. `map` has names of variables by names in the module (None
        ignores an entry). Each variable must have a value if `strict`. Returns what `restore` returns."""
        state = module.state_dict() if hasattr(module, "state_dict") else module
        known = {name: shape for name, _, shape in self._own.variables()}
        linear = self._own.linear_weights()
        report = {"loaded": [], "missing": [], "mismatched": [], "unused": []}
        values = {}
        for entry, tensor in state.items():
            name = (map or {}).get(entry, entry)
            if name is not None and name not in known:
                name = name.replace(".", "/")
            if name is None or name not in known:
                report["unused"].append(entry)
                continue
            value = tensor.detach().t() if name in linear and tensor.dim() == 2 else tensor.detach()
            if tuple(value.shape) != known[name]:
                report["mismatched"].append(f"{name}: {list(known[name])} here, {list(tensor.shape)} there")
            else:
                values[name] = value
                report["loaded"].append(name)
        report["missing"] = [name for name in known if name not in values]
        if strict and (report["missing"] or report["mismatched"]):
            raise ValueError("load_torch: " + "; ".join(report["mismatched"] + [f"nothing for {name}" for name in report["missing"]
                             if not any(text.startswith(name + ":") for text in report["mismatched"])]))
        self._own.write(values)
        return report

    def report(self):
        """Bytes of memory; for the device "ipu_model" also cycles and memory on its tiles. A dict."""
        return _json.loads(self._own.report())

    def cancel(self):
        """Ends the run in progress, or the next one, which raises Cancelled. From any thread."""
        self._own.cancel()

    def __repr__(self):
        return f"<pxl session on {self.engine}, {len(self)} variables>"


def load(path, /, **options):
    """Runs a file, and returns it with its names. `options` are values of the file's `option` declarations."""
    return Program(_pxl.load(_os.fsencode(path), _options(options)))


def from_text(text, /, *, title="<text>", **options):
    """The same for a text; `title` is what messages call it."""
    return Program(_pxl.from_text(text, _options(options), title))


def eval(text, /, **names):
    """The value of a text's final expression: `pxl.eval("x @ x.T", x=x)`. Arrays are arrays of NumPy."""
    return _pxl.eval(text, names)


def load_ipython_extension(shell):
    """`%load_ext pxl` makes the cell magic `%%pxl -i x -o y` known."""
    from .magic import load_ipython_extension as load_magics

    load_magics(shell)
