#!/usr/bin/env python3
"""Random inputs of the REPL, half of which fail at a random statement. A failed input must leave graphs as they were before it,
values and sessions as they were when it stopped; `:undo` must restore what was before each of the last eight inputs.

usage: undo.py [--pxl FILE] [--seconds N] [--seed S]

Session number I of a seed always has the same inputs. A failure prints them.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.fuzz.frame import batches, options

START = """program count {
  variable n: float32[2] = 0
  stream in x: float32[2]
  stream out now = add_(n, host_load(x))
}
s = Session(count())
xs = [1]
d = {"a": 1}
a = array([1.0, 2.0])
module M { field = 1
  def set(v) { self.field = v } }
m = M()
t = DotTree()
k = 0
def bump() { nonlocal k
  k = k + 1 }
def square(v) { return v * v }
variable w: float32[2] = 3
g = ir.create_graph(square, w)
random_seed(7)
"""
# The statements; `@` is a new number.
STATEMENTS = [
    "xs.append(@)", "xs[0] = @", "xs = [@]", "xs = xs + [@]", "d['k@'] = @", "d['a'] = @", "a[0] = @", "a = a + 1", "m.set(@)", "m = M()\nm.set(@)",
    "t.insert('n@', @)", "k = @", "bump()", "random_seed(@)", "q@ = normal(0, 1, [2])", "import nn", "s.run(x = [@, 1])", "s.run(x = [1, @])",
    "s.write_variable_data(s.ir.n, [@, 0])", "s = Session(count())", "s = Session(count())\ns.run(x = [@, 2])", "other = s", "y@ = w + @", "y@ = relu(w) * g(w)",
    "variable v@: float32[2] = @", "h@ = ir.create_graph(v => v * @, w)", "ad = autodiff(g)", "stream out o@ = w * @", "for i in range(3) { xs.append(i)\n  w + i }",
    "with g { }", "z@ = [w * i for i in range(2)]", "p@ = count()", "f@ = () => xs", "stream out e@ = w * @\ne = Session(main)\ne.run()", "def square(v) { return v + @ }",
    "try { y@ = relu(w) * g(w)\n  xs.append(@)\n  variable v@: float32[2] = @\n  fail('no') } catch fail { }", "try { h@ = ir.create_graph(v => v * @, w) } finally { xs.append(@) }",
    "try { for i in range(3) { w * i\n  try { s.run() } catch stream { w + i } }\n  assert false } catch assertion { d['a'] = @ }", "c@ = try (w * 2, xs[1000]) else w * @",
    "with expect_error('no') { y@ = relu(w) * g(w)\n  variable v@: float32[2] = @\n  fail('no') }", "record R@(x: int = 1)\nxs.append(R@(@).with(x = 2).x)",
    "module T@ { build(x) { state c: float32[2] = @\n  next c = c + x\n  return x + c } }\nn@ = T@().bound(w, training = true)\ny@ = n@(w)\ny@ = n@.frozen()(y@)",
    "y@ = scan((h, r) => (h + r, h * r), constant(0.5), w)[1]", "y@ = repeat_while((v, n) => (v * 0.5, n + 1), (v, n) => n < 2, w, 0, bound = 3)[0]",
    "y@ = vmap((v) => v * @)(w)", "y@ = grad((v) => sum(v * w))(w)", "program b@ { stream in b: {'a': float32[2]}\n  stream out y = {'c': host_load(b)['a'] * @} }\nb@()",
    "program fam@(n: size = 2) { stream in x: float32[n]\n  stream out y = host_load(x) * @ }\nfs@ = Session(fam@())\nfs@.run(x = ones([3]))",
    "from data import Replay\nr@ = Replay(3, seed = @)\nr@.append(v = @)\nxs.append(r@.sample(1)['v'].shape[0])",
]
FAILURES = ["assert false", "1 // 0", "xs[1000]", "unknown_name", "w @ ones([3])", "s.run()", "for i in range(3) { xs.append(-i)\n  assert i < 1 }",
            "program bad { variable b: float32[2] = 1\n  assert false }\nbad()", "square(w, w)", "d['missing']", "raised(()"]
# The inputs whose outputs are compared: values, variables of sessions, graphs.
LOOKS = ["[xs, d, a, m.field, t, k, s.get_tensor_data(s.ir.n)]", ":vars", ":schedule"]


class Failure(Exception):
    pass


class Repl:
    def __init__(self, pxl, folder):
        self.file = folder / "input.pxl"
        self.process = subprocess.Popen([str(pxl), "repl", "--no-init"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, env=dict(os.environ, PXL_THREADS="1"))

    def enter(self, text):
        # `:explain` shows a text and is no input.
        self.process.stdin.write(text + "\n:explain end-of-input\n")
        self.process.stdin.flush()
        shown = ""
        while "unknown kind of error `end-of-input`" not in shown:
            line = self.process.stdout.readline()
            if not line:
                raise Failure(f"the session ended with {self.process.wait()}: {shown}")
            shown += line
        return "\n".join(shown.split("\n")[:-2])

    def run(self, text):
        """Several statements as one input."""
        self.file.write_text(text + "\n")
        return self.enter(f":load {self.file}")

    def state(self, looks):
        """Looking is an input too, which is undone."""
        shown = []
        for look in looks:
            shown.append(self.enter(look))
            if not look.startswith(":"):
                self.enter(":undo")
        return shown

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


def session(pxl, chance, folder):
    """Returns the number of inputs."""
    repl, inputs, states = Repl(pxl, folder), [], []
    try:
        repl.run(START)
        number = 0
        for _ in range(8 - len([look for look in LOOKS if not look.startswith(":")])):
            statements = []
            for _ in range(chance.randrange(1, 6)):
                number += 1
                statements.append(chance.choice(STATEMENTS).replace("@", str(number)))
            if fails := chance.random() < 0.5:
                statements.insert(chance.randrange(len(statements) + 1), chance.choice(FAILURES))
            before = repl.state(LOOKS)
            inputs.append("\n".join(statements))
            shown = repl.run(inputs[-1])
            if fails != ("error" in shown):
                raise Failure(f"{'no' if fails else 'an'} error: {shown}")
            after = repl.state(LOOKS)
            if fails and after[-1] != before[-1]:
                raise Failure(f"graphs before:\n{before[-1]}\nafter:\n{after[-1]}")
            if not fails or "`:undo` takes back" in shown:
                states.append(before)
            elif after != before:
                raise Failure(f"nothing was said of what has changed:\n{before}\n{after}")
        for before in reversed(states):
            repl.enter(":undo")
            if (now := repl.state(LOOKS)) != before:
                raise Failure(f"before:\n{before}\nundone:\n{now}")
    except Failure as problem:
        raise Failure("\n---\n".join([*inputs, str(problem)])) from None
    finally:
        repl.close()
    return len(inputs)


def fuzz(pxl, seconds, seed):
    """Sessions, inputs, and the first failure or none."""
    inputs = 0
    for sessions, in batches(seconds):
        try:
            with tempfile.TemporaryDirectory() as folder:
                inputs += session(pxl, random.Random(f"{seed} {sessions}"), pathlib.Path(folder))
        except Failure as problem:
            return sessions, inputs, f"session {sessions} of seed {seed}:\n{problem}"
    return sessions + 1, inputs, None


def main():
    given = options(__doc__, seconds=60, seed=7)
    sessions, inputs, problem = fuzz(given.pxl, given.seconds, given.seed)
    print(problem or f"{sessions} sessions, {inputs} inputs, no failure")
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
