"""Projects: a library over four folders with tests, two projects that use it, and what pxl.toml may say."""
from tests.cli.case import case, differ, holds

RINGS = {
    "rings/pxl.toml": 'name = "rings"\n',
    "rings/layers/ring.pxl": "## Adds a ring.\nmodule Ring(n: int = 2) {\n  build(x: float32[k]) { return x * n }\n}\ntest \"a ring\" { assert Ring(3).n == 3 }\n",
    "rings/layers/gate.pxl": "from .ring import Ring\nfrom ..data.rows import rows\ndef gate(x) { return x * len(rows) }\nmodule Gate {\n  ring = Ring()\n  build(x: float32[k]) { return ring(x) + 1 }\n}\n",
    "rings/data/rows.pxl": "rows = [1, 2, 3]\n",
    "rings/train/steps.pxl": "from layers.gate import Gate, gate\nfrom data.rows import rows as all_rows\ndef step(x) { return gate(x) + len(all_rows) }\ntest \"a step\" { assert step(1) == 6 }\n",
    "rings/checks/deep/all.pxl": "from ...train.steps import step\nfrom std.nn import Linear\ntest \"all\" { assert step(2) == 9 }\ntest \"the library\" { assert Linear(3).out_features == 3 }\n",
}
USERS = {
    "gated/pxl.toml": 'name = "gated"\n[dependencies]\nrings = { path = "../rings" }\n',
    "gated/nets/blocks.pxl": "from rings.layers.gate import Gate\nfrom nets.sizes import size\nmodule Block { gate = Gate()\n  build(x: float32[n]) { return gate(x) * size } }\n",
    "gated/nets/sizes.pxl": "size = 10\n",
    "gated/scripts/main.pxl": "from nets.blocks import Block\nprogram p {\n  stream in x: float32[2]\n  t = host_load(x)\n  stream out y = Block().bound(t)(t)\n}\nprint(Session(p()).run(x = [1, 2]).y)\n",
    "plain/pxl.toml": '[dependencies]\nother = { path = "../rings" }\n',
    "plain/main.pxl": "import rings.train.steps as steps\nprint(steps.step(5))\n",
}


def written(cli, files):
    for name, text in files.items():
        cli.write(name, text)


@case
def a_library_over_four_folders_is_used_by_two_projects(cli):
    written(cli, {**RINGS, **USERS})
    differ("gated", cli.run("gated/scripts/main.pxl"), (0, "[30. 50.]\n", ""))
    differ("plain", cli.run("plain/main.pxl"), (0, "18\n", ""))
    for path in ("gated", "plain", "rings"):
        code, _, err = cli.run("check", path)
        differ(f"check {path}: {err}", code, 0)
    code, out, _ = cli.run("test", "rings")
    differ("tests", (code, out.splitlines()[-1]), (0, "4 passed, 0 failed"))


@case
def tests_and_pages_of_a_project(cli):
    written(cli, {**RINGS, **USERS})
    root = cli.folder
    for folder in ("rings", "rings/checks/deep"):
        cli.folder = root / folder
        code, out, _ = cli.run("test")
        differ(folder, (code, out.splitlines()[-1]), (0, "4 passed, 0 failed"))
    cli.folder = root / "gated"
    holds("a page", cli.run("doc", "rings.layers.ring")[1], "Adds a ring.")
    holds("a page of its own", cli.run("doc", "nets.blocks")[1], "Block")
    cli.folder = root
    differ("no project", cli.run("test")[0], 2)
    code, out, _ = cli.run("new", "fresh")
    differ("new", (code, (root / "fresh/pxl.toml").read_text().splitlines()[0]), (0, 'name = "fresh"'))
    cli.folder = root / "fresh"
    differ("its tests", cli.run("test")[1].splitlines()[-1], "1 passed, 0 failed")


@case
def folders_given_by_path(cli):
    written(cli, {**RINGS, "a.pxl": "from train.steps import step\nprint(step(1))\n", "more/deep/b.pxl": "c = 7\n", "d.pxl": "from deep.b import c\nfrom layers.ring import Ring\nprint(c)\n"})
    differ("without", cli.run("a.pxl")[0], 65)
    differ("with", cli.run("--path", "rings", "a.pxl"), (0, "6\n", ""))
    differ("two", cli.run("--path", "rings", "--path", "more", "d.pxl"), (0, "7\n", ""))
    differ("check", cli.run("check", "--path", "rings,more", "d.pxl")[0], 0)
    differ("check without", cli.run("check", "--path", "more", "d.pxl")[0], 65)


@case
def the_file_of_a_project_hides_the_library(cli):
    written(cli, {"p/pxl.toml": "", "p/nn.pxl": "Linear = 5\n", "p/a.pxl": "import nn\nfrom nn import Linear\nfrom std.nn import Linear as Own\nprint(Linear, Own(3).out_features)\n"})
    code, out, err = cli.run("p/a.pxl")
    differ("values", (code, out), (0, "5 3\n"))
    holds("the notice", err, "`std.nn` is the library's")
    differ("once", err.count("nn.pxl is the project's module `nn`"), 1)
    differ("quiet", cli.run("--quiet", "p/a.pxl")[2], "")
    cli.write("p/b.pxl", "from nn import Linear, RMSNorm\n")
    holds("a name of the library's alone", cli.run("p/b.pxl")[2], "`std.nn` has it: `from std.nn import RMSNorm`")


@case
def errors_of_projects(cli):
    written(cli, {**RINGS, "twin/pxl.toml": 'name = "rings"\n', "twin/layers/ring.pxl": "x = 1\n", "p/a.pxl": "from rings.layers.ring import Ring\n", "b.pxl": "from .rings.nothing import x\n", "p/c.pxl": "from ..nothing import x\n"})
    both = '[dependencies]\na = { path = "../rings" }\nb = { path = "../twin" }\n'
    for text, said in ((both, "two projects have a module `rings.layers.ring`"), ("nme = 3\n", "did you mean `name`?"), ("name = 3\n", "`name` is a text"),
                       ("name = \n", "pxl.toml:1"), ("[dependencies]\nrings = 3\n", "the dependency `rings` has no path"), ("[dependencies]\nrings = { path = \"../no\" }\n", "there is no folder"),
                       ("[dependencies]\nrings = { path = \"../rings\", git = \"x\" }\n", "unknown key `git`"), ("dependencies = 3\n", "`dependencies` is a table"), ("", "there is no module `rings.layers.ring`")):
        cli.write("p/pxl.toml", text)
        code, _, err = cli.run("p/a.pxl")
        differ(text, code, 65)
        holds(text, err, said)
    cli.write("p/pxl.toml", 'name = "p"\n\n[dependencies]\nrings = 3\n')
    err = cli.run("p/a.pxl")[2]
    for part in ("pxl.toml:4:1: error: the dependency `rings` has no path", "    4 | rings = 3", "      | ^~~~~", "a.pxl:1:1"):
        holds("the place in pxl.toml", err, part)
    cli.write("p/pxl.toml", 'name = "p"\nversion = 1 2\n')
    holds("the place of bad syntax", cli.run("p/a.pxl")[2], "    2 | version = 1 2")
    cli.write("p/pxl.toml", "")
    holds("relative", cli.run("b.pxl")[2], "there is no module `.rings.nothing`")
    holds("above", cli.run("p/c.pxl")[2], "there is no module `..nothing`")
    cli.write("d.pxl", "from .rings.layers.ring   import Ring\nfrom  . . rings import x\nfrom ... rings import y\n")
    differ("the canonical form", cli.run("fmt", "d.pxl")[0], 0)
    differ("dots", cli.read("d.pxl"), "from .rings.layers.ring import Ring\nfrom ..rings import x\nfrom ...rings import y\n")
