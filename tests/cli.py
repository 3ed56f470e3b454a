"""The command line: what each command prints, writes and exits with.

Each case is a function that gets a folder of its own and the command, and gives the problem or None.
"""
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT = 60

CASES = []


def case(body):
    CASES.append((body.__name__.replace("_", " "), body))
    return body


class Cli:
    def __init__(self, pxl, folder):
        self.pxl, self.folder = pxl, folder

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def read(self, name):
        return (self.folder / name).read_text()

    def run(self, *arguments, stdin="", env=None):
        done = subprocess.run([str(self.pxl), *map(str, arguments)], cwd=self.folder, input=stdin, capture_output=True,
                              text=True, errors="replace", timeout=LIMIT, env=dict(os.environ, NO_COLOR="1", **(env or {})))
        return done.returncode, done.stdout, done.stderr


def differ(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, expected {wanted!r}")


def holds(what, text, part):
    if part not in text:
        raise AssertionError(f"{what} lacks `{part}`:\n{text}")


# ---- fmt --------------------------------------------------------------------------------------------------------

UGLY, NEAT = "x=f( 1 )   # a\n", "x = f(1)  # a\n"


@case
def fmt_rewrites_a_file_and_keeps_its_mode(cli):
    path = cli.write("a.pxl", UGLY)
    path.chmod(0o640)
    differ("result", cli.run("fmt", "a.pxl"), (0, "", ""))
    differ("text", cli.read("a.pxl"), NEAT)
    differ("mode", path.stat().st_mode & 0o777, 0o640)
    before = path.stat().st_mtime_ns
    differ("again", cli.run("fmt", "a.pxl"), (0, "", ""))
    differ("an untouched file's time", path.stat().st_mtime_ns, before)


@case
def fmt_reads_standard_input(cli):
    differ("result", cli.run("fmt", "-", stdin=UGLY), (0, NEAT, ""))


@case
def fmt_check_names_files_and_changes_none(cli):
    cli.write("ugly.pxl", UGLY), cli.write("neat.pxl", NEAT), cli.write("more/ugly.pxl", UGLY), cli.write("more/x.txt", UGLY)
    differ("result", cli.run("fmt", "--check", "ugly.pxl", "neat.pxl"), (1, "ugly.pxl\n", ""))
    differ("folder", cli.run("fmt", "--check", "."), (1, "./more/ugly.pxl\n./ugly.pxl\n", ""))
    differ("neat", cli.run("fmt", "--check", "neat.pxl"), (0, "", ""))
    differ("text", cli.read("ugly.pxl"), UGLY)


@case
def fmt_diff_is_what_patch_understands(cli):
    text = "".join(f"line{i} = {i}\n" for i in range(40))
    ugly = text.replace("line3 = 3\n", "line3=3\n").replace("line30 = 30\n", "line30=\\\n".replace("\\\n", "30\n\n\n"))
    cli.write("a.pxl", ugly)
    code, out, err = cli.run("fmt", "--diff", "a.pxl")
    differ("status", (code, err), (0, ""))
    differ("hunks", out.count("@@ -"), 2)
    differ("text", cli.read("a.pxl"), ugly)
    done = subprocess.run(["patch", "-s", "a.pxl"], cwd=cli.folder, input=out, capture_output=True, text=True)
    differ("patch", (done.returncode, done.stderr), (0, ""))
    cli.write("b.pxl", ugly)
    cli.run("fmt", "b.pxl")
    differ("patched", cli.read("a.pxl"), cli.read("b.pxl"))


@case
def fmt_leaves_what_does_not_parse(cli):
    cli.write("bad.pxl", "x = (1\ny=2\n"), cli.write("ugly.pxl", UGLY)
    code, out, err = cli.run("fmt", "bad.pxl", "ugly.pxl")
    differ("status", (code, out), (65, ""))
    holds("standard error", err, "bad.pxl:1:5: error: `(` is never closed")
    differ("text", cli.read("bad.pxl"), "x = (1\ny=2\n")
    differ("the other file", cli.read("ugly.pxl"), NEAT)
    differ("a missing file", cli.run("fmt", "none.pxl")[0], 66)
    differ("no file", cli.run("fmt")[0], 2)
    code, _, err = cli.run("fmt", "--chek", "a.pxl")
    differ("unknown flag", code, 2)
    holds("suggestion", err, "did you mean `--check`?")


@case
def the_programs_of_the_project_are_in_canonical_form(cli):
    folders = [ROOT / f for f in ("examples", "stdlib", "bench", "tests/golden", "tests/repeat")]
    code, out, err = cli.run("fmt", "--check", *folders)
    differ("status (`pxl fmt` mends what is named)", (code, out, err), (0, "", ""))


def cli_tests(pxl, add, parallel):
    def one(body):
        with tempfile.TemporaryDirectory() as folder:
            try:
                body(Cli(pxl, pathlib.Path(folder)))
            except (AssertionError, subprocess.TimeoutExpired) as problem:
                return str(problem)
            return None

    for name, problem in parallel([(f"cli: {name}", lambda body=body: one(body)) for name, body in CASES], 2):
        add(name, problem)
