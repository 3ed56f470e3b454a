"""The REPL in the windows of a real terminal (tmux): what is on the screen, with which colours, after keys, output, resizing and
stops."""
import itertools
import os
import re
import shutil
import subprocess
import time

from tests.repl.terminal import contains, editor_of

PATIENCE = 20  # seconds, on a busy machine
ROW = "xs = [" + ", ".join(str(n) for n in range(1000, 1030)) + "]"


NUMBERS = itertools.count()


class Window:
    """A command in a window of tmux, with a server of its own."""

    def __init__(self, home, command, columns=80, rows=24, env=None):
        self.socket = str(home / f"tmux{next(NUMBERS)}")
        settings = {"TERM": "tmux-256color", "LANG": "C.UTF-8", "HOME": str(home), "PXL_DATA": "built-in", "PAGER": "cat", **(env or {})}
        words = [f"{name}={value}" for name, value in settings.items() if value is not None]
        (home / ".tmux.conf").write_text("set -g default-terminal tmux-256color\nset -g status off\nset -s escape-time 0\n")
        self.tmux("-f", str(home / ".tmux.conf"), "new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", str(home),
                  "env", "-u", "NO_COLOR", *words, *command)

    def tmux(self, *words):
        return subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, timeout=PATIENCE, check=True,
                              env={**os.environ, "LANG": "C.UTF-8", "TERM": "xterm-256color"}).stdout

    def send(self, keys):
        self.tmux("send-keys", "-l", keys)

    def press(self, *names):
        self.tmux("send-keys", *names)

    def resize(self, columns):
        self.tmux("resize-window", "-x", str(columns))

    def screen(self, colours=False, history=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []), *(["-S", "-"] if history else [])).rstrip("\n")

    def wait(self, wanted, what=""):
        """The screen, once `wanted` holds of it."""
        end = time.time() + PATIENCE
        while True:
            shown = self.screen()
            if wanted(shown):
                return shown
            if time.time() > end:
                raise AssertionError(f"{what} never came:\n{shown}")
            time.sleep(0.05)

    def wait_for(self, text):
        return self.wait(lambda shown: text in shown, f"`{text}`")

    def settled(self):
        """The screen, once it has not changed for 0.3 s."""
        before = None
        for _ in range(int(PATIENCE / 0.3)):
            shown = self.screen(), self.screen(colours=True), self.tmux("display-message", "-p", "#{cursor_x} #{cursor_y}")
            if shown == before:
                return shown
            before = shown
            time.sleep(0.3)
        raise AssertionError("the screen never settles")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=PATIENCE)


def repl(pxl, home, **options):
    window = Window(home, [str(pxl), "repl", "--no-init"], **options)
    window.wait_for("pxl>")
    return window


def prompts_begin_in_column_0(pxl, home):
    with repl(pxl, home) as w:
        w.send('print("abc", end = "")\n')
        w.wait_for("[2] pxl>")
        assert "abc\n[2] pxl>" in w.screen(), w.screen()
        w.send("x = 1 if true")
        w.wait_for("x = 1 if true")
        assert "\n[2] pxl> x = 1 if true" in w.screen(), w.screen()
        # Keys that arrive while the program runs are drawn once, after the prompt.
        w.press("C-u")
        w.send('def f() { print("be" + "gun")\nwhile not exists("go") { } }\nf()\n')
        w.wait_for("begun")
        w.send("40 + 2")
        w.wait_for("40 + 2")
        (home / "go").write_text("")
        w.wait(lambda shown: re.search(r"\n\[\d\] pxl> 40 \+ 2$", shown), "the typed keys after the prompt")
        w.press("Enter")
        w.wait_for("\n42")


def colours_keep_the_text_in_its_place(pxl, home):
    """The screen with colours has the characters and the cursor of the screen without, for each setting of the line editor."""
    if editor_of(pxl) != "readline":
        return
    keys = ["x = 1 if true else none", "\x15" + ROW, "\x01", "\x06" * 30 + "7, ", "\x05, \u03b1"]
    for inputrc, env in (("", {}), ("set horizontal-scroll-mode on\n", {}), ("set show-mode-in-prompt on\n", {}),
                         ("set editing-mode vi\nset show-mode-in-prompt on\n", {}), ("", {"TERM": "unknown-terminal"}),
                         ("", {"LC_ALL": "C", "LANG": "C"})):
        (home / ".inputrc").write_text(inputrc)
        screens = []
        for no_color in ("1", None):
            with repl(pxl, home, env={"NO_COLOR": no_color, **env}) as w:
                w.send('print("abc", end = "")\n')
                w.wait_for("[2] pxl>")
                seen = []
                for k in keys:
                    w.send(k)
                    shown, _, cursor = w.settled()
                    seen.append((shown, cursor))
                screens.append(seen)
        for k, plain, coloured in zip(keys, *screens):
            assert plain == coloured, f"{inputrc!r} {env}, after {k!r}:\n{plain[0]}\n{plain[1]}with colours\n{coloured[0]}\n{coloured[1]}"


def resizing_keeps_one_copy(pxl, home):
    for no_color in ("1", None):
        with repl(pxl, home, env={"NO_COLOR": no_color}) as w:
            w.send('print("kept")\n')
            w.wait_for("[2] pxl>")
            for line in (ROW, "x = 5"):
                w.send(line)
                w.wait(lambda shown: line in shown.replace("\n", ""), line)
                for columns in (100, 60, 120, 80, 50):
                    w.resize(columns)
                    shown = w.settled()[0]
                    # A window that becomes narrower may scroll rows into its history.
                    whole = "".join(shown.split())
                    assert whole.count("pxl>" + line.replace(" ", "")) == 1 and whole.count("[2]pxl>") == 1, f"{columns} columns:\n{shown}"
                    history = w.screen(history=True).replace("\n", "")
                    assert history.count("kept") == 2, f"{columns} columns:\n{history}"
                w.press("C-u")


def stops_and_goes_on(pxl, home):
    for shell in ("dash", "bash --norc --noprofile"):
        with Window(home, ["env", "PS1=shell> ", "sh", "-c", f"exec {shell} -i"]) as w:
            w.wait_for("shell>")
            w.send(f"'{pxl}' repl --no-init\n")
            w.wait_for("pxl>")
            w.send("40 + 2")
            w.wait_for("40 + 2")
            w.press("C-z")
            w.wait(lambda shown: shown.endswith("shell>"), "the shell")
            w.send("stty -a | tr ' ' '\\n' | grep -E '^-?(icanon|echo|isig);?$' | tr '\\n' ' '\n")
            contains(w.wait_for("icanon"), "icanon")
            shown = w.settled()[0]
            assert "-icanon" not in shown and "-echo " not in shown, shown
            w.send("fg\n")
            w.wait(lambda shown: shown.endswith("pxl> 40 + 2"), "the line, after fg")
            w.press("Enter")
            w.wait_for("\n42")
            w.send("6 * 7\n")
            w.wait(lambda shown: shown.count("\n42") == 2, "a second answer")


WINDOW_CASES = [prompts_begin_in_column_0, colours_keep_the_text_in_its_place, resizing_keeps_one_copy, stops_and_goes_on]


def available():
    return shutil.which("tmux") is not None
