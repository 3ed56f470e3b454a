"""The language server, spoken to as an editor does."""
import json
import os
import pathlib
import queue
import random
import re
import shutil
import subprocess
import tempfile
import time

from tests.editors.lsp_client import Client, check
from tests.fuzz import buffers, messages, renames
from tests.robustness import bounds
from tests.support.harness import ROOT


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


def outer_names(client):
    """`nonlocal` makes a name of a body that of the body around: for definitions, references, renaming and diagnostics."""
    client.open("best = 10\ndef make() {\n  seen = 0\n  def lower(x) {\n    nonlocal seen, best\n    seen = seen + 1\n"
                "    if x < best { best = x }\n  }\n  return lower, () => seen\n}\nmake()\n")
    check(client.diagnostics() == [], "nonlocal names have diagnostics")
    check(client.here("definition", "best = x")["range"]["start"] == client.at("best = 10"), "definition of a name of the file")
    check(client.here("definition", "seen + 1")["range"]["start"] == client.at("seen = 0"), "definition of a name of the function around")
    check(client.here("definition", "seen, best")["range"]["start"] == client.at("seen = 0"), "definition from the declaration")
    for name, places in (("best", 4), ("seen", 5)):
        found = client.here("references", f"{name} = ", context={"includeDeclaration": True})
        check(len(found) == places and {client.quoted(p["range"]) for p in found} == {name}, "references of", name, found)
        edits = client.here("rename", f"{name} = ", newName="other")["changes"][client.uri]
        check(len(edits) == places, "renaming of", name, edits)
    client.open("best = 10\ndef lower(x) {\n  if x < best { best = x }\n}\n", "file:///nowhere/outer.pxl")
    found = client.diagnostics()
    check(len(found) == 1 and client.quoted(found[0]["range"]) == "best" and "nonlocal best" in found[0]["message"], "a name read before it is bound", found)


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
    check("void gelu(ReferenceContext& c) {" in said("gelu"), "hover on an op shows its definition", said("gelu"))
    check("option batch: int" in said("batch"), "hover on an option")
    check("float32" in said("y = gelu"), "hover shows an inferred shape", said("y = gelu"))
    client.open("text = 'a b'\nwords = text.split()\n", "file:///nowhere/members.pxl")
    client.diagnostics()
    check("split(sep = none, maxsplit = -1)" in said("split") and "parts" in said("split"), "hover on a method", said("split"))
    client.open(TEXT)
    client.diagnostics()
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
    began = client.processor_seconds()
    client.here("completion", "tw\n", 2)
    check(client.processor_seconds() - began < 0.5, "completion is slow")


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


def pulling(pxl):
    """A client that asks for diagnostics gets them when it asks, and no others."""
    client = Client(pxl, textDocument={"diagnostic": {}}, workspace={
        "diagnostics": {"refreshSupport": True}, "inlayHint": {"refreshSupport": True}, "didChangeWatchedFiles": {"dynamicRegistration": True}})
    check(client.capabilities["diagnosticProvider"]["interFileDependencies"], "what is offered", client.capabilities)
    asked = client.until(lambda m: m.get("method") == "client/registerCapability")["params"]["registrations"]
    check(asked[0]["registerOptions"]["watchers"] == [{"globPattern": "**/*.pxl"}], "watched files", asked)
    client.open("x = zz\n")
    got = client.whole("diagnostic")
    check(got["kind"] == "full" and [i["code"] for i in got["items"]] == ["unknown-name"], "asked", got)
    check(any(m.get("method") == "workspace/inlayHint/refresh" for m in client.log), "hints are asked for again")
    again = client.whole("diagnostic", previousResultId=got["resultId"])
    check(again == {"kind": "unchanged", "resultId": got["resultId"]}, "asked again", again)
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"text": "x = +\n"}]})
    got = client.whole("diagnostic", previousResultId=got["resultId"])
    check([i["code"] for i in got["items"]] == ["syntax"], "after a change", got)
    # A long analysis ends when the request is cancelled, and when the text changes.
    endless = [{"text": "n = 0\nwhile true { n = n + 1 }\n"}]
    for cancel in (True, False):
        client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 3}, "contentChanges": endless})
        number = client.post("textDocument/diagnostic", {"textDocument": {"uri": client.uri}})
        time.sleep(0.3)
        if cancel:
            client.tell("$/cancelRequest", {"id": number})
        else:
            client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 4}, "contentChanges": [{"text": "y = 1\n"}]})
        answer = client.answer(number, 5)
        error = answer.get("error", {})
        refused = error.get("code") == -32800 if cancel else error.get("code") == -32802 and error["data"]["retriggerRequest"]
        check(refused or "result" in answer, "ended", answer)
    check(client.whole("diagnostic")["items"] == [], "the last text is right")
    client.tell("workspace/didChangeWatchedFiles", {"changes": []})
    client.until(lambda m: m.get("method") == "workspace/diagnostic/refresh")
    client.tell("textDocument/didClose", {"textDocument": {"uri": client.uri}})
    check(client.close() == 0, "exit status")
    check(not any(m.get("method") == "textDocument/publishDiagnostics" for m in client.log), "published besides")


def folders(pxl):
    """Several folders of a workspace, which come and go."""
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        for name in ("one", "two", "three"):
            (place / name).mkdir()
            (place / name / "file.pxl").write_text(f"def in_{name}(x) {{ return x }}\nmodule Net {{ layer = in_{name}\n build(x) {{ return x }} }}\n")
        folder = lambda name: {"uri": (place / name).as_uri() + "/", "name": name}
        client = Client(pxl, folders=[folder("one"), folder("two")])
        check(client.capabilities["workspace"]["workspaceFolders"]["changeNotifications"], "what is offered")
        found = lambda query: sorted(s["name"] for s in client.ask("workspace/symbol", {"query": query}))
        check(found("in_") == ["in_one", "in_two"], "functions", found("in_"))
        check(found("INON") == ["in_one"], "letters in their order", found("INON"))
        inner = [s for s in client.ask("workspace/symbol", {"query": "layer"})]
        check({s["containerName"] for s in inner} == {"Net"} and inner[0]["location"]["range"]["start"]["line"] == 1, "fields", inner)
        client.tell("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder("three")], "removed": [folder("one")]}})
        check(found("in_") == ["in_three", "in_two"], "after a change", found("in_"))
        check(len(found("")) == 8, "everything", found(""))
        check(client.close() == 0, "exit status")


def corrections(client):
    client.open("values = [1]\nvalues.appned(2)\ny = vlaues\nwhlie true { }\n")
    def fixed():
        found = client.diagnostics()
        actions = client.whole("codeAction", range=found[0]["range"], context={"diagnostics": found})
        check(len(actions) == len(found), "one each", actions, found)
        edits = actions[0]["edit"]["changes"][client.uri]
        check(len(edits) == 1 and actions[0]["kind"] == "quickfix", "one edit", actions)
        client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"range": edits[0]["range"], "text": edits[0]["newText"]}]})
        was = client.quoted(edits[0]["range"])
        at = edits[0]["range"]["start"]
        lines = client.text.split("\n")
        lines[at["line"]] = lines[at["line"]][:at["character"]] + edits[0]["newText"] + lines[at["line"]][at["character"] + len(was):]
        client.text = "\n".join(lines)
        return was, edits[0]["newText"]
    check(fixed() == ("whlie", "while"), "a keyword")
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 3}, "contentChanges": [{"text": client.text.replace("while true { }\n", "")}]})
    client.text = client.text.replace("while true { }\n", "")
    got = {fixed(), fixed()}
    check(got == {("appned", "append"), ("vlaues", "values")}, "names", got)
    check(client.diagnostics() == [], "all is right then")
    # A name of the library is imported: before the first statement, where that has no import, and its documentation.
    for text, mended in (("# A net.\n\n## Makes one.\ndef f() { return Linear(3) }\n", "# A net.\n\nfrom nn import Linear\n\n## Makes one.\ndef f() { return Linear(3) }\n"),
                         ("from optim import Adam\ny = nn\n", "import nn\nfrom optim import Adam\ny = nn\n")):
        client.open(text)
        found = client.diagnostics()
        action, = client.whole("codeAction", range=found[0]["range"], context={"diagnostics": found})
        edit, = action["edit"]["changes"][client.uri]
        lines = client.text.split("\n")
        lines[edit["range"]["start"]["line"]:edit["range"]["start"]["line"]] = edit["newText"].rstrip("\n").split("\n") + ([""] if edit["newText"].endswith("\n\n") else [])
        check("\n".join(lines) == mended and action["title"] == edit["newText"].strip(), "an import", action)
    # A call as another framework writes it.
    client.open("from nn import LSTM\nnet = LSTM(32, 64)\n")
    found = client.diagnostics()
    check("so PyTorch's `LSTM(32, 64)` is `LSTM(64)`" in found[0]["message"], "the habit", found)
    action, = client.whole("codeAction", range=found[0]["range"], context={"diagnostics": found})
    edit, = action["edit"]["changes"][client.uri]
    check((client.quoted(edit["range"]), edit["newText"]) == ("LSTM(32, 64)", "LSTM(64)"), "the call anew", edit)
    client.open("values = [1]\n")
    check(client.diagnostics() == [], "right again")
    check(client.whole("codeAction", range={"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, context={"diagnostics": []}) == [], "nothing to do")


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


def open_buffers(client):
    """Every analysis reads open documents as the editor shows them: diagnostics, hover, completion, definition, symbols, new names."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "sub").mkdir()
        (folder / "link").symlink_to(folder / "sub")
        (folder / "part.pxl").write_text("def f(x) { return x }\n")
        (folder / "sub/deep.pxl").write_text("import low\nv = low.w\n")
        (folder / "sub/low.pxl").write_text("w = 1\n")
        uri = lambda name: "file://" + str(folder / name)
        versions = {"main.pxl": 1}

        def edit(name, text):
            versions[name] = versions.get(name, 0) + 1
            document = {"uri": uri(name), "version": versions[name]}
            if versions[name] == 1:
                client.tell("textDocument/didOpen", {"textDocument": {**document, "text": text}})
            else:
                client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

        main = "import part\nfrom part import f\nfrom sub.deep import v\nimport fresh\na = f(ones([2]))\nb = v\nc = fresh.z\nd = part.f\n"
        client.open(main, uri("main.pxl"))
        said = lambda: [d["message"].split("\n")[0] for d in client.diagnostics()]
        check(said() == ["there is no module `fresh`"], "of files only")
        edit("fresh.pxl", "z = ones([3])\n")  # on no disk
        check(said() == [], "a new file")
        check("float32[3]" in client.here("hover", "c = ")["contents"]["value"], "hover of a name of a new file")
        edit("part.pxl", "# moved\ndef g(x) { return x }\n")
        check("f" in said()[0], "a name that the open text lacks")
        edit("part.pxl", "# moved\ndef f(x, n = 1) { return [x] }\n")
        check(said() == [], "the name again")
        check("list" in client.here("hover", "a = ")["contents"]["value"], "hover of a call", client.here("hover", "a = "))
        check(client.here("definition", "f(ones")["range"]["start"] == {"line": 1, "character": 4}, "definition in an open text")
        check(client.here("definition", "f\n", nth=2)["range"]["start"] == {"line": 1, "character": 4}, "definition of a member of a file")
        check(client.here("signatureHelp", "(ones", 1)["signatures"][0]["label"] == "f(x, n = 1)", "signature")
        client.text = main + "e = part.\nh = f(1, \n"
        edit("main.pxl", client.text) if versions.setdefault("main.pxl", 1) else None
        check(said()[0] and "f" in [i["label"] for i in client.here("completion", "part.\n", 5)["items"]], "members of a file")
        check("n = " in [i["label"] for i in client.here("completion", "f(1, ", 5)["items"]], "keywords of an open text")
        client.text = main
        edit("main.pxl", main)
        check(said() == [], "as before")
        # A file that a file imports, and by a link.
        edit("link/low.pxl", "w = 'text'\n")
        check(said() == [] and "str" in client.here("hover", "b = v")["contents"]["value"], "a file that is imported by another")
        names = [s["name"] for s in client.ask("workspace/symbol", {"query": "f"})]
        check("f" in names, "symbols of open texts", names)
        changes = client.here("rename", "f(ones", newName="first")["changes"]
        check({u: [e["range"]["start"]["line"] for e in edits] for u, edits in changes.items()} == {uri("main.pxl"): [1, 4, 7], uri("part.pxl"): [1]}, "a new name", changes)
        client.tell("textDocument/didClose", {"textDocument": {"uri": uri("part.pxl")}})
        check(said() == [] and "float32[2]" in client.here("hover", "a = ")["contents"]["value"], "the file of the disk")
        client.tell("textDocument/didClose", {"textDocument": {"uri": uri("fresh.pxl")}})
        check(said() == ["there is no module `fresh`"], "a new file is closed")


# Renamings: files, the file and the word at the cursor, the new name; the files that change, or a part of the refusal.
RENAMINGS = [
    ({"a": "import nn\nx = nn.Linear(3)\n"}, "a", "nn", "q", {"a": "import nn as q\nx = q.Linear(3)\n"}),
    ({"a": "from nn import Linear, Sequential\nx = Linear(3)\n"}, "a", "Linear(", "q", {"a": "from nn import Linear as q, Sequential\nx = q(3)\n"}),
    ({"a": "def f(a) { return a + 1 }\ny = f(a = 3)\n"}, "a", "a)", "q", {"a": "def f(q) { return q + 1 }\ny = f(q = 3)\n"}),
    ({"a": "def f(a) { return a + 1 }\ny = f(a = 3)\n"}, "a", "a = 3", "q", {"a": "def f(q) { return q + 1 }\ny = f(q = 3)\n"}),
    ({"a": "def f(a) { return a }\nh = f\nprint(h(a = 1), sum([1], axis = 0))\n"}, "a", "a)", "q",
     {"a": "def f(q) { return q }\nh = f\nprint(h(q = 1), sum([1], axis = 0))\n"}),
    ({"a": "def f(a) { return a }\ndef call(g) { return g(a = 1) }\ncall(f)\n"}, "a", "a)", "q", "may use `a`"),
    ({"a": "def f(a) { return a }\ndef call(g) { return g(a = 1) }\nf(2)\n"}, "a", "a)", "q", {"a": "def f(q) { return q }\ndef call(g) { return g(a = 1) }\nf(2)\n"}),
    ({"a": "def f(a) { return a }\nprint(f(**{\"a\": 1}))\n"}, "a", "a)", "q", "may use `a`"),
    ({"a": "module M(n) {\n  k = 2\n  build(x) { return x * k * n }\n}\nm = M(n = 3)\nprint(m.k, m.n, M(1).k)\n"}, "a", "k = 2", "q",
     {"a": "module M(n) {\n  q = 2\n  build(x) { return x * q * n }\n}\nm = M(n = 3)\nprint(m.q, m.n, M(1).q)\n"}),
    ({"a": "module M(n) {\n  k = 2\n  build(x) { return x * k * n }\n}\nm = M(n = 3)\nprint(m.k, m.n, M(1).k)\n"}, "a", "n)", "q",
     {"a": "module M(q) {\n  k = 2\n  build(x) { return x * k * q }\n}\nm = M(q = 3)\nprint(m.k, m.q, M(1).k)\n"}),
    ({"a": "module M { k = 2\n build(x) { return x } }\ndef show(m) { print(m.k) }\nshow(M())\n"}, "a", "k = 2", "q", "line 3 of a.pxl may use `k`"),
    ({"a": "module M { k = 2\n build(x) { return x } }\nfor name in [\"k\"] { print(name) }\n"}, "a", "k = 2", "q", "line 3 of a.pxl may use `k`"),
    ({"a": "module M { def step(v) { return v } }\nprint(M().step(v = 2))\n"}, "a", "v)", "q", {"a": "module M { def step(q) { return q } }\nprint(M().step(q = 2))\n"}),
    ({"a": "module M { build(x) { return x } }\nfacts, g = M().create_graph(x = float32[2])\n"}, "a", "x)", "q",
     {"a": "module M { build(q) { return q } }\nfacts, g = M().create_graph(q = float32[2])\n"}),
    ({"a": "program p(n) {\n  stream in x: float32[n]\n  z = host_load(x)\n  stream out y = z\n}\nir = p(n = 2)\nprint(ir.z)\n"
           "with Session(p(2)) as s {\n  r = s.run(x = [1, 2])\n  print(r.y, Session(p(2)).run(x = [3, 4]).y)\n}\n"}, "a", "x: ", "q",
     {"a": "program p(n) {\n  stream in q: float32[n]\n  z = host_load(q)\n  stream out y = z\n}\nir = p(n = 2)\nprint(ir.z)\n"
           "with Session(p(2)) as s {\n  r = s.run(q = [1, 2])\n  print(r.y, Session(p(2)).run(q = [3, 4]).y)\n}\n"}),
    ({"a": "program p {\n  stream out y = constant(1.0)\n}\na, b = Session(p()), 2\nr = a.run()\nr = Session(p()).run() if b else none\nprint(r.y)\n"}, "a", "y)", "q",
     {"a": "program p {\n  stream out q = constant(1.0)\n}\na, b = Session(p()), 2\nr = a.run()\nr = Session(p()).run() if b else none\nprint(r.q)\n"}),
    ({"a": "program p {\n  stream out y = constant(1.0)\n}\nr = Session(p()).run()\nprint(r.y)\nfor r in [1] { print(r) }\n"}, "a", "y = ", "q", "may use `y`"),
    ({"a": "x = 1\nprint(sorted([x]).y)\n"}, "a", "y)", "q", "the text does not determine what `y` names here"),
    ({"a": "program p {\n  stream in x: float32[]\n}\nSession(p()).run({\"x\": 1})\n"}, "a", "x: ", "q", "may use `x`"),
    ({"a": "x = 1\ny = 2\nprint(x, y)\n"}, "a", "x", "y", "`y` has another meaning"),
    ({"a": "def f() { return 1 }\nprint(f())\n"}, "a", "f()", "print", "`print` has another meaning"),
    ({"a": "def f(a, b) { return a }\n"}, "a", "a, ", "b", "`b` has another meaning"),
    ({"a": "program p {\n  z = constant(1.0)\n  stream out y = z\n}\n"}, "a", "z = ", "id", "would have an error"),
    ({"a": "x = 1\n"}, "a", "x", "ir", "cannot be a name"),
    ({"a": "module M { build(x) { return x } }\n"}, "a", "build", "q", "the language has given the name"),
    ({"a": "import p.b\nprint(p.b.v)\n", "p/b": "v = 1\n"}, "a", "p.b\nprint", "q", "`p` is a folder"),
    ({"a": "import p.b\nprint(p.b.v)\n", "p/b": "v = 1\n"}, "p/b", "v", "q", {"a": "import p.b\nprint(p.b.q)\n", "p/b": "q = 1\n"}),
    ({"a": "def f(n = 1) { return n }\n", "b": "from a import f\nimport a\nprint(a.f(n = 2), f(n = 3))\n", "c": "from b import f\nprint(f(n = 4))\n"}, "c", "f(n", "q",
     {"a": "def q(n = 1) { return n }\n", "b": "from a import q\nimport a\nprint(a.q(n = 2), q(n = 3))\n", "c": "from b import q\nprint(q(n = 4))\n"}),
    ({"a": "def f(n = 1) { return n }\n", "b": "from a import f\nimport a\nprint(a.f(n = 2), f(n = 3))\n", "c": "from b import f\nprint(f(n = 4))\n"}, "a", "n = 1", "q",
     {"a": "def f(q = 1) { return q }\n", "b": "from a import f\nimport a\nprint(a.f(q = 2), f(q = 3))\n", "c": "from b import f\nprint(f(q = 4))\n"}),
    ({"a": "from nn import Linear\n", "b": "from a import Linear\nprint(Linear(1))\n"}, "a", "Linear", "q",
     {"a": "from nn import Linear as q\n", "b": "from a import q\nprint(q(1))\n"}),
    ({"a": "def show(m) { print(m.k) }\n", "b": "from a import show\nmodule M { k = 1\n build(x) { return x } }\nshow(M())\n"}, "b", "k = 1", "q", "line 1 of a.pxl may use `k`"),
    ({"p/a": "def f() { return 1 }\n", "b": "from p.a import f as g\nprint(g())\n"}, "p/a", "f()", "q", {"p/a": "def q() { return 1 }\n", "b": "from p.a import q as g\nprint(g())\n"}),
    ({"p/a": "def f() { return 1 }\n", "b": "from p.a import f\nx = (\n"}, "p/a", "f()", "q", "b.pxl may use `f` and has syntax errors"),
    ({"a": "module A { l = f\n build(x) { return x } }\nmodule B { l = f\n build(x) { return x } }\ndef f(x) { return x }\n"}, "a", "l = f", "q", "line 3 of a.pxl may use `l`"),
]


def new_names(pxl):
    """A new name follows every use, or is refused with a reason; the program runs as before."""
    for texts, where, needle, name, wanted in RENAMINGS:
        with tempfile.TemporaryDirectory() as folder:
            path = lambda one: pathlib.Path(folder) / (one + ".pxl")
            for one, text in texts.items():
                path(one).parent.mkdir(exist_ok=True)
                path(one).write_text(text)
            client = Client(pxl)
            client.open(texts[where], path(where).as_uri())
            answer = client.answer(client.post("textDocument/rename", {"textDocument": {"uri": client.uri}, "position": client.at(needle), "newName": name}))
            client.process.kill()
            if isinstance(wanted, str):
                check(wanted in answer.get("error", {}).get("message", ""), texts, needle, answer)
                continue
            check("result" in answer, texts, needle, answer)
            got = {one: renames.applied(text, answer["result"]["changes"].get(path(one).as_uri(), [])) for one, text in texts.items()}
            check(got == {**texts, **wanted}, texts, needle, got)
            for one, text in got.items():
                path(one).write_text(text)
            done = subprocess.run([str(pxl), str(path(where))], capture_output=True, text=True)
            check(done.returncode == 0, got, done.stderr)


def random_names(pxl):
    done, refused = renames.campaign(pxl, 3, 7)
    check(done > 0, "nothing was renamed", refused)


def two_buffers(pxl):
    check(buffers.campaign(pxl, 3, 7) > 0, "no series")


def large_folder(client):
    """Without a workspace a new name needs the folder of the file and the folders above it, not those below."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for i in range(300):
            (folder / f"d{i}" / "e").mkdir(parents=True)
            for j in range(4):
                (folder / f"d{i}" / "e" / f"main{j}.pxl").write_text("from d0.other import f\n" + "x = [1, 2, 3]\n" * 400)
        (folder / "main.pxl").write_text("def f() { return 1 }\nprint(f())\n")
        client.open("def f() { return 1 }\nprint(f())\n", (folder / "main.pxl").as_uri())
        check(len(client.here("rename", "f()", newName="q")["changes"][client.uri]) == 2, "renamed")


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
    began = client.processor_seconds()
    found = client.diagnostics()
    while not (found and client.quoted(found[0]["range"]) == "zz"):
        found = client.diagnostics()
    check(client.processor_seconds() - began < 5, "a change waits for an endless analysis")


def bounded(pxl):
    """Whatever text is open, questions are answered, corrections analysed, and `exit` obeyed."""
    bounds.answers_meanwhile(pxl, Client, check)


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


def neovim(pxl):
    """Neovim's own client does what a user's keys do (tests/editors/neovim.lua)."""
    with tempfile.TemporaryDirectory() as place:
        # Neovim leaves most of these characters as they are in a URI.
        folder = pathlib.Path(place) / "né (1) 'a+b'@!,;=:&$*"
        folder.mkdir()
        file = folder / "a.pxl"
        (folder / "part.pxl").write_text("def half(x) { return x / 2 }\n")
        (folder / "main.pxl").write_text("from part import half\nprint(half(4))\n")
        file.write_text("# A text with é.\ndef twice(x) { return 2 * x }\né = 3\ny = [twice(é),twice(4)]\nz = twcie(é)\n")
        environment = {**os.environ, **dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"), place),
                       "NEOVIM_FILE": str(file), "NEOVIM_SERVER": str(pxl), "NEOVIM_PLUGIN": str(ROOT / "editors/vim")}
        done = subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-n", "-c", f"luafile {ROOT / 'tests/editors/neovim.lua'}"],
                              env=environment, cwd=folder, capture_output=True, text=True, timeout=90)
    said = json.loads(done.stdout.strip().split("\n")[-1] or done.stderr)
    check("problem" not in said and "notified" not in said, said)
    check(said["diagnostic"] == [4, 4, 9, "unknown name `twcie`\ndid you mean `twice`?", "unknown-name"], "diagnostic", said)
    check(said["actions"] == ["Change to `twice`"], "actions", said)
    check(said["definition"] == [2, "twice"] and "def twice(x)" in said["hover"], "definition and hover", said)
    renamed = "# A text with é.\ndef double(x) { return 2 * x }\né = 3\ny = [double(é),double(4)]\nz = double(é)\n"
    check(said["renamed"] == renamed, "renamed", said)
    check(said["completed"] == ["double"], "completed", said["completed"])
    check(said["formatted"] == renamed.replace(",double", ", double"), "formatted", said)
    check(said["symbols"] == ["[Function] double", "[Variable] é", "[Variable] y", "[Variable] z"] and said["running"] == 1, "symbols", said)
    check((said["part"], said["main"]) == ("# moved\n# down\ndef halved(x) { return x / 2 }\n", "from part import halved\nprint(halved(4))\n"), "two buffers", said)


def ill_typed(pxl):
    """Members that are missing or of another type: each message is refused or answered as a whole (tests/fuzz/messages.py)."""
    check(messages.campaign(pxl, 1, 7) > 5000, "few messages")
    # The client sees the member's name, in the response or in its log.
    client = Client(pxl)
    client.tell("textDocument/didOpen", {"textDocument": {"uri": "file:///nowhere/a.pxl", "version": 1}})
    said = client.until(lambda m: m.get("method") == "window/logMessage")["params"]
    check(said == {"type": 1, "message": "textDocument/didOpen: params.textDocument.text: expected a string, got nothing"}, said)
    answer = client.answer(client.post("textDocument/hover", {"textDocument": {"uri": "file:///nowhere/a.pxl"}, "position": {"line": "1"}}))["error"]
    check(answer["message"] == "params.position.line: expected an integer, got a string" and answer["code"] == -32602, answer)
    # A change that is refused changes nothing.
    client.open("x = 1\n")
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": "2"}, "contentChanges": [{"text": "y = 2\n"}]})
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": 2}, "contentChanges": [{"text": "y = 2\n"}, {"range": None}]})
    check([s["name"] for s in client.whole("documentSymbol")] == ["x"], "a refused change has changed the text")
    client.tell("textDocument/didChange", {"textDocument": {"uri": client.uri, "version": None}, "contentChanges": [{"text": "y = 2\n"}]})
    check([s["name"] for s in client.whole("documentSymbol")] == ["y"], "a change without a version")
    check(client.close() == 0, "exit status")


def spellings(client):
    """A document is found by every spelling of its URI; responses have the spelling that opened it."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder) / "né (1) 'a+b@c'!"
        folder.mkdir()
        (folder / "part.pxl").write_text("# of the disk\ndef f() { return 1 }\n")
        (folder / "main.pxl").write_text("from part import f\nprint(f())\n")
        whole = (folder / "part.pxl").as_uri()
        raw = "file://" + str(folder / "part.pxl").replace(" ", "%20")
        other = [raw, re.sub("%..", lambda m: m.group().lower(), whole), whole.replace("file://", "FILE://localhost"), whole.replace("part", "%70art").replace("file:///", "file:/"),
                 whole.replace("/part", "/./x/../part"), whole]
        for opened in other:
            client.tell("textDocument/didOpen", {"textDocument": {"uri": opened, "version": 1, "text": "def f() { return 1 }\n"}})
            for asked in other:
                found = client.ask("textDocument/documentSymbol", {"textDocument": {"uri": asked}})
                check([s["name"] for s in found] == ["f"], "symbols by", asked)
            client.open("from part import f\nprint(f())\n", (folder / "main.pxl").as_uri())
            changes = client.here("rename", "f())", newName="g")["changes"]
            check(sorted(changes) == sorted([opened, client.uri]), "documents of a rename", changes, opened)
            check(changes[opened][0]["range"]["start"]["line"] == 0, "the open text is renamed, not that of the disk", changes)
            check(client.here("definition", "f())") == {"uri": opened, "range": {"start": {"line": 0, "character": 4}, "end": {"line": 0, "character": 5}}}, "definition")
        client.tell("textDocument/didClose", {"textDocument": {"uri": raw}})
        answer = client.answer(client.post("textDocument/documentSymbol", {"textDocument": {"uri": whole}}))
        check("error" in answer, "closed by another spelling")


def statuses(pxl):
    client = Client(pxl)
    check(client.close() == 0, "after shutdown")
    client = Client(pxl)
    client.tell("exit", None)
    check(client.process.wait(60) == 1, "without shutdown")
    client = Client(pxl)
    client.process.stdin.close()
    check(client.process.wait(60) == 1, "at the end of the input")
    # The client ends, and another process has kept the input open.
    editor = subprocess.Popen(["sleep", "60"])
    client = Client(pxl, process=editor.pid)
    client.open("n = 0\nwhile true { n = n + 1 }\n")
    check(client.process.poll() is None, "the client runs")
    editor.kill()
    check(client.process.wait(60) == 1, "after the client's end")
    editor.wait()
    server = subprocess.Popen([str(pxl), "lsp"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": editor.pid, "capabilities": {}}}).encode()
    server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    server.stdin.flush()
    check(server.wait(60) == 1, "the client has ended before")
    client = Client(pxl, encodings=("utf-8", "utf-16"))
    check(client.capabilities["positionEncoding"] == "utf-8", "bytes, where the client can")
    client.close()


def outcome(test, *arguments):
    try:
        test(*arguments)
    except (AssertionError, queue.Empty, KeyError, TypeError) as why:
        return f"{type(why).__name__}: {why}"


def neovim_tests(pxl, add, skip):
    if shutil.which("nvim") is None:
        skip("lsp: neovim", "no nvim (package neovim)")
    else:
        add("lsp: neovim", lambda: outcome(neovim, pxl))


def lsp_tests(pxl, add):
    for case in (navigation, outer_names, renaming, hovering, completing, diagnostics, corrections, formatting, hints, across_files, imports, spellings, open_buffers, large_folder, protocol, endless):
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
    for case in (pulling, folders, statuses, bounded, ill_typed, new_names, random_names, two_buffers, fuzz):
        add(f"lsp: {case.__name__}", lambda: outcome(case, pxl))
