"""Every command and built-in that writes a file: killed while it writes, on a full disk, beyond the limit on files, through
links. The file is the old one or the new one, and no other file is left."""
import os
import random
import resource
import signal
import subprocess
import time

from tests.cli.case import LIMIT, case, differ, holds

# Programs that write; TARGET is the path, `n` how often a program writes.
WRITERS = {
    "npy": ('x = zeros([1000000])\nfor i in range(n) { save("TARGET", x) }\n', "npy"),
    "svg": ('x = sin(0.01 * arange(100000))\nfor i in range(n) { plot(x, path = "TARGET") }\n', "svg"),
    "checkpoint": ("program p {\n  variable w: float32[1000000] = zeros([1000000])\n  stream out y = w\n}\n"
                   'with Session(p()) as s { for i in range(n) { s.save("TARGET") } }\n', "safetensors"),
}
OLD = "x=1\n" * 100  # which `fmt` would change
# Commands that write; {} is the path.
COMMANDS = {
    "graph dot": ["graph", "-o", "{}.dot", "session.pxl"],
    "graph json": ["graph", "-o", "{}.json", "session.pxl"],
    "graph page": ["graph", "-o", "{}.html", "session.pxl"],
    "profile page": ["profile", "--machine", "bow", "session.pxl", "-o", "{}.html"],
    "profile json": ["profile", "--machine", "bow", "session.pxl", "-o", "{}.json"],
    "profile trace": ["profile", "--machine", "bow", "session.pxl", "-o", "{}.trace.json"],
    "fmt": ["fmt", "{}.pxl"],
    "doc": ["doc", "gelu", "-o", "{}"],
    "npy": ["npy.pxl"],
    "svg": ["svg.pxl"],
    "checkpoint": ["checkpoint.pxl"],
}


def prepare(cli):
    cli.write("session.pxl", "program p {\n  x = variable([1.0, 2.0])\n  stream out y = x + 1\n}\nprint(Session(p()).run().y)\n")


def program_of(cli, name):
    text, suffix = WRITERS[name]
    place = cli.folder / "place"
    place.mkdir(exist_ok=True)
    target = place / f"target.{suffix}"
    cli.write(f"{name}.pxl", "option n: int = 1\n" + text.replace("TARGET", str(target)))
    return target


def killed(name):
    def body(cli):
        target = program_of(cli, name)
        once = cli.run(f"{name}.pxl")
        differ("status", (once[0], once[2]), (0, ""))
        whole = target.read_bytes()
        draw = random.Random(7)
        for tries in range(12):
            process = subprocess.Popen([str(cli.pxl), f"{name}.pxl", "--n", "1000"], cwd=cli.folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(draw.uniform(0.05, 0.3))
            process.send_signal(signal.SIGKILL)
            process.wait()
            differ("whether the file is whole after a kill", target.read_bytes() == whole, True)
        left = len(list(target.parent.iterdir())) - 1
        if left > 1:
            raise AssertionError(f"{left} temporary files were left")
        cli.run(f"{name}.pxl")
        differ("files after a save", [p.name for p in target.parent.iterdir()], [target.name])
    body.__name__ = f"a_save_that_is_killed_{name}"
    case(body)


def limited(name):
    def body(cli):
        prepare(cli)
        if name in WRITERS:
            target = program_of(cli, name)
            arguments = [f"{name}.pxl"]
            place = target.parent
        else:
            place = cli.folder / "place"
            place.mkdir()
            arguments = [word.format(place / "target") for word in COMMANDS[name]]
            target = next(word for word in arguments if "place" in word)
        target = str(target)
        with open(target, "w") as old:
            old.write(OLD)

        def limits():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        done = subprocess.run([str(cli.pxl), *arguments], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT, preexec_fn=limits)
        differ("status", done.returncode, 1)
        holds("errors", done.stderr, f"cannot write {target}: File too large")
        with open(target) as kept:
            differ("the old file", kept.read(), OLD)
        differ("files", os.listdir(place), [os.path.basename(target)])
    body.__name__ = f"a_file_beyond_the_limit_{name.replace(' ', '_')}"
    case(body)


for writer in WRITERS:
    killed(writer)
for command in COMMANDS:
    limited(command)


@case
def a_full_disk(cli):
    (cli.folder / "disk").mkdir()
    cli.write("a.pxl", 'save("disk/small.npy", zeros([10]))\nsave("disk/small.npy", zeros([1000000]))\n')
    script = (f'mount -t tmpfs -o size=256k tmpfs disk || exit 99; "{cli.pxl}" a.pxl; echo "status $?"; ls -A disk; '
              'stat -c %s disk/small.npy; df --output=used disk | tail -1')
    try:
        done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=cli.folder, capture_output=True, text=True, timeout=LIMIT)
    except FileNotFoundError:
        return
    if done.returncode != 0 and "status" not in done.stdout:
        return  # no folder of our own may be mounted here
    status, *files = done.stdout.splitlines()
    differ("status", status, "status 1")
    holds("errors", done.stderr, "cannot write disk/small.npy: No space left on device")
    differ("files", files[:2], ["small.npy", str(128 + 40)])


@case
def a_picture_made_by_another_program_leaves_no_file_beside_it(cli):
    (cli.folder / "bin").mkdir()
    path = {"PATH": f"{cli.folder}/bin:{os.environ['PATH']}"}
    tool = cli.write("bin/rsvg-convert", "#!/bin/sh\necho PNG\ncat\n")
    tool.chmod(0o755)
    (cli.folder / "place").mkdir()
    cli.write("a.pxl", 'plot([1, 2, 3], path = "place/a.png")\n')
    # Another user might have put links there so that another file is written.
    victim = cli.write("victim", "precious")
    for name in ("a.png.tmp", "a.png.svg.tmp"):
        (cli.folder / "place" / name).symlink_to(victim)
    differ("outcome", cli.run("a.pxl", env=path), (0, "", ""))
    holds("picture", cli.read("place/a.png"), "PNG\n<svg")
    differ("victim", cli.read("victim"), "precious")
    differ("files", sorted(p.name for p in (cli.folder / "place").iterdir()), ["a.png", "a.png.svg.tmp", "a.png.tmp"])
    cli.write("bin/rsvg-convert", "#!/bin/sh\ncat >/dev/null\nexit 3\n")
    code, out, err = cli.run("a.pxl", env=path)
    differ("status", code, 1)
    holds("errors", err, "rsvg-convert could not draw place/a.png")
    holds("picture", cli.read("place/a.png"), "PNG\n<svg")


@case
def an_old_picture_keeps_its_permissions(cli):
    cli.write("a.pxl", 'plot([1, 2, 3], path = "a.svg")\n')
    cli.write("a.svg", "old").chmod(0o604)
    differ("outcome", cli.run("a.pxl"), (0, "", ""))
    differ("permissions", (cli.folder / "a.svg").stat().st_mode & 0o777, 0o604)
