#!/usr/bin/env python3
"""Two files import one another's names. They are opened, edited, saved, closed and written by others, in random order and
under five spellings of their URIs. After each series the language server must answer as a server that opens the same texts
for the first time: diagnostics, hover, definition, references, new names, completion.

usage: buffers.py [--pxl FILE] [--seconds N] [--seed S]

Series number I of a seed is always the same. A failure prints the texts and both answers.
"""
import pathlib
import random
import re
import sys
import tempfile
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.editors.lsp_client import Client, check
from tests.fuzz.edits import position
from tests.fuzz.frame import batches, options

FOLDER = "né (1) 'a+b'@!,;=:&$*"
FILES = ["part.pxl", "main.pxl"]
STEPS = 10  # a series
QUESTIONS = 5  # about words of each document
WORD = re.compile(r"\b[a-z]\w*\b")
NEW = "fresh_name"

SPELLINGS = [
    lambda path: path.as_uri(),
    lambda path: "file://" + urllib.parse.quote(str(path), safe="/()'+@!,;=:&$*"),  # Neovim's
    lambda path: re.sub("%..", lambda m: m.group().lower(), path.as_uri()),
    lambda path: "FILE://localhost" + str(path).replace(" ", "%20"),
    lambda path: "file:" + "".join(c if c == "/" else "".join(f"%{b:02X}" for b in c.encode()) for c in str(path.parent)) + "/./" + path.name]


def text_of(name, chance):
    """A text of a file; names agree with those of the other file by chance."""
    f, v, p, n = chance.choice("fffg"), chance.choice("vvvu"), chance.choice("pppq"), chance.randrange(1, 4)
    top = "# é\n" * chance.randrange(3)
    if name == "part.pxl":
        return top + f"def {f}(x, {p} = {n}) {{ return x * {p} }}\n{v} = ones([{n}])\nmodule M {{\n  k = {n}\n  build(x) {{ return x * k }}\n}}\n"
    return top + f"import part\nfrom part import {f}, {v} as w\na = part.{f}(w, {p} = 2)\nb = {f}(3)\nc = part.M().k\n"


def edited(text, chance):
    """One change of the protocol, and the text after it."""
    kind = chance.randrange(4)
    if kind == 0:
        return {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "# new\n"}, "# new\n" + text
    found = list(WORD.finditer(text)) if kind < 3 else []
    if not found:
        return {"text": text + "\nz = 1\n"}, text + "\nz = 1\n"
    m = chance.choice(found)
    new = chance.choice([m.group(), m.group(), "f", "v", "p", "(", "3"])
    change = {"range": {"start": position(text, m.start()), "end": position(text, m.end())}, "text": new}
    return change, text[:m.start()] + new + text[m.end():]


def by_path(value):
    """An answer with paths in place of URIs."""
    if isinstance(value, dict):
        return {by_path(k): by_path(v) for k, v in value.items()}
    if isinstance(value, list):
        return [by_path(v) for v in value]
    if isinstance(value, str) and value.lower().startswith("file:"):
        return str(pathlib.Path(urllib.parse.unquote(re.sub("^(?i:file):(//[^/]*)?", "", value))))
    return value


class Series:
    def __init__(self, pxl, folder, chance):
        self.client, self.folder, self.chance = Client(pxl, textDocument={"diagnostic": {}}), folder, chance
        self.open = {}  # file: (the URI that opened it, text)
        self.disk = {name: text_of(name, chance) for name in FILES}
        self.version = 0
        for name in FILES:
            self.write(name)

    def write(self, name):
        (self.folder / name).write_text(self.disk[name])

    def uri(self, name):
        return self.chance.choice(SPELLINGS)(self.folder / name)

    def step(self):
        name = self.chance.choice(FILES)
        action = self.chance.choice(["edit", "edit", "edit", "save", "close", "written"])
        self.version += 1
        document = {"uri": self.uri(name), "version": self.version}
        if name not in self.open:
            if action == "written":
                self.disk[name] = text_of(name, self.chance)
                self.write(name)
                return self.client.tell("workspace/didChangeWatchedFiles", {"changes": [{"uri": document["uri"], "type": 2}]})
            self.open[name] = (document["uri"], self.disk[name])
            return self.client.tell("textDocument/didOpen", {"textDocument": {**document, "languageId": "pxl", "text": self.disk[name]}})
        opened, text = self.open[name]
        if action == "edit":
            change, text = edited(text, self.chance)
            self.open[name] = (opened, text)
            self.client.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [change]})
        elif action == "save":
            self.disk[name] = text
            self.write(name)
            self.client.tell("textDocument/didSave", {"textDocument": document})
        elif action == "close":
            del self.open[name]
            self.client.tell("textDocument/didClose", {"textDocument": document})

    def questions(self, broken):
        """A text with errors of syntax is answered from the last text without, which the other server does not know."""
        out = []
        for name, (_, text) in self.open.items():
            if name in broken:
                continue
            words = list(WORD.finditer(text))
            for m in self.chance.sample(words, min(QUESTIONS, len(words))):
                placed = {"position": position(text, m.start())}
                out += [(name, "hover", placed), (name, "definition", placed), (name, "rename", {**placed, "newName": NEW}),
                        (name, "references", {**placed, "context": {"includeDeclaration": True}}),
                        (name, "completion", {"position": position(text, m.end())})]
        return out

    def answer(self, client, uri, method, params):
        answer = client.answer(client.post("textDocument/" + method, {"textDocument": {"uri": uri}, **params}), 60)
        if method == "diagnostic":
            return answer["result"]["items"]
        return answer.get("result", answer.get("error"))

    def compare(self, anew):
        """`anew` is a server that opens the texts for the first time."""
        for name, (_, text) in self.open.items():
            anew.tell("textDocument/didOpen", {"textDocument": {"uri": SPELLINGS[0](self.folder / name), "version": 1, "text": text}})
        broken = {name for name in self.open if self.answer(anew, SPELLINGS[0](self.folder / name), "documentSymbol", {}) == []}
        for name, method, params in [(name, "diagnostic", {}) for name in self.open] + self.questions(broken):
            got = self.answer(self.client, self.uri(name), method, params)
            wanted = self.answer(anew, SPELLINGS[0](self.folder / name), method, params)
            check(by_path(got) == by_path(wanted), f"{name}: {method} {params}\nafter the series: {got}\nopened anew: {wanted}\nopen: {self.open}\ndisk: {self.disk}")
            if method == "rename" and "changes" in (got or {}):
                spelled = {self.open[f][0] for f in FILES if f in self.open} | {SPELLINGS[0](self.folder / f) for f in FILES if f not in self.open}
                check(set(got["changes"]) <= spelled, "spellings of a new name", got, spelled)


def campaign(pxl, seconds, seed):
    """The number of series; raises AssertionError at the first failure."""
    for number, in batches(seconds):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place).resolve() / FOLDER
            folder.mkdir()
            series = Series(pxl, folder, random.Random(f"{seed}/{number}"))
            anew = Client(pxl, textDocument={"diagnostic": {}})
            try:
                for _ in range(STEPS):
                    series.step()
                series.compare(anew)
                for client in (series.client, anew):
                    check(client.close() == 0, "a server did not end with 0")
            except AssertionError as failure:
                raise AssertionError(f"series {number} of seed {seed}: {failure}") from None
            finally:
                series.client.process.kill()
                anew.process.kill()
    return number + 1


if __name__ == "__main__":
    given = options(__doc__)
    print(f"{campaign(given.pxl, given.seconds, given.seed)} series of {STEPS} steps, seed {given.seed}, 0 failures")
