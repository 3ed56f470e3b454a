#!/usr/bin/env python3
"""Random edits of open documents. After each series the language server must report what it reports for the same text
opened anew. It must answer every question, and end on request.

usage: edits.py [--pxl FILE] [--seconds N] [--seed S]

Series number I of a seed always makes the same edits. A failure prints the text and both answers.
"""
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.editors import lsp_client
from tests.fuzz.frame import ROOT, batches, options

FOLDERS = ["examples", "stdlib", "tests/lang", "tests/golden", "tests/fmt"]
POSITIONAL = ["hover", "completion", "definition", "signatureHelp", "references", "documentHighlight", "prepareRename"]
WHOLE = ["documentSymbol", "semanticTokens/full", "foldingRange", "formatting"]
PIECES = ["(", ")", "[", "]", "{", "}", "\n", "\n\n", " ", "\"", "f\"{", "#", "=", ",", ".", "x", "1", "import nn\n", "module M {\n",
          "program p {\n", "stream out y = 1\n", "if true {\n", "for i in range(3) {\n", "é", "\U0001F600", "\t", "\r\n", "nonlocal x\n",
          "variable w: float32[3] = 0\n", "2 ** 62", "\"\"\"", "\\", "@", "=> ", "\0"]
EDITS = 12  # a series


def units(text):
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def position(text, offset):
    """Line and UTF-16 column; "\\r\\n", "\\n" and "\\r" end lines, as the protocol says."""
    before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
    if text[:offset].endswith("\r") and text[offset:offset + 1] == "\n":
        return position(text, offset + 1)
    return {"line": before.count("\n"), "character": units(before.split("\n")[-1])}


def snapped(text, offset):
    """Not between "\\r" and "\\n", which is no position."""
    return offset + 1 if text[:offset].endswith("\r") and text[offset:offset + 1] == "\n" else offset


def edited(text, chance, corpus):
    begin = snapped(text, chance.randrange(len(text) + 1))
    end = begin
    if chance.random() < 0.5:
        end = snapped(text, min(len(text), begin + chance.choice([1, 1, 2, 5, 20, 200])))
    if chance.random() < 0.15:
        other = chance.choice(corpus)
        start = chance.randrange(len(other) + 1)
        piece = other[start:start + chance.choice([3, 30, 300])]
    else:
        piece = "" if end > begin and chance.random() < 0.5 else "".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 4)))
    return {"range": {"start": position(text, begin), "end": position(text, end)}, "text": piece}, text[:begin] + piece + text[end:]


def told(client, uri):
    message = client.until(lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri, 120)
    return message["params"]


def latest(client, uri, version):
    """The diagnostics of a version: those of earlier ones may come before them."""
    while True:
        params = told(client, uri)
        if params.get("version", version) >= version:
            return params["diagnostics"]


def without_place(diagnostics, uri):
    """Notes may name the document."""
    return str(diagnostics).replace(uri, "URI")


def series(client, number, seed, corpus):
    chance = random.Random(f"{seed}/{number}")
    text = chance.choice(corpus)
    uri, again = f"file:///nowhere/edits-{number}.pxl", f"file:///nowhere/again-{number}.pxl"
    client.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "pxl", "version": 1, "text": text}})
    version = 1
    for _ in range(EDITS):
        changes = []
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            change, text = edited(text, chance, corpus)
            changes.append(change)
        version += 1
        client.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": changes})
        if chance.random() < 0.5:
            at = position(text, chance.randrange(len(text) + 1))
            method = chance.choice(POSITIONAL + WHOLE)
            params = {"textDocument": {"uri": uri}}
            if method in POSITIONAL:
                params["position"] = at
            if method == "references":
                params["context"] = {"includeDeclaration": True}
            if method == "formatting":
                params["options"] = {"tabSize": 2, "insertSpaces": True}
            answer = client.answer(client.post("textDocument/" + method, params), 120)
            # A refusal is an answer; an internal error is none.
            if answer.get("error", {}).get("code") == -32603:
                raise AssertionError(f"{method}: {answer['error']}\n{text}")
    client.tell("textDocument/didOpen", {"textDocument": {"uri": again, "languageId": "pxl", "version": 1, "text": text}})
    fresh = without_place(latest(client, again, 1), again)
    client.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": version + 1}, "contentChanges": []})
    pulled = client.answer(client.post("textDocument/diagnostic", {"textDocument": {"uri": uri}}), 120)
    incremental = without_place(pulled["result"]["items"], uri)
    for document in (uri, again):
        client.tell("textDocument/didClose", {"textDocument": {"uri": document}})
    if fresh != incremental:
        raise AssertionError(f"series {number} of seed {seed}\nopened anew: {fresh}\nafter edits: {incremental}\n{text}")


def campaign(pxl, seconds, seed):
    """The number of series; raises AssertionError at the first failure."""
    corpus = [t for f in FOLDERS for p in sorted((ROOT / f).rglob("*.pxl")) if 0 < len(t := p.read_bytes().decode(errors="replace")) < 6000]
    client = lsp_client.Client(pxl)
    try:
        for number, in batches(seconds):
            series(client, number, seed, corpus)
            client.log.clear()
        lsp_client.check(client.close() == 0, "the server did not end with 0")
    finally:
        client.process.kill()
    return number + 1


if __name__ == "__main__":
    given = options(__doc__)
    print(f"{campaign(given.pxl, given.seconds, given.seed)} series of {EDITS} edits, seed {given.seed}, 0 failures")
