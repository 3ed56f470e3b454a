"""A client of the language server, as an editor has one."""
import json
import os
import pathlib
import queue
import subprocess
import threading
import time


class Client:
    def __init__(self, pxl, encodings=("utf-16",), folders=None, process=None, **capabilities):
        self.process = subprocess.Popen([str(pxl), "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.messages = queue.Queue()
        self.number, self.log = 0, []
        threading.Thread(target=self.read, daemon=True).start()
        self.capabilities = self.ask("initialize", {
            "processId": process, "rootUri": None, **({} if folders is None else {"workspaceFolders": folders}),
            "capabilities": {"general": {"positionEncodings": list(encodings)}, **capabilities}})["capabilities"]
        self.tell("initialized", {})

    def processor_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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
            self.log.append(json.loads(out.read(length)))
            self.messages.put(self.log[-1])

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

    def until(self, wanted, seconds=120):
        end = time.monotonic() + seconds
        while True:
            message = self.messages.get(timeout=max(0.01, end - time.monotonic()))
            if message is None:
                raise AssertionError("the server ended: " + self.process.stderr.read().decode()[-2000:])
            if wanted(message):
                return message

    def answer(self, number, seconds=120):
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
        """The position of a text's nth occurrence, in UTF-16 units."""
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
        return self.process.wait(60)


def check(condition, *what):
    if not condition:
        raise AssertionError(" ".join(str(w) for w in what))
