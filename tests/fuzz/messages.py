#!/usr/bin/env python3
"""Messages to the language server with members that are missing or of another type. The server answers each message, or
refuses it with the member's name, and its open document remains as it was.

usage: messages.py [--pxl FILE] [--seconds N] [--seed S]
"""
import copy
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.editors.lsp_client import Client, check
from tests.fuzz.frame import batches, options

URI = "file:///nowhere/message.pxl"
TEXT = "def twice(value) { return 2 * value }\nx = twice(value = 3)\n"
DOCUMENT = {"uri": URI}
PLACE = {"line": 1, "character": 5}
RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 1}}
PLACED = {"textDocument": DOCUMENT, "position": PLACE}
OPEN = ("textDocument/didOpen", {"textDocument": {**DOCUMENT, "languageId": "pxl", "version": 1, "text": TEXT}})
CLOSE = ("textDocument/didClose", {"textDocument": DOCUMENT})
NOTIFICATIONS = [
    OPEN, CLOSE, ("textDocument/didSave", {"textDocument": DOCUMENT}),
    ("textDocument/didChange", {"textDocument": {**DOCUMENT, "version": 2}, "contentChanges": [{"range": RANGE, "text": "y = 1\n"}]}),
    ("textDocument/didChange", {"textDocument": {**DOCUMENT, "version": 2}, "contentChanges": [{"text": TEXT}, {"range": RANGE, "text": ""}]}),
    ("workspace/didChangeWatchedFiles", {"changes": [{"uri": URI, "type": 2}]}), ("$/cancelRequest", {"id": 1}), ("initialized", {}),
    ("workspace/didChangeWorkspaceFolders", {"event": {"added": [{"uri": "file:///nowhere", "name": "n"}], "removed": []}})]
REQUESTS = [("textDocument/" + method, PLACED) for method in ("hover", "definition", "completion", "signatureHelp", "documentHighlight", "prepareRename")] + [
    ("textDocument/references", {**PLACED, "context": {"includeDeclaration": True}}), ("textDocument/rename", {**PLACED, "newName": "double"}),
    *(("textDocument/" + method, {"textDocument": DOCUMENT}) for method in ("documentSymbol", "foldingRange", "semanticTokens/full")),
    ("textDocument/formatting", {"textDocument": DOCUMENT, "options": {"tabSize": 2}}), ("textDocument/inlayHint", {"textDocument": DOCUMENT, "range": RANGE}),
    ("textDocument/diagnostic", {"textDocument": DOCUMENT, "previousResultId": "1"}), ("workspace/symbol", {"query": "x"}),
    ("textDocument/codeAction", {"textDocument": DOCUMENT, "range": RANGE,
                                 "context": {"diagnostics": [{"range": RANGE, "code": "unknown-name", "message": "unknown name `x`"}]}}),
    ("initialize", {"processId": None, "rootUri": URI, "workspaceFolders": [{"uri": URI}],
                    "capabilities": {"general": {"positionEncodings": ["utf-16"]}, "workspace": {"inlayHint": {"refreshSupport": True}}}})]
DEEP = []
for _ in range(200):
    DEEP = [DEEP]
WRONG = [None, True, "1", "", -1, 1.5, 3.0, 2 ** 31, 2 ** 63, -2 ** 63, 1e300, [], {}, [[]], {"line": 1}, {"uri": URI}, DEEP, "file:///%00", "\0", "\ud800"]
MISSING = object()


def members(value, path=()):
    """The paths to all members and elements."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from members(one, (*path, key))


def spoiled(params, path, value):
    out = copy.deepcopy(params)
    if not path:
        return value
    at = out
    for key in path[:-1]:
        at = at[key]
    if value is MISSING:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return out


def answered(client, method, params):
    """Asks; a message whose JSON is refused has an answer without its id."""
    number = client.post(method, params)
    answer = client.until(lambda m: m.get("id") == number or "error" in m and m.get("id") is None, 60)
    check(answer.get("error", {}).get("code") != -32603, method, params, answer)


def one(client, chance, request):
    method, params = chance.choice(REQUESTS if request else NOTIFICATIONS)
    for _ in range(chance.choice([1, 1, 1, 2])):
        paths = [(), *members(params)] if isinstance(params, (dict, list)) else [()]
        params = spoiled(params, chance.choice(paths[1:] if len(paths) > 1 and chance.random() < 0.95 else [()]), chance.choice(WRONG))
    answered(client, method, params) if request else client.tell(method, params)


def every(client):
    """Each member of each message in turn, missing and of each wrong type. The number of messages."""
    count = 0
    for method, params in NOTIFICATIONS + REQUESTS:
        for path in [(), *members(params)]:
            for value in [MISSING, *WRONG] if path else WRONG:
                message = spoiled(params, path, value)
                for first in (OPEN, CLOSE):
                    client.tell(*first)
                    client.tell(method, message) if (method, params) in NOTIFICATIONS else answered(client, method, message)
                    count += 1
                answered(client, "textDocument/hover", PLACED)
    return count


def campaign(pxl, seconds, seed):
    """The number of messages; raises AssertionError at the first failure."""
    client = Client(pxl, textDocument={"diagnostic": {}})
    chance = random.Random(seed)
    try:
        count = every(client)
        for _ in batches(seconds):
            client.tell(*chance.choice([OPEN, CLOSE]))
            for _ in range(4):
                one(client, chance, request=False)
            one(client, chance, request=True)
            client.log.clear()
            count += 6
        # The document is what the last message makes it.
        client.tell(*OPEN)
        names = [s["name"] for s in client.ask("textDocument/documentSymbol", {"textDocument": DOCUMENT})]
        check(names == ["twice", "x"], "symbols after all messages", names)
        check(client.close() == 0, "the server did not end with 0")
    finally:
        client.process.kill()
    return count


if __name__ == "__main__":
    given = options(__doc__)
    print(f"{campaign(given.pxl, given.seconds, given.seed)} messages, seed {given.seed}, 0 failures")
