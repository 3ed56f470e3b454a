"""`pxl test`: which statements and which tests run, and what is printed of them."""
import json

from tests.cli.case import case, differ, holds

NET = """print("net is loaded")
scale = 3
def scaled(x) { return scale * x }
test "of net" { assert scaled(2) == 6 }
"""
TRAIN = """from net import scaled
option steps: int
losses = []
def note(x) { losses.append(x) }
print("top")
for i in range(steps) {
  print("training", i)
}
for i in range(3) { note(i) }
session = none
session.run()
images = load_images_that_do_not_exist()
test "loss" {
  images = losses
  print("seen", images)
  assert images == [0, 1, 2]
}
losses.append(3)
test "grown" {
  print("a", end = "")
  print("b")
  print("no end", end = "")
  assert len(losses) == 4 and scaled(1) == 3
}
"""


@case
def tests_run_without_the_script(cli):
    cli.write("net.pxl", NET), cli.write("train.pxl", TRAIN), cli.write("plain.pxl", "print(1)\nassert false\n")
    differ("all", cli.run("test", "."), (0, """ok     ./net.pxl: of net
       ./plain.pxl: no test blocks
prints ./train.pxl: net is loaded
prints ./train.pxl: loss: seen [0, 1, 2]
ok     ./train.pxl: loss
prints ./train.pxl: grown: ab
prints ./train.pxl: grown: no end
ok     ./train.pxl: grown
3 passed, 0 failed
""", ""))
    events = [json.loads(line) for line in cli.run("test", "--json", "train.pxl")[1].splitlines()]
    differ("titles", [(e["event"], e.get("title")) for e in events],
           [("output", ""), ("output", "loss"), ("test", "loss"), ("output", "grown"), ("output", "grown"), ("output", "grown"),
            ("test", "grown"), ("summary", None)])


@case
def tests_see_what_they_depend_on(cli):
    for name, text in (
            ("assigned elements", 'x = [1]\nx[0] = 2\ntest "t" { assert x == [2] }'),
            ("changed by a function that gets it", 'x = [1]\ndef grow(a) { a.append(2) }\ngrow(x)\ntest "t" { assert x == [1, 2] }'),
            ("changed by a lambda", 'x = [1]\nlist(map(i => x.append(i), [5]))\ntest "t" { assert x == [1, 5] }'),
            ("bound in a branch", 'if true { y = 4 } else { y = 5 }\ntest "t" { assert y == 4 }'),
            ("in the order of the file", 'x = 1\ntest "a" { assert x == 1 }\nx = 2\ntest "b" { assert x == 2 }'),
            ("a name of a comprehension is its own", 'assert false\nfor i in [1] { assert false }\ntest "t" { assert [i for i in [7]] == [7] }'),
            ("a module", 'from nn import Linear\nsize = 3\nmodule M { inner = Linear(size)\n build(x) { return inner(x) } }\n'
                         'test "t" { f, g = M().create_graph(float32[2, 4])\n assert g.outputs[0].shape == (2, 3) }'),
            ("the random seed", 'random_seed(5)\na = normal(0, 1, [3])\ntest "t" { assert a == a }'),
            ("ops of the top level", 'variable w: float32[2] = 3\ny = w * 2\nprint("unneeded")\ntest "t" { assert eval(y)[0] == 6 }'),
            ("the implicit program", 'variable w: float32[2] = 3\nstream out y = w * 2\ntest "t" { assert Session(main).run().y[0] == 6 }')):
        code, out, err = cli.run("test", cli.write("t.pxl", text + "\n"))
        differ(name, (code, err, out.count("FAILED")), (0, "", 0))


@case
def a_test_that_fails_or_ends_the_program(cli):
    code, out, err = cli.run("test", cli.write("t.pxl", 'test "a" { exit(0) }\ntest "b" { nothing }\ntest "c" { assert true }\n'))
    differ("status", code, 1)
    differ("outcomes", [line[:6] for line in out.splitlines()], ["FAILED", "FAILED", "ok    ", "1 pass"])
    holds("exit", err, "the test called exit(0)")
    code, out, err = cli.run("test", cli.write("t.pxl", 'x = 1 // 0\ntest "a" { assert x }\n'))
    differ("a statement that a test needs", (code, out.splitlines()[0].split(": ")[1]), (1, "ended early"))
    holds("its error", err, ":1:5: error:")
    code, out, err = cli.run("test", cli.write("t.pxl", 'x = exit(0)\ntest "a" { assert x }\n'))
    differ("exit before the test", (code, out.splitlines()[-1]), (1, "0 passed, 1 failed"))
    deep = "x" + ".a" * 20000
    differ("a long chain", cli.run("test", cli.write("t.pxl", f'x = 1\nif false {{ {deep} }}\ntest "a" {{ assert x == 1 }}\n'))[0] in (0, 1, 65), True)
