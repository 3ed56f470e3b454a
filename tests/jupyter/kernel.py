"""The Jupyter kernel: the protocol's own tests (jupyter_kernel_test), interrupts, rich results, and the notebooks."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from tests.support.harness import ROOT

PROTOCOL = '''
import sys, unittest
import jupyter_kernel_test as jkt

class Protocol(jkt.KernelTests):
    kernel_name = "pxl"
    language_name = "pxl"
    file_extension = ".pxl"
    code_hello_world = "print(\\"hello, world\\")"
    code_execute_result = [{"code": "1 + 2", "result": "3"}, {"code": "x = 5\\nx * 2", "result": "10"}, {"code": "_", "result": "10"}, {"code": "7 # is it?", "result": "7"}]
    code_generate_error = "undefined_name + 1"
    completion_samples = [{"text": "isinst", "matches": {"isinstance"}}, {"text": "é = 1\\nenumer", "matches": {"enumerate"}}]
    complete_code_samples = ["x = 1", "def f(a) { return a }"]
    incomplete_code_samples = ["def f(a) {", "x = (1 +", "y = [1,"]
    invalid_code_samples = ["x = )", "1 +* 2"]
    code_inspect_sample = "gelu"
    code_page_something = "gelu?"
    code_display_data = []
    supported_history_operations = ("tail", "range", "search")
    code_history_pattern = "1*2"

    def results(self, code):
        self.flush_channels()
        reply, messages = self.execute_helper(code=code, timeout=150)
        return reply["content"], messages

    def test_rich(self):
        reply, messages = self.results("array([[1.0, 2.0], [3.0, 4.0]])")
        data = [m["content"]["data"] for m in messages if m["msg_type"] == "execute_result"][0]
        self.assertIn("<td", data["text/html"])
        self.assertIn("float32[2, 2]", data["text/html"])
        self.assertIn("1.", data["text/plain"])

    def data_of(self, code):
        reply, messages = self.results(code)
        self.assertEqual(reply["status"], "ok", reply)
        return [m["content"]["data"] for m in messages if m["msg_type"] in ("execute_result", "display_data", "update_display_data")]

    def test_graphs_are_drawn(self):
        import html, shutil, xml.etree.ElementTree
        code = "from nn import Linear\\nfacts, graph = Linear(3).create_graph(float32[2, 4])\\n"
        for value, op in (("graph", "MatMul"), ("autodiff(graph)", "ReduceSum")):
            data, = self.data_of(code + value)
            if shutil.which("dot"):
                picture = xml.etree.ElementTree.fromstring(data["image/svg+xml"])
                self.assertTrue(picture.tag.endswith("svg"))
                self.assertIn(op, "".join(picture.itertext()))
            self.assertIn("<iframe srcdoc=", data["text/html"])
            page = html.unescape(data["text/html"].split('srcdoc="')[1].split('"')[0])
            self.assertIn(op, page)
            self.assertIn("<!doctype html>", page.lower())

    def test_long_tables_are_cut(self):
        data, = self.data_of("array([[r * 1000 + c for c in range(50)] for r in range(100)])")
        self.assertLessEqual(data["text/html"].count("<tr>"), 21)
        self.assertLessEqual(data["text/html"].count("<td"), 21 * 13)
        for part in ("…", ">99049<", "int32[100, 50]"):
            self.assertIn(part, data["text/html"])

    def test_a_chart_takes_the_place_of_the_one_before(self):
        self.flush_channels()
        reply, messages = self.results("for i in range(3) { plot([1, 2, i], title = \\"loss\\") }")
        kinds = [m["msg_type"] for m in messages if "display_data" in m["msg_type"]]
        self.assertEqual(kinds[:3], ["display_data", "update_display_data", "update_display_data"])
        self.assertLessEqual(len(kinds), 4)

    def test_charts_have_a_raster_picture(self):
        import base64, struct
        for code, last in (("plot([1, 3, 2])", "display_data"), ("for i in range(3) { plot([1, 2, i], title = \\"loss\\") }", "update_display_data")):
            self.flush_channels()
            reply, messages = self.results(code)
            pictures = [m for m in messages if "display_data" in m["msg_type"]]
            self.assertEqual(pictures[-1]["msg_type"], last)
            content = pictures[-1]["content"]
            if "image/png" not in content["data"]:
                continue  # built without librsvg
            png = base64.b64decode(content["data"]["image/png"])
            self.assertTrue(png.startswith(b"\\x89PNG\\r\\n"))
            width, height = struct.unpack(">II", png[16:24])
            self.assertEqual((width, height), (2 * content["metadata"]["image/png"]["width"], 2 * content["metadata"]["image/png"]["height"]))
            self.assertIn("image/svg+xml", content["data"])
            shown = base64.b64decode(content["data"]["text/html"].split("base64,")[1].split('"')[0]).decode()
            self.assertEqual(shown, content["data"]["image/svg+xml"])

    def text_of(self, code):
        self.flush_channels()
        reply, messages = self.results(code)
        self.assertEqual(reply["status"], "ok", reply)
        return "".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream")

    def test_help_has_a_page(self):
        for name, parts in (("gelu", ("<h2>", "Example", "gelu(")), ("len", ("len(x)", "Example")), ("str.split", ("str.split",))):
            self.flush_channels()
            reply, _ = self.results(name + "?")
            data = reply["payload"][0]["data"]
            for part in parts:
                self.assertIn(part, data["text/html"])
            self.assertIn(name, data["text/plain"])
        self.results("own_name = 3")
        self.flush_channels()
        self.kc.inspect("own_name", 4)
        self.assertEqual(list(self.kc.get_shell_msg(timeout=60)["content"]["data"]), ["text/plain"])

    def test_commands(self):
        self.data_of("variable cw: float32[2] = 3\\ncy = cw * 2")
        self.assertIn("Mul", self.text_of(":schedule"))
        self.assertEqual(self.text_of(":type cy"), "tensor float32[2]\\n")
        self.assertEqual(self.text_of(":type cy\\n:eval cy"), "tensor float32[2]\\nfloat32[2]\\n[6. 6.]\\n")
        self.assertIn("cycles", self.text_of(":tiles"))
        self.data_of("stream out cz = cw * 3\\nprofiled = Session(main)")
        self.assertRegex(self.text_of(":profile profiled.run()"), "profile of main: 1 run in .*\\n(.*\\n)*.*100.0% .* total")
        self.assertIn(":schedule [GRAPH]", self.text_of(":help"))
        self.assertRegex(self.text_of(":time x3 1 + 1"), "3 runs: mean")
        self.assertIn("image/png", self.data_of(":graph")[0].keys() | {"image/png"})
        self.assertIn("text/html", self.data_of(":graph")[0])
        self.assertIn("2", self.data_of(":time 1 + 1")[0]["text/plain"])
        for code, name, part in ((":nonsense", "command", "unknown command"), (":step cy", "command", "on a terminal"),
                                 (":type nothing_here", "unknown-name", "nothing_here")):
            self.flush_channels()
            reply, _ = self.results(code)
            self.assertEqual((reply["status"], reply["ename"]), ("error", name))
            self.assertIn(part, "\\n".join(reply["traceback"]))
        self.flush_channels()
        self.kc.is_complete(":help")
        self.assertEqual(self.kc.get_shell_msg(timeout=60)["content"]["status"], "complete")
        self.kc.complete(":vars\\n:sch", 10)
        content = self.kc.get_shell_msg(timeout=60)["content"]
        self.assertEqual((content["matches"], content["cursor_start"]), (["schedule"], 7))

    def test_errors_have_the_number_of_the_cell(self):
        self.flush_channels()
        self.results(":vars")
        reply, _ = self.results("nothing_here")
        self.assertIn(f"[{reply['execution_count']}]:1:1", "\\n".join(reply["traceback"]).replace("\\x1b[1m", ""))

    def test_time_of_a_cell(self):
        reply, messages = self.results("%%time\\nprint(1)\\nx = nothing_here")
        text = "".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream")
        self.assertRegex(text, r"time: [\\d.]+ (us|ms|s)\\n$")
        self.assertIn(":3:5:", "\\n".join(reply["traceback"]))

    def test_notices_are_no_errors(self):
        reply, messages = self.results("for i in progress(range(3), \\"work\\") { pass }")
        streams = {m["content"]["name"] for m in messages if m["msg_type"] == "stream"}
        self.assertEqual(streams, {"stdout"})

    def test_colours_of_cells(self):
        self.kc.kernel_info()
        info = self.kc.get_shell_msg(timeout=60)["content"]["language_info"]
        self.assertEqual((info["codemirror_mode"], info["pygments_lexer"]), ("python", "python"))

    def test_completion_within_a_word(self):
        self.results("numbers = [1]")
        self.kc.complete("y = numb.append(2)", 8)
        content = self.kc.get_shell_msg(timeout=60)["content"]
        self.assertIn("numbers", content["matches"])
        self.assertEqual((content["cursor_start"], content["cursor_end"]), (4, 8))

    def test_an_error_says_where_and_of_which_kind(self):
        reply, messages = self.results("x = 1\\ny = x + nothing_here")
        text = "\\n".join(reply["traceback"])
        self.assertEqual(reply["ename"], "unknown-name")
        for part in (":2:9:", "nothing_here", "unknown-name"):
            self.assertIn(part, text)

    def test_output_in_order(self):
        reply, messages = self.results("for i in range(3) { print(i) }")
        text = "".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream")
        self.assertEqual(text, "0\\n1\\n2\\n")

    def test_a_failure_leaves_values(self):
        self.results("kept = 1")
        reply, messages = self.results("kept = 2\\nkept = kept + nothing_here")
        self.assertEqual(reply["status"], "error")
        self.assertIn("`:undo` takes back the whole input", reply["traceback"][-1])
        reply, messages = self.results("kept")
        data = [m["content"]["data"] for m in messages if m["msg_type"] == "execute_result"][0]
        self.assertEqual(data["text/plain"], "2")
        self.results(":undo 2")
        reply, messages = self.results("kept")
        data = [m["content"]["data"] for m in messages if m["msg_type"] == "execute_result"][0]
        self.assertEqual(data["text/plain"], "1")

    def test_user_expressions(self):
        self.flush_channels()
        number = self.kc.execute("z = 20", user_expressions={"a": "z + 1", "b": "nothing_here"})
        reply = self.get_non_kernel_reply(number) if hasattr(self, "get_non_kernel_reply") else self.kc.get_shell_msg(timeout=60)
        answers = reply["content"]["user_expressions"]
        self.assertEqual(answers["a"]["data"]["text/plain"], "21")
        self.assertEqual(answers["b"]["status"], "error")

    def wait_for(self, text, next_message):
        """An interrupt before a cell runs is ignored: the cell prints something first."""
        while next_message()["content"].get("text") != text:
            pass

    def test_interrupt(self):
        self.flush_channels()
        self.results("count = 7")
        self.kc.execute("print(1)\\nwhile true { pass }")
        self.wait_for("1\\n", lambda: self.kc.get_iopub_msg(timeout=60))
        self.km.interrupt_kernel()
        reply = self.kc.get_shell_msg(timeout=60)
        self.assertEqual(reply["content"]["status"], "error")
        self.assertEqual(reply["content"]["ename"], "Interrupted")
        self.flush_channels()
        reply, messages = self.results("count")
        data = [m["content"]["data"] for m in messages if m["msg_type"] == "execute_result"][0]
        self.assertEqual(data["text/plain"], "7")

    def run_all(self, cells, between=lambda next_message: None):
        """Sends all cells at once, as Run All does, and a completion among them: the replies' contents, and who became idle."""
        self.flush_channels()
        numbers = [self.kc.execute(code) for code in cells]
        numbers.insert(2, self.kc.complete("isinst", 6))
        numbers.append(self.kc.session.send(self.kc.shell_channel.socket, "execute_request", {"code": 1})["header"]["msg_id"])
        states = {number: [] for number in numbers}
        def next_message():
            message = self.kc.get_iopub_msg(timeout=60)
            number = message["parent_header"].get("msg_id")
            if message["msg_type"] == "status" and number in states:
                states[number].append(message["content"]["execution_state"])
            return message
        between(next_message)
        replies = {}
        while set(replies) != set(numbers):
            message = self.kc.get_shell_msg(timeout=60)
            replies[message["parent_header"]["msg_id"]] = message
        while any(not seen or seen[-1] != "idle" for seen in states.values()):
            next_message()
        for number, seen in states.items():
            self.assertEqual(seen, ["busy", "idle"])
        return [replies[number]["content"] for number in numbers]

    def check_queue(self, contents, ename):
        first, failed, completed, *aborted, wrong = contents
        self.assertEqual((failed["status"], failed["ename"]), ("error", ename))
        self.assertEqual(completed["matches"], ["isinstance"])
        for content in aborted:
            self.assertEqual((content["status"], content["ename"], content["traceback"]), ("aborted", "Aborted", []))
        self.assertEqual((wrong["status"], wrong["ename"]), ("error", "InvalidRequest"))
        self.assertIn("`code`", wrong["evalue"])

    def test_cells_after_an_error_are_aborted(self):
        self.results("ran = 0")
        self.check_queue(self.run_all(["1", "nothing_here", *["ran = ran + 1"] * 3]), "unknown-name")
        self.assertEqual(self.data_of("ran")[0]["text/plain"], "0")

    def test_cells_after_an_interrupt_are_aborted(self):
        def interrupt(next_message):
            self.wait_for("1\\n", next_message)
            self.km.interrupt_kernel()
        self.results("ran = 0")
        self.check_queue(self.run_all(["1", "print(1)\\nwhile true { pass }", *["ran = ran + 1"] * 3], interrupt), "Interrupted")
        self.assertEqual(self.data_of("ran")[0]["text/plain"], "0")

    def test_an_error_that_stops_nothing(self):
        self.flush_channels()
        numbers = [self.kc.execute("nothing_here", stop_on_error=False), self.kc.execute("1 + 1")]
        contents = [self.kc.get_shell_msg(timeout=60)["content"]["status"] for _ in numbers]
        self.assertEqual(contents, ["error", "ok"])

result = unittest.main(argv=["x"], exit=False, verbosity=0).result
sys.exit(0 if result.wasSuccessful() and result.testsRun > 5 else 1)
'''

# Messages of all kinds that are not of the protocol, on every channel; the kernel answers after each.
GARBAGE = r'''
import hashlib, hmac, json, random, socket, sys, time
import zmq
from jupyter_client import KernelManager
km = KernelManager(kernel_name="pxl")
km.start_kernel(stderr=open(sys.argv[1], "w"))
kc = km.client()
kc.start_channels()
kc.wait_for_ready(timeout=60)
info = km.get_connection_info()
key = info["key"] if isinstance(info["key"], bytes) else info["key"].encode()
context = zmq.Context.instance()
D = b"<IDS|MSG>"

def sign(*parts):
    h = hmac.new(key, digestmod=hashlib.sha256)
    for p in parts: h.update(p)
    return h.hexdigest().encode()

def signed(*parts, more=()):
    parts = [p if isinstance(p, bytes) else json.dumps(p).encode() for p in parts]
    return [D, sign(*parts[:4]), *parts, *more]

def header(kind, **more):
    return {"msg_id": "x", "session": "s", "username": "u", "date": "2020-01-01T00:00:00Z", "version": "5.3", "msg_type": kind, **more}

KINDS = ["execute_request", "complete_request", "inspect_request", "history_request", "is_complete_request", "comm_open", "comm_msg",
         "comm_close", "comm_info_request", "kernel_info_request", "interrupt_request", "debug_request", "input_reply", "nonsense", ""]
MESSAGES = [[b""], [b"", b""], [b"x"], [D], [D, D], [b"id", D], [D, b""], [D, b"", b"{}"], [D, b"", b"{}", b"{}", b"{}"],
            [D, b"", b"{}", b"{}", b"{}", b"{}"], [b"a"] * 50, [D] * 20, [b"\xff" * 1000000], [b"x", b"y", D, b"sig", b"1", b"2", b"3", b"4"],
            signed(b"", b"", b"", b""), signed(b"{}", b"{}", b"{}", b"{}"), signed(b"[]", b"[]", b"[]", b"[]"), signed(b"1", b"2", b"3", b"4"),
            signed(b"null", b"null", b"null", b"null"), signed(b"\xff\xfe", b"{}", b"{}", b"{}"), signed(b"{", b"}", b"{", b"}"),
            signed(b"[" * 200000, b"{}", b"{}", b"{}"), signed(header("execute_request"), {}, {}, b"[" * 200000 + b"]" * 200000),
            signed(header("execute_request"), b'{"a":' * 100000 + b"1" + b"}" * 100000, {}, {"code": "1"}),
            signed({"msg_type": 1}, {}, {}, {}), signed({"msg_type": None, "msg_id": []}, {}, {}, {}),
            signed(header("execute_request"), {}, {}, {}, more=[b"", b"\xff" * 100, D])]
WRONG = [None, 1, -1, 1.5, True, "text", [], {}, [[]], {"a": []}, 2 ** 63, -2 ** 70]
for kind in KINDS:
    for content in [{}, [], None, 1, "x"] + [{f: v} for f in ("code", "cursor_pos", "silent", "comm_id", "target_name", "data", "user_expressions", "hist_access_type", "restart", "detail_level", "value") for v in WRONG]:
        MESSAGES.append(signed(header(kind), {}, {}, content))
for v in WRONG:
    for f in ("msg_id", "session", "username", "date", "version", "msg_type"):
        MESSAGES.append(signed(header("kernel_info_request", **{f: v}), v, v, {}))
    for where in ("code", "cursor_pos"):
        for kind in ("complete_request", "inspect_request", "is_complete_request", "execute_request"):
            MESSAGES.append(signed(header(kind), {}, {}, {"code": "1 +", "cursor_pos": 1, where: v}))
MESSAGES += [signed(header(kind), {}, {}, {"comm_id": "x", "target_name": "none", "data": {}}) for kind in ("comm_open", "comm_msg", "comm_close")]
for access in ("range", "tail", "search", "nonsense", ""):
    for n in (-1, 0, 5, 2 ** 31 - 1):
        MESSAGES.append(signed(header("history_request"), {}, {}, {"hist_access_type": access, "n": n, "session": n, "start": n, "stop": -n, "pattern": "*"}))
draw = random.Random(5)
for _ in range(300):
    MESSAGES.append([bytes(draw.randrange(256) for _ in range(draw.randrange(40))) if draw.random() < 0.7 else D for _ in range(draw.randrange(1, 9))])

def alive(what):
    assert km.is_alive(), f"the kernel died of {what}"
    reply = kc.execute("1 + 1", reply=True, timeout=150)
    assert reply["content"]["status"] == "ok", (what, reply["content"])

def connect(kind, port):
    s = context.socket(kind)
    s.linger = 1000
    s.connect(f"tcp://127.0.0.1:{port}")
    return s

def send_all(channel, kind, messages, check_every):
    s = connect(kind, info[channel + "_port"])
    for i, m in enumerate(messages):
        try: s.send_multipart(m, flags=zmq.NOBLOCK)
        except zmq.Again: break
        if i % check_every == check_every - 1 or i < 40: alive(f"{channel} {i} {[bytes(p[:60]) for p in m][:8]}")
    time.sleep(0.3)
    alive(f"{channel}, all")
    s.close()

for channel in ("shell", "control"):
    send_all(channel, zmq.DEALER, MESSAGES, 10)
send_all("stdin", zmq.DEALER, MESSAGES[:200], 50)
req = connect(zmq.DEALER, info["hb_port"])
for m in MESSAGES[:100]: req.send_multipart(m)
alive("heartbeat")
sub = connect(zmq.SUB, info["iopub_port"])
for topic in (b"", b"\xff" * 1000): sub.subscribe(topic)
alive("iopub")
# Bytes that are not ZMTP, and connections that end at once.
for name in ("shell", "control", "stdin", "hb", "iopub"):
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"\xff" + bytes(8) + b"\x7f" + bytes(200), bytes(range(256)), b""):
        with socket.create_connection(("127.0.0.1", info[name + "_port"])) as c:
            c.sendall(data)
alive("other protocols")
# An interrupt while nothing runs ends nothing.
for _ in range(5):
    km.interrupt_kernel()
    time.sleep(0.05)
alive("interrupts while idle")
kc.stop_channels()
km.shutdown_kernel(now=False)
'''

NOTEBOOK = '''
import sys, nbformat
from nbclient import NotebookClient
notebook = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(notebook, timeout=300, kernel_name="pxl").execute()
nbformat.write(notebook, sys.argv[2])
'''


def system_python(*modules):
    for python in (sys.executable, "/usr/bin/python3"):
        if pathlib.Path(python).exists() and subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0:
            return python
    return None


def run(python, code, *arguments, env, timeout=300):
    done = subprocess.run([python, "-c", code, *arguments], env=env, capture_output=True, text=True, errors="replace", timeout=timeout)
    return None if done.returncode == 0 else (done.stdout + done.stderr)[-4000:]


def notebook_problem(python, path, env):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.ipynb"
        if problem := run(python, NOTEBOOK, str(path), str(out), env=env):
            return problem
        ran, kept = json.loads(out.read_text()), json.loads(path.read_text())
    cells = [c for c in ran["cells"] if c["cell_type"] == "code"]
    if not cells:
        return "no code in the notebook"
    expected = [c for c in cells if "raises-exception" in c["metadata"].get("tags", [])]
    if any(o["output_type"] == "error" for c in cells if c not in expected for o in c["outputs"]):
        return "a cell failed"
    if any(all(o["output_type"] != "error" for o in c["outputs"]) for c in expected):
        return "a cell that shows an error had none"
    stored = [c for c in kept["cells"] if c["cell_type"] == "code"]
    if any(not c["outputs"] for c in stored) and all(not c["outputs"] for c in stored):
        return "the notebook is stored without its results"
    return None


CONVERTED = '''
import sys, nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter
notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (
    "from nn import Linear", "facts, graph = Linear(3).create_graph(float32[2, 4])\\ngraph", "for i in range(3) { plot([1, 2, i], title = \\"loss\\") }")])
NotebookClient(notebook, timeout=60, kernel_name="pxl").execute()
page, _ = HTMLExporter().from_notebook_node(notebook)
assert "<iframe srcdoc=" in page, "no graph"
assert 'src="data:image/svg+xml;base64,' in page, "no chart"
'''


def jupyter_tests(pxl, add, skip):
    if not (pxl.parent / "pxl-kernel").exists():
        skip("jupyter", "the kernel was not built (xeus is missing)")
        return
    python = system_python("jupyter_kernel_test", "nbclient", "nbformat")
    if not python:
        skip("jupyter", "no Python with jupyter_kernel_test and nbclient")
        return
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([str(pxl), "kernel", "--install", "--prefix", folder], capture_output=True, text=True)
        spec = pathlib.Path(folder) / "share/jupyter/kernels/pxl"
        ok = done.returncode == 0 and (spec / "kernel.json").exists() and (spec / "logo-64x64.png").read_bytes().startswith(b"\x89PNG")
        add("jupyter: pxl kernel --install", None if ok else done.stdout + done.stderr)
        env = dict(os.environ, JUPYTER_PATH=str(pathlib.Path(folder) / "share/jupyter"), PXL_DATA="built-in", NO_COLOR="1")
        add("jupyter: the protocol", lambda: run(python, PROTOCOL, env=env))
        add("jupyter: messages that are not of the protocol", lambda: run(python, GARBAGE, str(pathlib.Path(folder) / "errors"), env=env))
        if converter := system_python("nbconvert", "nbclient"):
            add("jupyter: charts and graphs in an exported page", lambda: run(converter, CONVERTED, env=env))
        else:
            skip("jupyter: an exported page", "no Python with nbconvert")
        for path in sorted((ROOT / "examples/notebooks").glob("*.ipynb")):
            add(f"jupyter: {path.name}", lambda: notebook_problem(python, path, env))
