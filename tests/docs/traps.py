"""The table of traps in docs/from-pytorch.md: each row's program shows the row's text, as an error or once a run as a
notice."""
import pathlib
import tempfile

from tests.support.harness import ROOT, parallel, run

PAGE = ROOT / "docs/from-pytorch.md"
MOST_NOTICES = 6
SETUP = """from losses import binary_cross_entropy_with_logits, cross_entropy, mse_loss
from nn import BatchNorm, Conv2d, GRU, GroupNorm, LSTM, LayerNorm, Linear, MultiHeadAttention, RMSNorm, RotaryEmbedding
from optim import Adam, SGD

matrix, labels, w = arange(6, dtype = float32).reshape([2, 3]), array([0, 1]), ones([3])
x, y, m, q = ones([2, 3]), ones([2, 3]), ones([2, 3]) > 0, ones([1, 2, 64])
probabilities, images, pixels = full([2, 2], 0.5), ones([2, 3, 4, 5]), zeros([2, 4, 5], int32)
column, row = ones([4, 1]), ones([4])
attention = MultiHeadAttention(64, 8)
digits = mnist(train = 100, test = 10)
"""
GRADIENTS = """facts, graph = Linear(2).create_graph(float32[1, 2])
net = graph.bind(facts.init("fc"))
info = net.call_with_info(constant(ones([1, 2])))
grads = info.backward(ones([1, 2]), net.vars)
"""
FILES = """program p {
  facts, graph = Linear(2).create_graph(float32[1, 2])
  net = graph.bind(facts.init("fc"))
  stream out y = net(constant(ones([1, 2])))
}
ir = p()
session = Session(ir)
save("square.safetensors", {ir.net.vars.weight.name: ones([2, 2]), ir.net.vars.bias.name: ones([2])}, metadata = {"format": "pt"})
"""


def rows():
    text = PAGE.read_text()
    table = text[text.index("\n## Traps\n"):]
    for line in table[:table.index("\n## ", 5)].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 5 and cells[0].startswith("`"):
            yield [cell.strip() for cell in cells]


def problem(pxl, code, says, kind, test):
    if test != "docs" and not (ROOT / test.strip("`")).exists():
        return f"there is no {test}"
    code = code.strip("`")
    more = GRADIENTS if "grads" in code else FILES if "session" in code else ""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trap.pxl"
        path.write_text(SETUP + more + f"{code}\n" * (2 if kind == "notice" else 1))
        status, out, err = run([str(pxl), path.name], cwd=folder, env={"NO_COLOR": "1", "PXL_DATA": "built-in"})
    if status != (0 if kind == "notice" else 65 if "session.restore" not in code else status or 65):
        return f"exit status {status}\n{out}{err}"
    return None if err.count(says) == 1 else f"said {err.count(says)} times: {says}\n{err}"


def traps_tests(pxl, tally):
    all_rows = list(rows())
    notices = sum(row[3] == "notice" for row in all_rows)
    tally.add("docs: the table of traps has rows, at most six of them notices", None if len(all_rows) > 20 and notices <= MOST_NOTICES else f"{len(all_rows)} rows, {notices} notices")
    jobs = [(f"docs: trap {code}", lambda c=code, s=says, k=kind, t=test: problem(pxl, c, s, k, t)) for code, _, says, kind, test in all_rows]
    for name, what in parallel(jobs, 2):
        tally.add(name, what)
