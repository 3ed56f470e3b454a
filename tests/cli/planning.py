"""Planning reads no values: programs whose variables are larger than the memory that the command may use."""
import json
import re
import subprocess

from tests.cli.case import LIMIT, case, differ, holds

# A decoder whose layers share a graph; weights differ.
DECODER = """
module Layer {
  build(x) {
    param norm1: float16[%(width)d] = 1
    param bias1: float16[%(width)d] = 0
    param norm2: float16[%(width)d] = 1
    param bias2: float16[%(width)d] = 0
    param wq: float16[%(width)d, %(width)d] = normal(0, 0.02)
    param wk: float16[%(width)d, %(width)d] = normal(0, 0.02)
    param wv: float16[%(width)d, %(width)d] = normal(0, 0.02)
    param wo: float16[%(width)d, %(width)d] = normal(0, 0.02)
    param gate: float16[%(width)d, %(inner)d] = normal(0, 0.02)
    param up: float16[%(width)d, %(inner)d] = normal(0, 0.02)
    param down: float16[%(inner)d, %(width)d] = normal(0, 0.02)
    h = layer_norm(x, norm1, bias1)
    q = (h @ wq).reshape([%(tokens)d, %(heads)d, -1]).transpose([1, 0, 2])
    k = (h @ wk).reshape([%(tokens)d, %(heads)d, -1]).transpose([1, 2, 0])
    v = (h @ wv).reshape([%(tokens)d, %(heads)d, -1]).transpose([1, 0, 2])
    a = softmax(q @ k, axis = -1) @ v
    x = x + a.transpose([1, 0, 2]).reshape([%(tokens)d, %(width)d]) @ wo
    h = layer_norm(x, norm2, bias2)
    return x + (gelu(h @ gate) * (h @ up)) @ down
  }
}

program decoder {
  stream in ids: int32[%(tokens)d]
  variable table: float16[%(words)d, %(width)d] = normal(0, 0.02)
  x = gather(table, host_load(ids))
  for i in range(%(layers)d) {
    facts, graph = Layer().create_graph(x.spec)
    x = graph.bind(facts.init()).call(x)
  }
  variable head: float16[%(width)d, %(words)d] = normal(0, 0.02)
  stream out y = x @ head
}
"""
SIZES = {"layers": 32, "width": 4096, "inner": 11008, "heads": 32, "tokens": 512, "words": 32000}
MANY = """
program many {
  stream in x: float16[8, %(width)d]
  h = host_load(x)
  for i in range(%(variables)d) {
    variable w: float16[%(width)d, %(width)d] = %(init)s
    h = h @ w
  }
  stream out y = h
}
"""


def within(cli, megabytes, *arguments):
    """The command with so much address space."""
    done = subprocess.run(["bash", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "bash", str(cli.pxl), *arguments],
                          cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT)
    return done.returncode, done.stdout, done.stderr


@case
def a_model_of_seven_billion_parameters_is_planned_in_two_gigabytes(cli):
    parameters = SIZES["layers"] * (4 * SIZES["width"] ** 2 + 3 * SIZES["width"] * SIZES["inner"]) + 2 * SIZES["words"] * SIZES["width"]
    assert 6.5e9 < parameters < 7e9, parameters
    cli.write("decoder.pxl", DECODER % SIZES + "s = Session(decoder())\n")
    code, out, err = within(cli, 2000, "profile", "--machine", "bow", "decoder.pxl", "--json")
    differ("status", (code, err), (0, ""))
    totals = json.loads(out)["runs"][0]["totals"]
    assert totals["parameter_bytes"] >= 2 * parameters, (totals, parameters)


@case
def initial_values_that_nobody_reads_are_not_made(cli):
    for variables, width in (200, 4096), (40, 8192):
        for init in "normal(0, 0.02)", "uniform(0, 1)", "xavier_normal()", "kaiming_uniform()", "1", "0":
            sizes = {"variables": variables, "width": width, "init": init}
            cli.write("look.pxl", MANY % sizes + "s = Session(many())\n")
            code, out, err = within(cli, 2000, "profile", "--machine", "bow", "look.pxl")
            differ(f"profile of {sizes}", (code, err), (0, ""))
            holds("profile", out, "fullest tile")


@case
def a_stream_larger_than_memory_is_profiled(cli):
    for extent in 65536, 1 << 20:
        cli.write("wide.pxl", f"program wide {{\n  stream in x: float32[{extent}, {extent}]\n  stream out y = sum(host_load(x))\n}}\n"
                  "s = Session(wide())\n")
        code, out, err = within(cli, 2000, "profile", "--machine", "bow", "wide.pxl")
        differ("status", (code, err), (0, ""))
        holds("profile", out, "does not fit")


# Layers as in He et al., "Deep residual learning for image recognition", CVPR 2016, without normalisation.
RESNET = """
from nn import Conv2d, Linear
from optim import SGD, optimise

module Block(width: int, stride: int, projects: bool) {
  a = Conv2d(width, 1)
  b = Conv2d(width, 3, stride = stride, padding = 1)
  c = Conv2d(4 * width, 1)
  projection = Conv2d(4 * width, 1, stride = stride)
  build(x) {
    y = c(relu(b(relu(a(x)))))
    if projects { x = projection(x) }
    return relu(y + x)
  }
}
module Net {
  stem = Conv2d(64, 7, stride = 2, padding = 3)
  blocks = [Block(64 * 2 ** s, 2 if s > 0 and i == 0 else 1, i == 0) for s in range(4) for i in range([3, 4, 6, 3][s])]
  fc = Linear(1000)
  build(x) {
    x = max_pool(relu(stem(x)), [3, 3], stride = [2, 2], padding = [1, 1])
    for b in blocks { x = b(x) }
    return fc(mean(x, axis = [2, 3]))
  }
}
program infer(batch: int) {
  stream in image: float16[batch, 3, 224, 224]
  facts, graph = Net().create_graph(image.spec)
  stream out y = graph.bind(facts.init()).call(host_load(image))
}
program train(batch: int) {
  stream in image: float16[batch, 3, 224, 224]
  stream in labels: int32[batch]
  facts, graph = Net().create_graph(image.spec)
  net = graph.bind(facts.init())
  fwd = net.call_with_info(host_load(image))
  ce, dy = cross_entropy_with_grad(fwd.output, host_load(labels))
  stream out loss = ce
  state = optimise(SGD(), net.vars, fwd.backward(dy, net.vars), 0.1)
}
"""


@case
def resnet_50_fits_one_chip(cli):
    """Inference of 16 images (the vendor's application ran up to 90), and a training step of one."""
    for program in "infer(16)", "train(1)":
        cli.write("resnet.pxl", RESNET + f"s = Session({program})\n")
        code, out, err = cli.run("profile", "resnet.pxl", "--machine", "mk2")
        differ(f"{program}", (code, err), (0, ""))
        holds(program, out, "the program fits")


@case
def profile_compares_families_of_plans(cli):
    cli.write("product.pxl", "program p {\n  stream in x: float16[1024, 1024]\n  variable w: float16[1024, 1024] = 0\n"
              "  stream out y = gelu(host_load(x)) @ w\n}\ns = Session(p())\n")
    code, out, err = cli.run("profile", "--machine", "bow", "product.pxl", "--plans", "gather,shift")
    differ("status", (code, err), (0, ""))
    rows = dict(re.findall(r"^  (gather|shift|gather,shift) +([0-9,]+) +[0-9,]+$", out, re.MULTILINE))
    cycles = {name: int(number.replace(",", "")) for name, number in rows.items()}
    differ("families", sorted(cycles), ["gather", "gather,shift", "shift"])
    assert cycles["gather,shift"] <= min(cycles["gather"], cycles["shift"]), cycles
    for family in "gather", "shift":
        alone = cli.run("profile", "--machine", "bow", "product.pxl", "--plans", family)[1]
        holds(f"{family} alone", alone, f"{cycles[family]:,} cycles a run")
        assert "plans of products" not in alone, alone
    code, out, err = cli.run("profile", "--machine", "bow", "product.pxl", "--plans", "gathers")
    differ("status of an unknown family", code, 2)
    holds("error", err, "expected gather, shift or separately, got `gathers`")
