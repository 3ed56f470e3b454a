#!/usr/bin/env python3
"""Random names of the project's programs get new names by the language server: it refuses, or the renamed program ends as the
program did. Programs are run in a folder of their own, with the files that they import.

usage: renames.py [--pxl FILE] [--seconds N] [--seed S] [--all FILE]

Number I of a seed is always the same renaming. --all FILE renames every name of a program in turn.
"""
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.editors.lsp_client import Client, check
from tests.fuzz.edits import position
from tests.fuzz.frame import ROOT, batches, options
from tests.support.harness import own_folder

FOLDERS = ["tests/lang", "tests/golden", "tests/repeat"]
WORD = re.compile(r"\b[A-Za-z_]\w*\b")
NEW = "renamed"
LIMIT = 20  # seconds of a run


def applied(text, edits):
    """The text after the edits of a response."""
    lines = text.split("\n")
    for e in sorted(edits, key=lambda e: (e["range"]["start"]["line"], e["range"]["start"]["character"]), reverse=True):
        start, end = e["range"]["start"], e["range"]["end"]
        check(start["line"] == end["line"], "an edit of several lines", e)
        line = lines[start["line"]].encode("utf-16-le")
        lines[start["line"]] = (line[:2 * start["character"]] + e["newText"].encode("utf-16-le") + line[2 * end["character"]:]).decode("utf-16-le")
    return "\n".join(lines)


def status(pxl, path):
    try:
        done = subprocess.run([str(pxl), path.name], cwd=path.parent, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT)
        return done.returncode, done.stderr.decode(errors="replace")[-600:]
    except subprocess.TimeoutExpired:
        return None, ""


class Programs:
    """Programs that run without an error, with the files beside them."""

    def __init__(self, pxl):
        self.pxl, self.known = pxl, {}
        files = [p for f in FOLDERS for p in sorted((ROOT / f).rglob("*.pxl")) if p.stat().st_size < 8000]
        self.paths = [p for p in files if "# args" not in (text := p.read_text(errors="replace")) and "# expect error" not in text and "# exit" not in text
                      and "\r" not in text and "expect_error" not in text]

    def runs(self, path):
        if path not in self.known:
            began = time.monotonic()
            with own_folder(path) as folder:
                self.known[path] = status(self.pxl, pathlib.Path(folder, path.name))[0] == 0 and time.monotonic() - began < 3
        return self.known[path]


def one(client, programs, path, offset):
    """Whether the name at an offset of a program was renamed; raises AssertionError if the program ends otherwise then."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(path.parent, copy, ignore=shutil.ignore_patterns("*.out"))
        text = path.read_text()
        uri = (copy / path.name).as_uri()
        client.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "pxl", "version": 1, "text": text}})
        answer = client.answer(client.post("textDocument/rename", {"textDocument": {"uri": uri}, "position": position(text, offset), "newName": NEW}), 60)
        client.tell("textDocument/didClose", {"textDocument": {"uri": uri}})
        if "error" in answer:
            check(answer["error"]["code"] == -32803 and answer["error"]["message"], path, offset, answer)
            return False
        for file in copy.rglob("*.pxl"):
            if edits := answer["result"]["changes"].get(file.as_uri()):
                file.write_text(applied(file.read_text(), edits))
        got, said = status(programs.pxl, copy / path.name)
        word = WORD.match(text, offset).group()
        check(got == 0, f"{path}: `{word}` at {offset}, line {text[:offset].count(chr(10)) + 1}: status {got}\n{said}")
        return True


def campaign(pxl, seconds, seed):
    """The numbers of renamings and refusals; raises AssertionError at the first program that ends otherwise."""
    programs, client = Programs(pxl), Client(pxl)
    done = refused = 0
    try:
        for number, in batches(seconds):
            chance = random.Random(f"{seed}/{number}")
            path = chance.choice(programs.paths)
            words = [m.start() for m in WORD.finditer(path.read_text())]
            if not words or not programs.runs(path):
                continue
            if one(client, programs, path, chance.choice(words)):
                done += 1
            else:
                refused += 1
            client.log.clear()
        check(client.close() == 0, "the server did not end with 0")
    finally:
        client.process.kill()
    return done, refused


if __name__ == "__main__":
    given = options(__doc__, more={"--all": {"type": pathlib.Path}})
    if given.all:
        client, programs = Client(given.pxl), Programs(given.pxl)
        for m in WORD.finditer(given.all.read_text()):
            print(m.group(), one(client, programs, given.all.resolve(), m.start()))
    else:
        done, refused = campaign(given.pxl, given.seconds, given.seed)
        print(f"{done} renamings, {refused} refused, seed {given.seed}, 0 failures")
