"""`pxl profile` as a page, as JSON and as a trace.

The page is opened in a headless Chromium (browser.py); skipped with a reason where there is none.
"""
import json
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.model.browser import Browser, call, checks
from tests.support.harness import ROOT
from tests.support.programs import THREE_LAYERS

DOC = ROOT / "docs/profile-json.md"
LAYERS = [str(ROOT / "bench/layers.pxl"), "--layers", "2", "--rounds", "1"]
LARGE = [str(ROOT / "bench/layers.pxl"), "--layers", "12", "--rounds", "1"]
SCRIPT = "net<!--<script>.pxl"  # its name is in the report
NETWORK = """
from nn import Linear
option n: int = 64
program first_product {
  stream in x: float32[8, n]
  facts, graph = Linear(n).create_graph(x.spec)
  layer = graph.bind(facts.init_zero())
  stream out y = layer(layer(host_load(x)))
}
program second_product {
  stream in x: float32[8, n]
  stream out y = softmax(host_load(x), axis = -1)
}
"""


MEASURED = THREE_LAYERS % 64 + "for i in range(6) { result = session.run(x = ones([64, 64])) }\n"


def report(pxl, *arguments):
    code, out, err = call(pxl, "profile", "--machine", "bow", *arguments, "--json")
    if code != 0:
        raise RuntimeError(f"status {code}\n{err}")
    return json.loads(out)


# ---- JSON -------------------------------------------------------------------------------------------------------

def documented():
    """The fields below each heading of the page."""
    fields, heading = {}, None
    for line in DOC.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif heading and (found := re.match(r"\| `(\w+)` \|", line)):
            fields.setdefault(heading, set()).add(found.group(1))
    return fields


def shown(reports):
    """Fields of each object, by the name under which the page has it."""
    found = {}

    def add(heading, thing):
        for t in thing if isinstance(thing, list) else [thing]:
            found.setdefault(heading, set()).update(t)
    for data in reports:
        add("measurements" if "sessions" in data else "The object", data)
        for session in data.get("sessions", []):
            add("sessions", session)
            add("kernels", session["kernels"])
        for run in data.get("runs", []) + data.get("against", []):
            add("runs", run)
            for name in ("remedies", "peak", "sources", "machine", "options", "problems", "totals", "categories", "graphs", "ops", "points", "tensors", "search"):
                add(name, run[name])
            add("constants", run["machine"]["constants"])
            for source in run["sources"]:
                add("lines", source["lines"])
            for graph in run["graphs"]:
                add("body", graph["body"])
            for op in run["ops"]:
                add("steps", op["steps"])
            for plans in run["plans"]:
                add("plans", plans)
    return found


def sums(data):
    """Figures that the page has twice agree."""
    for run in data["runs"]:
        totals, points, ops = run["totals"], run["points"], run["ops"]
        spent = sum(ops[o]["cycles"] * r for o, r in zip(points["op"], points["repeats"]))
        pairs = {"cycles of the points": (spent, totals["cycles"] + totals["host_cycles"]),
                 "cycles of the ops": (sum(o["total_cycles"] for o in ops), totals["cycles"] + totals["host_cycles"]),
                 "memory by tile": (sum(map(sum, run["memory"].values())), totals["total_bytes"]),
                 "memory by category": (sum(c["bytes"] for c in run["categories"]), totals["total_bytes"])}
        most = {"the fullest tile of the points": max(points["fullest_bytes"]),
                "the peak's point": points["fullest_bytes"][totals["peak_point"]]}
        # Points of calls are without the copies of arguments and results, which lie beside what is live.
        at_call = ops[points["op"][totals["peak_point"]]]["family"] == "control"
        for what, bytes_there in most.items():
            pairs[what] = (min(bytes_there, totals["fullest_tile_bytes"]) if at_call else bytes_there,
                           bytes_there if at_call else totals["fullest_tile_bytes"])
        for what, (one, other) in pairs.items():
            if one != other:
                return f"{run['name']}: {what}: {one} and {other}"
        for o in ops:
            if sum(s["cycles"] for s in o["steps"]) != o["cycles"]:
                return f"steps of {o['name']}.{o['id']}"
            plans = run["plans"][o["plans"]]
            if plans and [p["text"] for p in plans if p["chosen"]] != [o["plan"]]:
                return f"plans of {o['name']}.{o['id']}"
    return None


def sweep_problem(pxl, net, folder):
    """A table, an object and a section over tiles and an option of the script."""
    sweep = ("--sweep", "tiles=2..8", "--sweep", "n=32,64")
    code, out, err = call(pxl, "profile", net, "--machine", "mk2", *sweep)
    rows = [line.split() for line in out.splitlines() if "product" in line]
    if code != 0 or len(rows) != 12 or "cycles a run" not in out or not any(line[0] == "*" for line in rows):
        return f"status {code}\n{out}{err}"
    code, out, err = call(pxl, "profile", net, "--machine", "mk2", *sweep, "--json")
    data = json.loads(out)
    firsts = [r for r in data["rows"] if r["program"] == "first_product"]
    if [r["values"] for r in firsts] != [[t, n] for t in ("2", "4", "8") for n in ("32", "64")]:
        return f"values {[r['values'] for r in firsts]}"
    one = report(pxl, net, "--machine", "mk2,tiles=4", "--n", "64")["runs"][0]["totals"]
    if (firsts[3]["cycles"], firsts[3]["bytes"]) != (one["cycles"], one["fullest_tile_bytes"]):
        return f"{firsts[3]} and alone {one}"
    for arguments, wanted in ((("--sweep", "tiles"), "expected KEY=VALUES"), (("--sweep", "tiles=9..2"), "the range is empty"),
                              (("--sweep", "tiles=0..2"), "does not end"), (("--sweep", "n=1..2..0"), "does not end"),
                              (("--sweep", "tile=1,2"), "did you mean `tiles`"), (("--sweep", "tiles=1..9e99..1"), "more than 10000"),
                              (("--sweep", "tiles=a..b"), "expected a number")):
        code, out, err = call(pxl, "profile", "--machine", "bow", net, *arguments)
        if code != 2 or wanted not in err:
            return f"{arguments}: status {code}\n{err}"
    return None


def lines_problem(pxl, net, data):
    """The listing's lines have the cycles of their ops."""
    code, out, err = call(pxl, "profile", "--machine", "bow", net, "--lines", "--n", "64")
    if code != 0 or "stream out y = softmax(host_load(x), axis = -1)" not in out:
        return f"status {code}\n{out}{err}"
    for run in data["runs"]:
        for source in run["sources"]:
            for number, line in enumerate(source["lines"], 1):
                if line["cycles"] != sum(run["ops"][o]["total_cycles"] for o in line["ops"]):
                    return f"{source['name']}:{number}: {line}"
        placed = {o for s in run["sources"] for line in s["lines"] for o in line["ops"]}
        missing = [o["where"] for i, o in enumerate(run["ops"]) if o["where"] and i not in placed]
        if missing:
            return f"no lines for {missing[:5]}"
    return None


def machine_problem(pxl, net, folder):
    """A machine by the path of its description; errors point into it."""
    path = pathlib.Path(folder) / "mine.machine"
    path.write_text('extends = "mk2"\nchip = "Mine"\n[sources]\nours = "a test"\n[tile]\ntiles = 12 [ours]\n')
    machine = report(pxl, net, "--machine", path)["runs"][0]["machine"]
    constants = {c["name"]: c for c in machine["constants"]}
    if (machine["name"], machine["tiles"], constants["tiles"]["source"]) != ("mine", 12, "a test"):
        return str(machine)[:300]
    path.write_text('extends = "mk2"\n[tile]\ntils = 12\n')
    code, out, err = call(pxl, "profile", net, "--machine", path)
    if code != 65 or "mine.machine:3:1: error: machine: unknown constant `tils`; did you mean `tiles`?" not in err or "^~~~" not in err:
        return f"status {code}\n{err}"
    code, out, err = call(pxl, "profile", net, "--machine", path.with_name("none.machine"))
    return None if code == 66 and "none.machine" in err else f"status {code}\n{err}"


def json_tests(pxl, add, small, large, sweep, measured):
    fields = {h: f for h, f in shown([small, large, measured]).items()}
    fields["sweeps"] = set(sweep)
    fields["rows"] = set(sweep["rows"][0])
    wanted = documented()
    problems = [f"{h}: only in the page {sorted(wanted.get(h, set()) - fields.get(h, set()))}, only in the JSON "
                f"{sorted(fields.get(h, set()) - wanted.get(h, set()))}"
                for h in sorted(wanted.keys() | fields.keys()) if wanted.get(h) != fields.get(h)]
    add("docs/profile-json.md has every field", "\n".join(problems) or None)
    add("pxl profile --json: sums", lambda: sums(small) or sums(large))


def trace_problem(pxl, folder, data):
    path = pathlib.Path(folder) / "run.trace.json"
    code, out, err = call(pxl, "profile", "--machine", "bow", *LAYERS, "-o", path)
    if code != 0:
        return f"status {code}\n{err}"
    trace = json.loads(path.read_text())
    lanes = {e["tid"]: e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    if sorted(lanes.values()) != ["compute", "exchange", "host", "op", "sync"]:
        return f"lanes {lanes}"
    run = data["runs"][0]
    micro = 1e6 / run["machine"]["clock_hz"]
    last, spent = {}, {}
    for e in trace["traceEvents"]:
        if e["ph"] != "X":
            continue
        lane = lanes[e["tid"]]
        if e["dur"] <= 0 or e["ts"] < last.get(lane, 0) - 1e-6:
            return f"events overlap: {e}"
        last[lane] = e["ts"] + e["dur"]
        spent[lane] = spent.get(lane, 0) + e["dur"]
    for lane in ("compute", "exchange", "sync", "host"):
        if abs(spent.get(lane, 0) - run["totals"][lane + "_cycles"] * micro) > 1e-3:
            return f"{lane}: {spent.get(lane)} us, {run['totals'][lane + '_cycles'] * micro} expected"
    return None


def command_problem(pxl, folder):
    small = pathlib.Path(folder) / SCRIPT
    for arguments, wanted in ((("--format", "pdf"), "not `pdf`"), (("-o", "report"), "unsupported output format"),
                              (("--format", "html"), "-o report.html"), (("--layers",), "--layers"),
                              (("--available-memory-proportion", "MatMull=0.2"), "did you mean `MatMul`"),
                              (("--available-memory-proportion", "99999=0.2"), "no op has the id 99999")):
        code, out, err = call(pxl, "profile", "--machine", "bow", small, *arguments)
        if code != 2 or wanted not in err:
            return f"{arguments}: status {code}\n{err}"
    code, out, err = call(pxl, "profile", "--machine", "bow", small, "--n", "128", "--against", small, "--n", "32")
    for text in ("first_product on bow against first_product", "second_product on bow against", "cycles a run", "MatMul"):
        if code != 0 or text not in out:
            return f"--against: `{text}` is missing; status {code}\n{out}{err}"
    code, out, err = call(pxl, "profile", "--machine", "bow", small, "--against", small)
    if code != 0 or "same" not in out or "cycles by kind" in out:
        return f"a script against itself: status {code}\n{out}{err}"
    return None


# ---- the page ---------------------------------------------------------------------------------------------------

def browse(folder):
    """Runs in the Python that has selenium, and prints one line a check, `name: problem` or `name:`."""
    from selenium.webdriver.common.action_chains import ActionChains
    with Browser(folder) as browser:
        driver, check, one, many, load, errors = (browser.driver, browser.check, browser.one, browser.many, browser.load, browser.errors)

        def cells(column):
            return driver.execute_script("""
                const heads = [...document.querySelectorAll('#ops th')].map((h) => h.textContent);
                const i = heads.indexOf(arguments[0]);
                return [...document.querySelectorAll('#ops tbody tr')].filter((r) => r.cells.length > 1).map((r) => r.cells[i].textContent);""", column)

        def head(title):
            driver.execute_script("[...document.querySelectorAll('#ops th button')].find((b) => b.textContent === arguments[0]).click()", title)

        def painted(selector):
            return driver.execute_script("""
                const c = document.querySelector(arguments[0]);
                const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
                for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
                return seen.size;""", selector)

        load("layers.html")
        check("page: sections", None if len(many("main > section")) == 10 else f"{len(many('main > section'))} sections")
        check("page: charts are drawn", next((f"{s} is empty" for s in ("#timeline canvas", "#memory canvas", "#liveness canvas", "#plans canvas") if painted(s) < 3), None))
        canvas = one("#timeline canvas")
        driver.execute_script("document.getElementById('timeline').scrollIntoView({block: 'center'})")
        time.sleep(0.3)  # scrolling hides the tip
        ActionChains(driver).move_to_element_with_offset(canvas, 40, -20).perform()
        tips = many(".tip")
        text = tips[0].text if tips and tips[0].is_displayed() else ""
        check("page: a tip over the timeline", None if "Cycles" in text and "Fullest tile" in text else f"`{text}`")
        canvas.click()
        caption = one("#liveness p.hint").text
        check("page: a click shows what is live", None if caption.startswith("While ") else caption)
        whole = [int(t.replace(",", "")) for t in cells("Cycles")]
        check("page: ops sorted by cycles", None if len(whole) > 50 and whole == sorted(whole, reverse=True) else str(whole[:20]))
        head("Cycles")
        risen = [int(t.replace(",", "")) for t in cells("Cycles")]  # a table shows its first rows only
        check("page: sorted the other way", None if risen == sorted(risen) and risen[0] <= whole[-1] else str(risen[:20]))
        one("#ops input").send_keys("matmul.")
        names = cells("Op")
        check("page: filter", None if names and len(names) < len(whole) and all(n.startswith("MatMul.") for n in names) else str(names[:9]))
        driver.execute_script("document.querySelectorAll('#ops tbody tr')[1].click()")
        plans = many("#plans tbody tr")
        check("page: plans of the chosen op", None if names[1] in one("#plans .hint").text and len(plans) > 1 and "●" in one("#plans").text
              else one("#plans").text[:300])
        check("page: the program's tree", None if len(many("#program [role=treeitem]")) > 10 else one("#program").text[:300])
        leaf = one("#program [role=treeitem] button.link")
        driver.execute_script("arguments[0].click()", leaf)
        marked = many("#plans .source .at")
        check("page: an op of the tree leads to its plans and its line", None if leaf.text.split()[0] in one("#plans .hint").text and len(marked) == 1
              and re.match(r"\d+", marked[0].text) else one("#plans").text[:300])
        driver.execute_script("document.querySelector('#liveness p.hint button').click()")
        check("page: what is live leads to its plan", None if one("#liveness p.hint button").text.removeprefix("Plan of ") in one("#plans .hint").text
              else one("#plans .hint").text)
        back = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        one("#theme").click()
        dark = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
        check("page: dark", None if back != dark and painted("#timeline canvas") > 2 else f"{back} {dark}")
        frame = one("#graph iframe")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", frame)
        time.sleep(1)
        driver.switch_to.frame(frame)
        check("page: the graph", None if len(many("#view .node")) > 5 else driver.title)
        driver.execute_script("document.getElementById('find').value = 'matmul.'; document.getElementById('find').dispatchEvent(new Event('input'))")
        found = one("#panel").text
        driver.switch_to.default_content()
        time.sleep(0.3)
        linked = cells("Op")
        check("page: the op that is chosen in the graph", None if len(linked) == 1 and linked[0] in found else f"{linked} {found[:200]}")
        driver.execute_script("location.hash = '#op-' + RUN.ops.find((o) => o.name === 'Softmax').id")
        time.sleep(0.3)
        wanted = cells("Op")
        driver.switch_to.frame(frame)
        found = one("#panel").text
        driver.switch_to.default_content()
        check("page: the op that is chosen in the table", None if len(wanted) == 1 and wanted[0] in found else f"{wanted} {found[:200]}")
        # Two ops in a row: what the frame does with the first must not change the second.
        driver.execute_script("""
            const hint = document.querySelector('#plans .hint');
            window.shown = [];
            new MutationObserver(() => shown.push(hint.textContent.split(',')[0])).observe(hint, { childList: true });
            RUN.ops.filter((o) => o.name === 'MatMul').slice(0, 2).forEach((o) => openOp(o));""")
        time.sleep(0.5)
        shown, second = driver.execute_script("return [window.shown, RUN.ops.filter((o) => o.name === 'MatMul')[1].label]")
        check("page: the op chosen last stays chosen", None if shown and set(shown) == {second} else f"{second}: {shown}")
        driver.execute_script("[...document.querySelectorAll('#graph button')][0].click()")
        driver.switch_to.window(driver.window_handles[-1])
        check("page: the graphs on a page of their own", None if "pxl graph" in driver.title and len(many("#view .node")) > 5 else driver.title)
        driver.execute_script("""const f = document.getElementById('find'); f.value = 'matmul.'; f.dispatchEvent(new Event('input'))""")
        panel = one("#panel").text
        check("page: the graphs have plans", None if "Plan on bow" in panel and "cycles" in panel else panel[:300])
        driver.close()
        driver.switch_to.window(driver.window_handles[0])
        check("page: the console of layers.html", "; ".join(errors()))

        load("compared.html")
        text = one("#summary").text
        check("page: a comparison", None if many("#summary .delta.worse, #summary .delta.better") and "%" in text and "against" in one("#subtitle").text
              else text[:300])
        changes = cells("Change")
        verdict = one("#compare .verdict").text
        check("page: a comparison in a sentence", None if re.search(r"(fewer|more) cycles a run", verdict) and len(many("#compare .pair")) == 4 else verdict)
        check("page: changes of ops", None if any(re.match(r"[+−][\d,]+$", c) for c in changes) else str(changes[:9]))
        check("page: the console of compared.html", "; ".join(errors()))

        # Twelve unrolled layers: 2,000 ops. The best of three, as others may use the machine; it takes about half a second.
        taken = []
        for _ in range(3):
            load("large.html")
            taken.append(driver.execute_script("return performance.now()"))
        check("page: a large program is there within two seconds", None if min(taken) < 2000 else f"after {min(taken):.0f} ms")
        driver.execute_script("window.before = performance.now()")
        head("Compute")
        one("#ops input").send_keys("groupnorm")
        spent = driver.execute_script("document.body.offsetHeight; return performance.now() - window.before")
        names = cells("Op")
        check("page: a large program is sorted and filtered at once", None if names and all("GroupNorm" in n for n in names) and spent < 3000
              else f"{spent:.0f} ms; {names[:9]}")
        check("page: the console of large.html", "; ".join(errors()))

        load("crowded.html")
        check("page: what does not fit", None if "Does not fit" in one(".banner").text and "Tile 0 needs" in one(".banner").text else one("#summary").text[:300])
        texts = [r.text for r in many("#remedies tbody tr")]
        check("page: what was tried", None if any("chips as one" in t and t.startswith("fits") for t in texts) and "Cycles a run" not in one(".cards").text
              else f"{texts} {one('.cards').text}")
        check("page: the console of crowded.html", "; ".join(errors()))

        load("sweep.html")
        marks = [r.text for r in many("#sweep tbody tr")]
        check("page: a sweep", None if len(marks) == 6 and any("●" in t for t in marks) and painted("#sweep canvas") > 2 else f"{marks}")
        check("page: the console of sweep.html", "; ".join(errors()))

        load("two.html")
        driver.execute_script("[...document.querySelectorAll('#source tr.pick')].find((r) => r.textContent.includes('layer(layer(')).click()")
        few = cells("Op")
        check("page: the ops of a line", None if 0 < len(few) < 20 and any(n.startswith("Call.") for n in few) and "ops of" in one("#ops").text else f"{few}")
        driver.execute_script("location.hash = '#op-' + RUN.ops.find((o) => o.name === 'Add' || o.name === 'MatMul').id")
        time.sleep(0.3)
        linked = cells("Op")
        check("page: a link to an op", None if len(linked) == 1 and linked[0].endswith("." + driver.execute_script("return location.hash").split("-")[1]) else str(linked[:5]))
        driver.execute_script("document.querySelector('#ops td a').click()")
        time.sleep(0.3)
        check("page: a link to its line", None if many("#source tr.on") else driver.execute_script("return location.hash"))
        check("page: places of ops", None if any(":" in p for p in cells("Place")) else str(cells("Place")[:5]))
        titles = [o.text for o in many("#program option, #title ~ * option")]
        choose = one("select")
        driver.execute_script("arguments[0].value = 1; arguments[0].dispatchEvent(new Event('change'))", choose)
        check("page: a second program", None if one("#title").text == "second_product" else f"{one('#title').text} {titles}")
        check("page: the console of two.html", "; ".join(errors()))
        driver.set_window_size(500, 900)
        check("page: fits a narrow window", browser.too_wide())
        driver.set_window_size(1280, 1000)
        measured_page(browser)
        check("page: the console of measured.html", "; ".join(errors()))


def measured_page(browser):
    """A measured session: its timeline stays in view, and lines, kernels and modules lead to each other."""
    check, one, many, run = browser.check, browser.one, browser.many, browser.run
    browser.load("measured.html")
    sections = [s.get_attribute("id") for s in many("main > section")]
    check("measured page: sections", None if sections == ["summary", "timeline", "source", "modules", "ops", "memory"] else str(sections))
    check("measured page: programs of both kinds", None if [o.text for o in many("#program option")] == ["1. train, measured", "2. train on bow"]
          else str([o.text for o in many("#program option")]))
    legend = one("#summary .legend").text
    check("measured page: parts", None if "kernels" in legend and "the rest of the script" in legend else legend)
    run("arguments[0].click()", one("#source tr.pick"))
    chosen = one("#ops .hint:not(.head .hint)").text
    check("measured page: a line shows its kernels", None if "loop.pxl:" in one("#ops").text and "all ops" in one("#ops").text else chosen)
    run("arguments[0].click()", one("#ops tbody tr"))
    check("measured page: a kernel marks its line", None if many("#source tr.on") else "no line is marked")
    run("arguments[0].click()", one("#modules a"))
    check("measured page: a module shows its kernels", None if " of (no module) " in one("#ops").text or " of layers" in one("#ops").text else one("#ops").text[:300])
    check("measured page: modelled cycles beside the times", None if "Cycles on bow" in one("#source thead").text else one("#source thead").text)
    canvas = one("#timeline canvas")
    time.sleep(1)  # the page scrolls smoothly to the kernels of the module
    before = run("return scrollY")
    run("""const b = arguments[0].getBoundingClientRect(), at = {bubbles: true, clientX: b.left + b.width / 2, clientY: b.top + 45, pointerId: 1};
        arguments[0].setPointerCapture = () => {};
        for (let x = 0.1; x < 0.95; x += 0.02) {
          at.clientX = b.left + b.width * x;
          for (const kind of ["pointermove", "pointerdown", "pointerup"]) arguments[0].dispatchEvent(new PointerEvent(kind, at));
        }""", canvas)
    check("measured page: a click in the timeline shows figures", None if "of the roofline" in one("#chosen").text else one("#chosen").text)
    check("measured page: the timeline stays in view", None if run("return scrollY") == before else "the page has moved")


def page_tests(pxl, add, skip):
    """`add(name, problem or None)`, `skip(name, reason)`."""
    with tempfile.TemporaryDirectory() as folder:
        net = pathlib.Path(folder) / SCRIPT
        net.write_text(NETWORK + "Session(first_product())\nSession(second_product())\n")
        try:
            small, large = report(pxl, net, "--machine", "mk2,tiles=4,memory=40000", "--n", "256"), report(pxl, *LAYERS)
        except (RuntimeError, ValueError) as e:
            add("pxl profile --json", str(e))
            return
        code, out, err = call(pxl, "profile", "--machine", "bow", net, "--sweep", "n=32", "--json")
        loop = pathlib.Path(folder) / "loop.pxl"
        loop.write_text(MEASURED)
        json_tests(pxl, add, small, large, json.loads(out), json.loads(call(pxl, "profile", "--json", loop)[1]))
        add("pxl profile --sweep", lambda: sweep_problem(pxl, net, folder))
        add("pxl profile --lines", lambda: lines_problem(pxl, net, report(pxl, net)) or lines_problem(pxl, net, large))
        add("pxl profile --machine FILE", lambda: machine_problem(pxl, net, folder))
        add("pxl profile -o run.trace.json", lambda: trace_problem(pxl, folder, large))
        add("pxl profile: flags of its faces", lambda: command_problem(pxl, folder))
        pages = {"layers": LAYERS, "compared": [*LAYERS, "--against", *LAYERS, "--outline"],
                 "large": LARGE,
                 "crowded": [str(net), "--machine", "mk2,tiles=4,memory=40000", "--n", "256"], "two": [str(net)],
                 "sweep": [str(net), "--machine", "mk2", "--sweep", "tiles=2..8", "--sweep", "n=32,64"]}
        for name, arguments in pages.items():
            code, out, err = call(pxl, "profile", "--machine", "bow", *arguments, "-o", pathlib.Path(folder) / f"{name}.html")
            text = (pathlib.Path(folder) / f"{name}.html").read_text() if code == 0 else ""
            alone = not re.search(r"(src|href)=\"?https?:|@import|@@", text)
            add(f"pxl profile -o {name}.html", None if code == 0 and alone and text.count("</script>") == 4 else f"status {code}\n{out}{err}")
        code, out, err = call(pxl, "profile", "--measure", "--machine", "bow", loop, "-o", pathlib.Path(folder) / "measured.html")
        add("pxl profile -o measured.html", None if code == 0 else f"status {code}\n{out}{err}")
        checks(__file__, folder, "the page in a browser", add, skip)


if __name__ == "__main__":
    browse(sys.argv[1])
