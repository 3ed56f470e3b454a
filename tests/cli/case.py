"""What the tests of the command line share. Each case is a function that gets a folder of its own and the command, and
raises an AssertionError where something is wrong."""
import os
import subprocess

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

    def processor_seconds(self, *arguments):
        """What the command takes of a processor, user and system."""
        process = subprocess.Popen([str(self.pxl), *map(str, arguments)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime


def differ(what, got, wanted):
    if got != wanted:
        raise AssertionError(f"{what}: {got!r}, expected {wanted!r}")


def holds(what, text, part):
    if part not in text:
        raise AssertionError(f"{what} lacks `{part}`:\n{text}")
