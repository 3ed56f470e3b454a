"""The language server, spoken to as an editor does."""
import json
import pathlib
import queue
import random
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Client:
    def __init__(self, pxl, utf8=False):
        self.process = subprocess.Popen([str(pxl), "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.messages = queue.Queue()
        self.waiting, self.number = {}, 0
        threading.Thread(target=self.read, daemon=True).start()
        encodings = ["utf-8", "utf-16"] if utf8 else ["utf-16"]
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {"general": {"positionEncodings": encodings}}})["capabilities"]
        self.tell("initialized", {})

    def read(self):
        out = self.process.stdout
        while True:
            length = None
            while (line := out.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if length is None:
                self.messages.put(None)
                return
            self.messages.put(json.loads(out.read(length)))

    def raw(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def send(self, message):
        body = json.dumps(message).encode()
        self.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def tell(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def post(self, method, params):
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def until(self, wanted, seconds=20):
        end = time.monotonic() + seconds
        while True:
            message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
            if message is None:
                raise AssertionError("the server ended: " + self.process.stderr.read().decode()[-2000:])
            if wanted(message):
                return message

    def answer(self, number, seconds=20):
        return self.until(lambda m: m.get("id") == number, seconds)

    def ask(self, method, params):
        got = self.answer(self.post(method, params))
        if "error" in got:
            raise AssertionError(f"{method}: {got['error']}")
        return got["result"]

    def open(self, text, uri="file:///nowhere/a.pxl"):
        self.uri, self.text = uri, text
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "pxl", "version": 1, "text": text}})
        return self

    def diagnostics(self):
        return self.until(lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == self.uri)["params"]["diagnostics"]

    def at(self, needle, shift=0, nth=1):
        """The position of the nth occurrence of a text, in UTF-16 units."""
        offset = -1
        for _ in range(nth):
            offset = self.text.index(needle, offset + 1)
        before = self.text[:offset + shift]
        return {"line": before.count("\n"), "character": len(before.split("\n")[-1].encode("utf-16-le")) // 2}

    def here(self, method, needle, shift=0, nth=1, **more):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": self.uri}, "position": self.at(needle, shift, nth), **more})

    def whole(self, method, **more):
        return self.ask("textDocument/" + method, {"textDocument": {"uri": self.uri}, **more})

    def quoted(self, span):
        """The text of a range."""
        lines = self.text.split("\n")
        start, end = span["start"], span["end"]
        piece = lambda line, a, b: line.encode("utf-16-le")[2 * a:None if b is None else 2 * b].decode("utf-16-le")
        if start["line"] == end["line"]:
            return piece(lines[start["line"]], start["character"], end["character"])
        return "\n".join([piece(lines[start["line"]], start["character"], None), *lines[start["line"] + 1:end["line"]], piece(lines[end["line"]], 0, end["character"])])

    def close(self):
        self.ask("shutdown", None)
        self.tell("exit", None)
        return self.process.wait(10)


TEXT = '''# A net. 🙂
from nn import Linear

option batch: int = 8

## Two layers.
module Net(hidden: int = 16) {
  fc1 = Linear(hidden)
  fc2 = Linear(10)
  build(x) {
    y = gelu(fc1(x))
    return fc2(y)
  }
}

def twice(value, by = 2) { return value * by }

program infer(n: int = 4) {
  stream in image: float32[n, 784]
  facts, graph = Net().create_graph(image.spec)
  net = graph.bind(facts.init())
  stream out logits = net(host_load(image))
}
note = "🙂🙂"; total = twice(3)
'''.replace('; total', '\ntotal')


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))


def navigation(client):
    client.open(TEXT)
    check(client.diagnostics() == [], "a right text has diagnostics")
    d = client.here("definition", "fc1(x)")
    check(d["range"]["start"] == client.at("fc1 = "), "definition of a field", d)
    check(client.here("definition", "twice(3)")["range"]["start"] == client.at("twice(value"), "definition of a function")
    check(client.here("definition", "by }")["range"]["start"] == client.at("by = 2"), "definition of a parameter")
    check(client.here("definition", "gelu") is None, "an op has no definition in the text")
    places = client.here("references", "Linear(hidden", context={"includeDeclaration": True})
    check([client.quoted(p["range"]) for p in places] == ["Linear"] * 3, "references", places)
    places = client.here("references", "hidden: int", context={"includeDeclaration": False})
    check(len(places) == 1 and places[0]["range"]["start"] == client.at("hidden)"), "references without the declaration", places)
    marks = client.here("documentHighlight", "y = gelu")
    check([m["kind"] for m in marks] == [3, 2], "highlights", marks)
    names = [(s["name"], [c["name"] for c in s.get("children", [])]) for s in client.whole("documentSymbol")]
    check(names == [("batch", []), ("Net", ["fc1", "fc2", "build"]), ("twice", []), ("infer", ["image", "logits"]), ("note", []), ("total", [])], "symbols", names)
    folds = [(f["startLine"], f["endLine"]) for f in client.whole("foldingRange")]
    check((6, 12) in folds and (9, 11) in folds, "folds", folds)


def renaming(client):
    client.open(TEXT)
    got = client.here("prepareRename", "twice(3)")
    check(got["placeholder"] == "twice" and client.quoted(got["range"]) == "twice", "prepare", got)
    edits = client.here("rename", "twice(3)", newName="double")["changes"][client.uri]
    check([client.quoted(e["range"]) for e in edits] == ["twice", "twice"] and all(e["newText"] == "double" for e in edits), "edits", edits)
    for bad in ("if", "a b", "", "3x"):
        answer = client.answer(client.post("textDocument/rename", {"textDocument": {"uri": client.uri}, "position": client.at("twice(3)"), "newName": bad}))
        check("error" in answer, "renamed to", repr(bad))


def hovering(client):
    client.open(TEXT)
    client.diagnostics()
    said = lambda *a: client.here("hover", *a)["contents"]["value"]
    check("out_features: int" in said("Linear(hidden") and "dense layer" in said("Linear(hidden"), "hover on an import", said("Linear(hidden"))
    check("module Net(hidden: int = 16)" in said("Net().") and "Two layers." in said("Net()."), "hover on a module", said("Net()."))
    check("gelu(" in said("gelu"), "hover on an op", said("gelu"))
    check("option batch: int" in said("batch"), "hover on an option")
    check("float32" in said("y = gelu"), "hover shows an inferred shape", said("y = gelu"))
    h = client.here("hover", "total")
    check(client.quoted(h["range"]) == "total", "the range of a hover", h)
    s = client.here("signatureHelp", "twice(3)", 6)
    check(s["signatures"][0]["label"].startswith("twice(value, by") and s["activeParameter"] == 0, "signature", s)


def completing(client):
    text = TEXT + "total = tw\nx = Linear(3, bi\ny = note.up\n"
    client.open(TEXT)
    client.diagnostics()
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"text": text}]})
    client.text = text
    names = lambda *a: [i["label"] for i in client.here("completion", *a)["items"]]
    check("twice" in names("tw\n", 2), "names", names("tw\n", 2)[:20])
    check(any(n.startswith("bias") for n in names("bi\n", 2)), "arguments", names("bi\n", 2)[:20])
    check("upper" in names("up\n", 2), "members", names("up\n", 2)[:20])
    began = time.monotonic()
    client.here("completion", "tw\n", 2)
    check(time.monotonic() - began < 0.5, "completion is slow")


def diagnostics(client):
    client.open('x = 1\ny = "🙂" + zz\nz = x +* 2\n')
    found = client.diagnostics()
    check(len(found) == 1 and client.quoted(found[0]["range"]) == "*", "an error of the grammar", found)
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2},
                                           "contentChanges": [{"range": {"start": {"line": 2, "character": 7}, "end": {"line": 2, "character": 8}}, "text": ""}]})
    client.text = client.text.replace("+*", "+")
    found = client.diagnostics()
    check(len(found) == 1 and client.quoted(found[0]["range"]) == "zz" and found[0]["severity"] == 1, "an unknown name, after an incremental change", found)
    check(found[0]["code"] == "unknown-name", "the kind of an error", found)
    client.tell("textDocument/didClose", {"textDocument": {"uri": client.uri}})
    check(client.diagnostics() == [], "closing takes the diagnostics away")


def formatting(client):
    client.open("x=1\nif x  {\ny = [ 1,2 ]   # kept\n}\n")
    edits = client.whole("formatting", options={"tabSize": 2, "insertSpaces": True})
    check(len(edits) == 1 and edits[0]["newText"] == "x = 1\nif x {\n  y = [1, 2]  # kept\n}\n", "formatted", edits)
    client.open(edits[0]["newText"], "file:///nowhere/b.pxl")
    check(client.whole("formatting", options={}) == [], "formatted text has edits")
    client.open("x = (\n", "file:///nowhere/c.pxl")
    check(client.whole("formatting", options={}) in (None, []), "a broken text is left alone")


def hints(client):
    client.open(TEXT)
    client.diagnostics()
    got = [(h["label"], h["position"]) for h in client.whole("inlayHint", range={"start": {"line": 0, "character": 0}, "end": {"line": 99, "character": 0}})]
    check(any(label == ": float32[4, 10]" and p == client.at("logits", 6) for label, p in got), "the shape of the logits", got)
    tokens = client.whole("semanticTokens/full")["data"]
    check(len(tokens) % 5 == 0 and len(tokens) > 200, "semantic tokens")


def across_files(client):
    """References and new names of a declaration in every file that imports it, open or not."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "parts").mkdir()
        texts = {"parts/layers.pxl": "module Block { build(x) { return x } }\nb = Block()\n",
                 "main.pxl": "from parts.layers import Block\nfrom nn import Linear\nprint(Block(), Linear(2))\n",
                 "other.pxl": "from parts.layers import Block as B, b\nimport parts.layers as l\nprint(B(), l.Block(), l.b)\n",
                 "apart.pxl": "def Block() { return 1 }\nprint(Block())  # layers\n"}
        for name, text in texts.items():
            (folder / name).write_text(text)
        uri = lambda name: (folder / name).as_uri()

        def after(changes):
            out = {}
            for name, text in texts.items():
                lines = text.split("\n")
                for e in sorted(changes.get(uri(name), []), key=lambda e: -e["range"]["start"]["character"]):
                    at, to = e["range"]["start"], e["range"]["end"]
                    line = lines[at["line"]]
                    lines[at["line"]] = line[:at["character"]] + e["newText"] + line[to["character"]:]
                out[name] = "\n".join(lines)
            return out

        wanted = {"parts/layers.pxl": "module Cell { build(x) { return x } }\nb = Cell()\n",
                  "main.pxl": "from parts.layers import Cell\nfrom nn import Linear\nprint(Cell(), Linear(2))\n",
                  "other.pxl": "from parts.layers import Cell as B, b\nimport parts.layers as l\nprint(B(), l.Cell(), l.b)\n",
                  "apart.pxl": texts["apart.pxl"]}
        client.open(texts["main.pxl"], uri("main.pxl"))
        places = client.here("references", "Block(), Lin", context={"includeDeclaration": True})
        check(sorted(pathlib.Path(p["uri"]).name for p in places) == ["layers.pxl"] * 2 + ["main.pxl"] * 2 + ["other.pxl"] * 2,
              "references across files", places)
        changes = client.here("rename", "Block(), Lin", newName="Cell")["changes"]
        got = after(changes)
        check(got == wanted, "rename from an import", got)
        check(client.here("prepareRename", "Linear(2)") is not None, "a name of the library")


def imports(client):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "my layers.pxl"
        (pathlib.Path(folder) / "layers.pxl").write_text("module Block {\n  build(x) { return x }\n}\n")
        client.open("from layers import Block\nb = Block()\n", path.as_uri())
        check(client.diagnostics() == [], "an import of a file beside")
        d = client.here("definition", "Block()")
        check(d["uri"].endswith("/layers.pxl") and d["range"]["start"] == {"line": 0, "character": 7}, "definition in another file", d)


def protocol(client):
    code = lambda number: client.answer(number).get("error", {}).get("code")
    check(code(client.post("textDocument/nonsense", {})) == -32601, "unknown method")
    check(code(client.post("textDocument/hover", {})) == -32602, "no params")
    check(code(client.post("textDocument/hover", {"textDocument": {"uri": "file:///not/open"}, "position": {}})) == -32602, "not open")
    client.raw(b"Content-Length: 5\r\n\r\n{bad}")
    check(client.until(lambda m: "error" in m)["error"]["code"] == -32700, "not JSON")
    client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": client.number + 1}})
    check(code(client.post("textDocument/documentSymbol", {"textDocument": {"uri": "x"}})) == -32800, "cancelled")
    client.open("x = 1\n")
    odd = {"line": 10 ** 9, "character": 10 ** 9}
    check(client.answer(client.post("textDocument/hover", {"textDocument": {"uri": client.uri}, "position": odd})).get("result", 0) is None, "a place past the end")


def endless(client):
    """A text that never ends is given up, and a change while it runs is answered soon."""
    client.open("n = 0\nwhile true { n = n + 1 }\n")
    time.sleep(0.4)
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"text": "n = zz\n"}]})
    client.text = "n = zz\n"
    began = time.monotonic()
    found = client.diagnostics()
    while not (found and client.quoted(found[0]["range"]) == "zz"):
        found = client.diagnostics()
    check(time.monotonic() - began < 5, "a change waits for an endless analysis")


def fuzz(pxl, seconds=4):
    """Mutated programs and requests at any place: the server answers everything."""
    rng = random.Random(7)
    sources = [p.read_text() for p in sorted((ROOT / "examples").glob("*.pxl"))] + [TEXT]
    client = Client(pxl)
    end, requests = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        text = list(rng.choice(sources)[:3000])
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(text) + 1)
            text[at:at + rng.choice([0, 0, 1, 5])] = rng.choice(["(", ")", "{", "}", "[", '"', "\n", "🙂", "if ", ".", ",", "9", "f\"{", "\\", "=", "\0", "é", " "])
        client.open("".join(text), "file:///nowhere/fuzz.pxl")
        for method in ("hover", "definition", "completion", "signatureHelp", "references", "documentSymbol", "semanticTokens/full", "formatting", "inlayHint", "foldingRange"):
            lines = client.text.split("\n")
            line = rng.randrange(len(lines))
            place = {"line": line, "character": rng.randrange(len(lines[line]) + 3)}
            number = client.post("textDocument/" + method, {"textDocument": {"uri": client.uri}, "position": place, "context": {}, "options": {}, "newName": "q"})
            answer = client.answer(number)
            check(answer.get("error", {}).get("code") != -32603, method, "on", repr(client.text), place, answer)
            requests += 1
    check(client.close() == 0, "exit status")
    check(requests > 20, "only", requests, "requests")


def statuses(pxl):
    client = Client(pxl)
    check(client.close() == 0, "after shutdown")
    client = Client(pxl)
    client.tell("exit", None)
    check(client.process.wait(10) == 1, "without shutdown")
    client = Client(pxl)
    client.process.stdin.close()
    check(client.process.wait(10) == 1, "at the end of the input")
    client = Client(pxl, utf8=True)
    check(client.capabilities["positionEncoding"] == "utf-8", "bytes, where the client can")
    client.close()


def lsp_tests(pxl, add):
    for case in (navigation, renaming, hovering, completing, diagnostics, formatting, hints, across_files, imports, protocol, endless):
        client = Client(pxl)
        problem = None
        try:
            case(client)
            check(client.close() == 0, "exit status")
        except (AssertionError, queue.Empty, KeyError, TypeError) as why:
            problem = f"{type(why).__name__}: {why}"
        finally:
            client.process.kill()
        add(f"lsp: {case.__name__}", problem)
    for case in (statuses, fuzz):
        problem = None
        try:
            case(pxl)
        except (AssertionError, queue.Empty) as why:
            problem = f"{type(why).__name__}: {why}"
        add(f"lsp: {case.__name__}", problem)
