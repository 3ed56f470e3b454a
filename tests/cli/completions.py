"""Completion in three shells."""
import os
import pathlib
import re
import shutil
import subprocess

from tests.cli.case import LIMIT, case, differ, holds

SCRIPT = """## Rows of a batch: many.
option batch: int = 4
option shuffle: bool = true
option needed: str
"""


def environment(cli):
    return dict(os.environ, HOME=str(cli.folder), TERM="xterm", PATH=f"{pathlib.Path(cli.pxl).parent}:{os.environ['PATH']}")


def install(cli, shell):
    cli.write("net.pxl", SCRIPT), cli.write("notes.txt", "")
    cli.write("_pxl" if shell == "zsh" else f"pxl.{shell}", cli.run("completions", shell)[1])


WORDS = (  # what is typed, what is offered
    ("pxl sch", ["schedule"]),
    ("pxl fmt --ch", ["--check"]),
    ("pxl check n", ["net.pxl"]),
    ("pxl completions z", ["zsh"]),
    ("pxl help ma", ["man"]),
    ("pxl doc str.sp", ["str.split", "str.splitlines"]),
    ("pxl profile --machine m", ["mk1", "mk2"]),
    ("pxl run --engine ref", ["reference"]),
    ("pxl net.pxl --b", ["--batch"]),
    ("pxl run net.pxl --ne", ["--needed"]),
    ("pxl profile net.pxl --batch 3 --no-s", ["--no-shuffle"]),
    ("pxl none.pxl --b", []),
)


@case
def completion_in_bash(cli):
    install(cli, "bash")
    lines = "\n".join(f"try {typed}" for typed, _ in WORDS)
    script = ('source ./pxl.bash; try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _pxl; echo "${COMPREPLY[@]}"; }\n' + lines
              + "\ntry pxl --engine ref\ntry pxl --engine reference net.pxl --b")
    done = subprocess.run(["bash", "-c", script], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT, env=environment(cli))
    differ("standard error", done.stderr, "")
    offered = [line.split() for line in done.stdout.split("\n")[:-1]]
    differ("offers", [(typed, got) for (typed, _), got in zip(WORDS, offered)], [(typed, wanted) for typed, wanted in WORDS])
    differ("a flag's value before the file", offered[len(WORDS):], [["reference"], ["--batch"]])


@case
def completion_in_fish(cli):
    install(cli, "fish")
    if not shutil.which("fish"):
        return
    script = "source ./pxl.fish\n" + "\n".join(f"echo (complete -C '{typed}' | string replace -r '\\t.*' '' | string join ' ')" for typed, _ in WORDS)
    done = subprocess.run(["fish", "--no-config", "-c", script], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT,
                          env=environment(cli))
    differ("standard error", done.stderr, "")
    offered = [[word for word in line.split() if word != "notes.txt"] for line in done.stdout.split("\n")[:-1]]
    differ("offers", [(typed, got) for (typed, _), got in zip(WORDS, offered)], [(typed, wanted) for typed, wanted in WORDS])


@case
def completion_in_zsh(cli):
    install(cli, "zsh")
    if not shutil.which("zsh"):
        return
    done = subprocess.run(["zsh", "-f", "-c", "autoload -U compinit; compinit -u -d dump; source ./_pxl; whence -w _pxl; "
                           "print $_comps[pxl]"], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT)
    differ("zsh", (done.stdout, done.stderr), ("_pxl: function\n_pxl\n", ""))
    try:
        import pexpect
    except ImportError:
        return
    shell = pexpect.spawn("zsh", ["-f", "-i"], cwd=str(cli.folder), env=environment(cli), encoding="utf-8", timeout=20, dimensions=(40, 120))
    shell.sendline("PS1='ready> '; autoload -U compinit; compinit -u -d other_dump; source ./_pxl; print -r 'a''b'")
    shell.expect("\nab")
    shell.expect("ready> ")
    # The first Tab completes, the second one lists what is offered.
    for typed, wanted in WORDS:
        shell.send(typed + "\t\t")
        try:
            for word in wanted:
                shell.expect(re.escape(word if len(wanted) > 1 else word[len(typed.split()[-1]):]))
        except pexpect.TIMEOUT:
            raise AssertionError(f"zsh offers for `{typed}`: {shell.before!r}, expected {wanted}") from None
        shell.send("\x15print -r 'c''d'\r")
        shell.expect("cd\r\n")
        shell.expect("ready> ")
    shell.sendline("exit")
    shell.expect(pexpect.EOF)
    shell.close()


@case
def completion_lists_the_options_of_a_script(cli):
    cli.write("net.pxl", SCRIPT)
    differ("options", cli.run("completions", "--options", "net.pxl"),
           (0, "--batch\tRows of a batch: many.\n--shuffle\tbool\n--no-shuffle\tshuffle: false\n--needed\tstr\n--help\tlist the options\n", ""))
    cli.write("broken.pxl", "option = =")
    differ("a file that does not parse", cli.run("completions", "--options", "broken.pxl")[:2], (65, ""))
    differ("another shell", cli.run("completions", "tcsh")[0], 2)
    code, _, err = cli.run("completions")
    differ("no shell", code, 2)
    holds("no shell", err, "expected bash, zsh or fish")
