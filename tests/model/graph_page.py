"""`pxl graph -o FILE.html`: the page of a program's graphs, opened in a headless Chromium (browser.py)."""
import json
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.model.browser import Browser, call, checks
from tests.support.harness import ROOT

SCRIPT = "net<!--<script>.pxl"  # its name and text are in the page
NETWORK = """
from nn import Linear

module Block {
  up = Linear(8)
  down = Linear(4)
  build(x) { return x + down(gelu(up(x))) }
}
module Net {
  blocks = [Block() for i in range(3)]
  head = Linear(2)
  build(x) {
    for block in blocks { x = block(x) }
    return sum(head(x) ** 2.0)
  }
}
module Update {
  build(ref weight, grad) with in_sequence() {
    param ref momentum: float32[weight.spec] = 0
    accumulate_moving_average_(momentum, grad, f = 0.9)
    scaled_add_(weight, momentum, b = -0.1)
  }
}
program train {
  stream in x: float32[2, 4]  # </script>
  facts, graph = Net().create_graph(x.spec)
  net = graph.bind(facts.init())
  info = net.call_with_info(host_load(x))
  grads = info.backward(1.0, net.vars)
  for v in net.vars.tensors {
    state, update = Update().create_graph(v, v.spec)
    update.bind(state.init()).call(v, grads[v])
  }
  a = variable([1.0, 2.0], name = "a")
  half = (sum(a) + 1.0) / 2.0
  stream out loss = info.output * half
}
program other {
  stream in x: float32[2, 4]
  stream out y = softmax(host_load(x), axis = -1)
}
"""
# A program without a gradient, whose model is one call, and states that the program only writes back.
INFERENCE = """
from nn import Dropout, Linear

module Net {
  layers = [Linear(4) for i in range(3)]
  drop = Dropout(0.5)
  build(x) {
    for layer in layers { x = drop(layer(x)) }
    return x
  }
}
program infer {
  stream in x: float32[2, 4]
  net = Net().bound(x, training = true)
  stream out y = net(host_load(x))
}
session = Session(infer())
session.save("%s")
"""
# Many different boxes side by side, and modules whose graph is called.
WIDE = """
from nn import Linear

module Cell {
  up = Linear(4)
  build(x) { return x + gelu(up(x)) }
}
module Net {
  branches = [Linear(n + 1) for n in range(40)]
  outlined cells = [Cell() for i in range(3)]
  build(x) {
    parts = concat([b(x) for b in branches], 1)
    for c in cells { x = c(x) }
    return sum(parts) + sum(x)
  }
}
program wide {
  stream in x: float32[2, 4]
  net = Net().bound(x)
  stream out y = net(host_load(x))
}
"""


def weights_problem(page):
    """The page has range and histogram of what the checkpoint has, and names without numbers that make them unique."""
    program = data_of(page)["programs"][0]
    main = next(g for g in program["graphs"] if g["main"])
    found = {t["name"]: t["weight"] for t in main["tensors"] if "weight" in t}
    if len(found) != 6:
        return f"weights of {sorted(found)}"
    wrong = [name for name, w in found.items() if sum(w["bins"]) != (16 if "weight" in name else 4) or not w["text"].startswith(("from ", "all"))]
    names = [t["name"] for g in program["graphs"] for t in g["tensors"]]
    numbered = [name for name in names if re.search(r"__t\d+", name)]
    return None if not wrong and not numbered else f"{wrong} {numbered} {found}"


def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S).group(1))


def frames(graph):
    """Module paths of a graph's ops that multiply matrices, by the numbers of the ops: what frames them."""
    return sorted(".".join(op["scope"]) for op in graph["ops"] if op["name"] == "MatMul")


def passes_problem(data):
    """Only a page that is asked for passes has them, and each changes what is before it."""
    stages = data["programs"][0]["passes"]
    names = [stage["pass"] for stage in stages]
    changed = all(a["nodes"] != b["nodes"] for a, b in zip(stages, stages[1:]))
    return None if names[:1] == [""] and "fuse_elementwise" in names and changed else str(names)


def data_problem(data):
    if data["programs"][0]["passes"]:
        return "passes that nobody asked for"
    program = data["programs"][0]
    graphs = {g["id"]: g for g in program["graphs"]}
    updates = [g for g in program["graphs"] if g["title"] == "Update"]
    # 14 params of 5 shapes: weights [4, 8], [8, 4], [4, 2] and biases [8], [4], [2].
    if [len(updates), sum(g["members"] for g in updates)] != [6, 14]:
        return f"equal graphs: {[(g['id'], g['members']) for g in updates]}"
    forward, backward = frames(graphs["Net_subgraph(0)"]), frames(graphs["Net_subgraph(0)_bwd"])
    # Each product has one for its weight's gradient and, except the first, one for its operand's: in the same module.
    wanted = sorted(forward * 2)
    wanted.remove("blocks.0.up")
    if backward != wanted:
        return f"modules of products: forward {forward}, backward {backward}"
    if not any(source["text"] == NETWORK for source in data["sources"]):
        return "the source is changed"
    lines = {op["line"] for op in graphs["train"]["ops"] if op["name"] == "Call" and "file" in op}
    return None if lines else "no call has a line"


def browse(folder):
    """Runs in the Python that has selenium, and prints one line a check."""
    with Browser(folder) as browser:
        check, one, many, run = browser.check, browser.one, browser.many, browser.run
        labels = lambda: [n.get_attribute("aria-label") for n in many("#view .node")]
        box = lambda start: next((n for n in many("#view .node") if n.get_attribute("aria-label").startswith(start)), None)

        def press(start):
            run("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", box(start))

        browser.load("net.html")
        shown = labels()
        top = run("return [...document.querySelectorAll('#view .node')].find((n) => n.getAttribute('aria-label').startsWith('Net')).getBoundingClientRect().top")
        check("graph page: a training program begins at the model", None if 0 < top < 200 else f"it is at {top}")
        size = run("return document.querySelector('#view text').getBoundingClientRect().height")
        check("graph page: letters are readable at first", None if size > 8 else f"{size} pixels")
        edges = lambda: len(many("#view path"))
        without = edges()
        run("document.getElementById('saved').click()")
        check("graph page: saved results are hidden at first", None if edges() > without else f"{without} and {edges()} edges")
        run("document.getElementById('saved').click()")
        check("graph page: an optimiser is one box", None if any(l.startswith("Update 14 calls, 6 shapes") for l in shown) else str(shown))
        check("graph page: scalar arithmetic is one box", None if any(l.startswith("scalar arithmetic") for l in shown) else str(shown))
        check("graph page: blocks are drawn once", None if any(re.match(r"blocks\.0 to 2 × 3, \d ops each", l) for l in shown) else str(shown))
        press("blocks.0 to 2")
        inside = labels()
        check("graph page: a box opens", None if len(inside) > len(shown) and any(l.startswith("up ") for l in inside) else str(inside))
        press("up ")
        check("graph page: an op names its params", None if "weight float32[4, 8]" in one("#view svg").text else one("#view svg").text[:400])
        check("graph page: shapes on edges", None if "float32[2, 8]" in one("#view svg").text else one("#view svg").text[:400])
        press("MatMul")
        panel = one("#panel").text
        check("graph page: an op's line of the program", None if "nn.pxl:" in panel and many("#panel pre .at") else panel[:400])
        check("graph page: no plan without a machine", panel if "Plan on" in panel else None)
        press("blocks.0 to 2")
        check("graph page: a box folds", None if labels() == shown else str(labels()))
        run("const f = document.getElementById('find'); f.value = 'gelugrad'; f.dispatchEvent(new Event('input'))")
        check("graph page: search opens what it finds", None if any(l.startswith("GeluGrad") for l in labels()) and "1 of 3" in one("#found").text
              else one("#found").text + str(labels()))
        one("#unfold").click(), one("#unfold").click(), one("#unfold").click()
        rects = run("""return [...document.querySelectorAll('#view .node')].filter((n) => n.getAttribute('aria-expanded') !== 'true').map((n) => {
            const r = n.querySelector(':scope > rect:last-of-type'); return ['x', 'y', 'width', 'height'].map((a) => +r.getAttribute(a)); });""")
        cross = [(a, b) for i, a in enumerate(rects) for b in rects[i + 1:]
                 if min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0]) > 1 and min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1]) > 1]
        check("graph page: boxes do not overlap", None if len(rects) > 30 and not cross else f"{len(rects)} boxes; {cross[:3]}")
        text = run("return pictureText().text")
        check("graph page: the picture is complete in itself", None if text.startswith("<svg") and "var(--" not in text and "GeluGrad" in text else text[:300])
        one("#svg").click(), one("#png").click()
        files = [pathlib.Path(folder) / f"train.{kind}" for kind in ("svg", "png")]
        end = time.monotonic() + 20
        while time.monotonic() < end and not all(f.exists() and f.stat().st_size for f in files):
            time.sleep(0.1)
        heads = [f.read_bytes()[:4] if f.exists() else None for f in files]
        check("graph page: pictures are saved", None if heads == [b"<svg", b"\x89PNG"] else str(heads))
        back = run("return getComputedStyle(document.body).backgroundColor")
        one("#theme").click()
        check("graph page: dark", None if run("return getComputedStyle(document.body).backgroundColor") != back else back)
        before = run("return document.querySelector('#view svg > g').getAttribute('transform')")
        run("""const v = document.getElementById('view'), e = (t, x) => new PointerEvent(t, {bubbles: true, pointerId: 7, clientX: x, clientY: 300});
            v.dispatchEvent(e('pointerdown', 300)); v.dispatchEvent(e('pointermove', 340)); v.dispatchEvent(e('pointermove', 380)); v.dispatchEvent(e('pointerup', 380));
            v.dispatchEvent(new WheelEvent('wheel', {deltaY: -200, clientX: 400, clientY: 300, bubbles: true, cancelable: true}));""")
        after = run("return document.querySelector('#view svg > g').getAttribute('transform')")
        numbers = [[float(n) for n in re.findall(r"[-\d.]+", t)] for t in (before, after)]
        check("graph page: moved and zoomed", None if numbers[0][2] < numbers[1][2] and numbers[0][:2] != numbers[1][:2] else f"{before} {after}")
        run("const p = document.getElementById('program'); p.value = 1; p.dispatchEvent(new Event('change'))")
        check("graph page: a second program", None if one("#title").text == "other" and any("Softmax" in l for l in labels()) else str(labels()))
        browser.driver.set_window_size(500, 900)
        check("graph page: fits a narrow window", browser.too_wide())
        check("graph page: the console of net.html", "; ".join(browser.errors()))

        browser.driver.set_window_size(1280, 1000)
        browser.load("plans.html")
        run("const f = document.getElementById('find'); f.value = 'matmul'; f.dispatchEvent(new Event('input'))")
        panel = one("#panel").text
        check("graph page: an op's plan on tiles", None if re.search(r"Plan on mk2\nplan .*parts of.*\ncycles [\d,]+.*\ncompute [\d,]+", panel) else panel[:500])
        one("#passes").click()
        run("const s = document.querySelector('#stages select'); s.value = [...s.options].find((o) => o.text.includes('fuse_elementwise')).value; "
            "s.dispatchEvent(new Event('change'))")
        sides = [run(f"return [...document.querySelectorAll('#stages .{side}')].map((e) => e.textContent)") for side in ("gone", "new")]
        check("graph page: what a pass changes, side by side", None if any("Gelu" in line for line in sides[0]) and
              any("+" in line for line in sides[1]) and len(sides[1]) < len(sides[0]) else str(sides)[:500])
        one("#stages button").click()
        check("graph page: the console of plans.html", "; ".join(browser.errors()))

        browser.load("infer.html")
        shown = labels()
        check("graph page: the model of an inference program is open", None if any(l.startswith("layers.0") for l in shown) else str(shown))
        check("graph page: states are hidden at first", None if not any("seed" in l for l in shown) else str(shown))
        run("document.getElementById('saved').click()")
        check("graph page: Saved shows states", None if any("seed" in l for l in labels()) else str(labels()))
        press("Net")
        check("graph page: a call shows its weights", None if many("#panel .weight rect") and "mean" in one("#panel").text else one("#panel").text[:500])
        check("graph page: the console of infer.html", "; ".join(browser.errors()))

        browser.load("wide.html")
        if not box("branches.0"):
            press("Net")
        size = run("const b = document.querySelector('#view svg > g').getBBox(); return [b.width, b.height]")
        check("graph page: many boxes side by side get several rows", None if len(labels()) > 40 and size[0] < 3300 else f"{size}, {len(labels())} boxes")
        check("graph page: calls have the modules that they pass", None if box("Cell cells.0 to 2, × 3") else str(labels()))
        press("Cell cells.0")
        press("up ")
        press("MatMul")
        check("graph page: an op in a called graph has its whole path", None if "in net.cells.0.up" in one("#panel").text else one("#panel").text[:300])
        check("graph page: the console of wide.html", "; ".join(browser.errors()))

        (pathlib.Path(folder) / "framed.html").write_text('<iframe src="net.html" style="display:none;width:900px;height:500px"></iframe>')
        browser.load("framed.html")
        time.sleep(0.5)
        run("document.querySelector('iframe').style.display = 'block'")
        browser.driver.switch_to.frame(one("iframe"))
        end, scale = time.monotonic() + 10, 0.0
        while time.monotonic() < end and scale < 0.2:
            scale = float((re.findall(r"scale\(([\d.]+)", run("return document.querySelector('#view svg > g')?.getAttribute('transform') || ''")) or [0])[0])
        browser.driver.switch_to.default_content()
        check("graph page: a frame that is hidden at first", None if scale >= 0.2 else f"scale {scale}")

        # 24 unrolled layers: 6,000 ops. The best of three, as others may use the machine.
        taken = []
        for _ in range(3):
            browser.load("large.html")
            taken.append(run("return performance.now()"))
        check("graph page: 24 layers are there within two seconds", None if min(taken) < 2000 else f"after {min(taken):.0f} ms")
        shown = labels()
        check("graph page: 24 layers are few boxes", None if any("× 24" in l for l in shown) and any(l.startswith("Adam 386 calls") for l in shown) and len(shown) < 60
              else f"{len(shown)}: {shown[:30]}")
        check("graph page: the console of large.html", "; ".join(browser.errors()))


def graph_page_tests(pxl, add, skip):
    """`add(name, problem or None)`, `skip(name, reason)`."""
    with tempfile.TemporaryDirectory() as folder:
        net = pathlib.Path(folder) / SCRIPT
        net.write_text(NETWORK)
        infer, saved = pathlib.Path(folder) / "infer.pxl", pathlib.Path(folder) / "infer.safetensors"
        infer.write_text(INFERENCE % saved)
        wide = pathlib.Path(folder) / "wide.pxl"
        wide.write_text(WIDE)
        code, out, err = call(pxl, infer)
        add("pxl graph: a checkpoint to show", None if code == 0 else out + err)
        for name, script, *flags in (("net", net), ("infer", infer, "--weights", saved), ("plans", net, "--machine", "mk2", "--passes"), ("wide", wide),
                                    ("large", ROOT / "bench/layers.pxl")):
            page = pathlib.Path(folder) / f"{name}.html"
            code, out, err = call(pxl, "graph", *flags, script, "-o", page)
            text = page.read_text() if code == 0 else ""
            alone = not re.search(r"(src|href)=\"?https?:|@import|@@", text)
            add(f"pxl graph -o {name}.html", None if code == 0 and alone and text.count("</script>") == 2 else f"status {code}\n{out}{err}")
            if code != 0:
                return
        add("pxl graph: the weights of the page", lambda: weights_problem((pathlib.Path(folder) / "infer.html").read_text()))
        add("pxl graph: the passes of the page", lambda: passes_problem(data_of((pathlib.Path(folder) / "plans.html").read_text())))
        add("pxl graph: the data of the page", lambda: data_problem(data_of((pathlib.Path(folder) / "net.html").read_text())))
        checks(__file__, folder, "the page of graphs in a browser", add, skip)


if __name__ == "__main__":
    browse(sys.argv[1])
