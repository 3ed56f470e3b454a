"""A REPL in a terminal (python3-pexpect), for the tests that press keys and read what appears."""
import os
import re
import subprocess
import time

try:
    import pexpect
except ImportError:
    pexpect = None

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
PROMPT, MORE = "pxl> ", r"\.\.\.> "

PROGRAM = """program train {
  stream in x: float32[2]
  variable w: float32[2] = 0
  with in_sequence() {
    scaled_add_(w, host_load(x), b = 1.0)
    stream out y = w + 0
  }
}
session = Session(train())
"""


def editor_of(pxl):
    """What edits lines: "readline" or "libedit"."""
    return subprocess.run([str(pxl), "--version"], capture_output=True, text=True, timeout=20).stdout.split("line editor: ")[1].split()[0]


class Terminal:
    """A REPL in a terminal, in a home folder of its own."""

    def __init__(self, pxl, home, *arguments, columns=80, env=None, prompt=PROMPT):
        environment = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "TERM": "xterm", "NO_COLOR": "1",
                       "LANG": "C.UTF-8", "PXL_DATA": "built-in", "PXL_ENGINE": os.environ.get("PXL_ENGINE"), "PXL_SEED": os.environ.get("PXL_SEED"),
                       **(env or {})}
        self.started = time.time()
        self.child = pexpect.spawn(str(pxl), list(arguments), env={k: v for k, v in environment.items() if v is not None},
                                   encoding="utf-8", timeout=10, dimensions=(24, columns), cwd=str(home))
        self.child.delaybeforesend = None
        self.prompt = prompt
        self.banner = self.wait(prompt)

    def wait(self, pattern):
        """What appeared before the pattern, without escapes."""
        self.child.expect(pattern)
        return ESCAPES.sub("", self.child.before).replace("\r", "")

    def send(self, keys):
        self.child.send(keys)

    def enter(self, line, until=None):
        """What the REPL says to one line."""
        self.child.send(line + "\r")
        shown = self.wait(until or self.prompt)
        # The terminal's echo of the keys comes first.
        return shown.split("\n", 1)[1] if "\n" in shown else shown

    def paste(self, text):
        self.child.send("\x1b[200~" + text + "\x1b[201~\r")
        return self.wait(self.prompt)

    def completed(self, keys, until):
        self.child.send(keys + "\t")
        self.wait(until)
        self.child.sendintr()
        self.wait(self.prompt)

    def listed(self, keys):
        """The list that two tabs show."""
        self.child.send(keys + "\t\t")
        self.wait(re.escape(keys[-3:]))
        shown = self.wait(re.escape(self.prompt))
        self.child.sendintr()
        self.wait(re.escape("^C"))
        self.wait(self.prompt)
        return shown

    def processor_seconds(self):
        """What the REPL has used of the processor: a limit on it holds on a busy machine, too."""
        fields = open(f"/proc/{self.child.pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def leave(self):
        self.child.sendeof()
        self.child.expect(pexpect.EOF)
        self.child.close()
        return self.child.exitstatus


def same(got, wanted, what=""):
    if got.strip() != wanted.strip():
        raise AssertionError(f"{what}\nexpected\n{wanted}\ngot\n{got}")


def contains(text, *parts):
    for part in parts:
        if part not in text:
            raise AssertionError(f"no `{part}` in\n{text}")


def lacks(text, part):
    if part in text:
        raise AssertionError(f"`{part}` in\n{text}")
