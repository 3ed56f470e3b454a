"""A REPL in a terminal (python3-pexpect), for the tests that press keys and read what appears."""
import os
import re
import subprocess
import time
import unicodedata

try:
    import pexpect
except ImportError:
    pexpect = None

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[78]")
NUMBER = re.compile(r"\[\d+\] $")  # the beginning of a prompt
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


STEPS = re.compile(r"\x1b\[([\d;?]*)([a-zA-Z@])|\x1b([78=>])|\x1b[()][A-Z0-9]|(\r|\n|\x08|\x07|\t)|([^\x1b\r\n\x08\x07\t])")


class Screen:
    """The screen of a terminal for the bytes that it receives: rows of (character, style); a style is the codes of SGR that are on. A
    wide character takes two cells, of which the second one is empty."""

    def __init__(self, columns=80):
        self.columns, self.rows, self.row, self.column, self.style, self.saved = columns, [[]], 0, 0, (), (0, 0)

    def feed(self, text):
        for numbers, command, simple, control, character in STEPS.findall(text):
            if character:
                self.put(character)
            elif control == "\r":
                self.column = 0
            elif control == "\n":
                self.row += 1
            elif control == "\x08":
                self.column = max(0, min(self.column, self.columns) - 1)
            elif simple == "7":
                self.saved = (self.row, self.column)
            elif simple == "8":
                self.row, self.column = self.saved
            elif command:
                self.move(command, [int(n) for n in numbers.strip("?").split(";") if n])
            self.rows += [[] for _ in range(self.row + 1 - len(self.rows))]
        return self

    def put(self, character):
        if self.column >= self.columns:
            self.row, self.column = self.row + 1, 0
            self.rows += [[] for _ in range(self.row + 1 - len(self.rows))]
        line, width = self.rows[self.row], 2 if unicodedata.east_asian_width(character) in "WF" else 1
        line += [(" ", ())] * (self.column + width - len(line))
        line[self.column:self.column + width] = [(character, self.style), ("", self.style)][:width]
        self.column += width

    def move(self, command, numbers):
        n, line = (numbers or [1])[0], self.rows[self.row]
        if command == "m":
            for code in numbers or [0]:
                self.style = () if code == 0 else self.style + (code,)
        elif command == "A":
            self.row = max(0, self.row - n)
        elif command == "B":
            self.row += n
        elif command == "C":
            self.column = min(self.columns - 1, self.column + n)
        elif command == "D":
            self.column = max(0, min(self.column, self.columns) - n)
        elif command == "K":
            del line[self.column:]
        elif command == "J":
            del line[self.column:], self.rows[self.row + 1:]
        elif command == "P":
            del line[self.column:self.column + n]
        elif command == "@":
            line[self.column:self.column] = [(" ", ())] * n

    def text(self):
        return ["".join(c for c, _ in row).rstrip() for row in self.rows]


def editor_of(pxl):
    """The line editor: "readline" or "libedit"."""
    return subprocess.run([str(pxl), "--version"], capture_output=True, text=True, timeout=120).stdout.split("line editor: ")[1].split()[0]


class Terminal:
    """A REPL in a terminal, in a home folder of its own."""

    def __init__(self, pxl, home, *arguments, columns=80, env=None, prompt=PROMPT):
        environment = {"HOME": str(home), "PATH": os.environ.get("PATH", ""), "TERM": "xterm", "NO_COLOR": "1",
                       "LANG": "C.UTF-8", "PAGER": "cat", "PXL_DATA": "built-in", "PXL_ENGINE": os.environ.get("PXL_ENGINE"), "PXL_SEED": os.environ.get("PXL_SEED"),
                       **(env or {})}
        self.started = time.time()
        self.child = pexpect.spawn(str(pxl), list(arguments), env={k: v for k, v in environment.items() if v is not None},
                                   encoding="utf-8", timeout=60, dimensions=(24, columns), cwd=str(home))
        self.child.delaybeforesend = None
        self.prompt = prompt
        self.banner = self.wait(prompt)

    def wait(self, pattern):
        """The text before the pattern, without escapes and the number of a prompt."""
        self.child.expect(pattern)
        return NUMBER.sub("", ESCAPES.sub("", self.child.before).replace("\r", ""))

    def send(self, keys):
        self.child.send(keys)

    def enter(self, line, until=None):
        """The REPL's answer to one line."""
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
        """The REPL's CPU seconds: a limit on them holds on a busy machine, too."""
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
