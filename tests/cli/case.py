"""Shared parts of the command line's tests. Each case is a function that gets a folder of its own and the command, and
raises an AssertionError where something is wrong."""
import os
import pathlib
import subprocess
import time

LIMIT = 300  # seconds after which a command counts as hanging, on a busy machine

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
        """The command's CPU seconds, user and system."""
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


def wait_until_it_works(process, seconds=0.2):
    """Until a process has used so many seconds of the processor: on a busy machine its start takes a while."""
    end = time.monotonic() + LIMIT
    while process.poll() is None and time.monotonic() < end:
        fields = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        if (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") >= seconds:
            return
        time.sleep(0.02)
