"""Limits of the system: stacks, address space, processes, the memory of a control group. pxl works within them, or says what is missing."""
import contextlib
import os
import pathlib
import resource
import subprocess

from tests.support.harness import Unavailable

LIMIT = 60  # seconds for a case, on a slow and busy machine
NOBODY = 65534
GROUPS = pathlib.Path("/sys/fs/cgroup")

SESSION = """def deep(n) { return 0 if n == 0 else 1 + deep(n - 1) }
program p {
  stream in x: float32[64, 64]
  t = host_load(x)
  stream out y = gelu(t @ t)
}
s = Session(p())
print(s.run(x = ones([64, 64])).y[0, 0], deep(50))
"""
PRODUCTS = """a = cast(ones([300, 300]), float64)
b = ones([300, 300])
print((a @ a)[0, 0], (b @ b)[0, 0], exp(ones([2000, 1000])).shape)
"""
ENDLESS_CALLS = "def f(n) { return f(n + 1) + 1 }\nf(0)\n"


def outcome(pxl, text, limits=(), env=None, user=None, group=None):
    """Exit status, output and errors of a program under limits of `resource`; None: it hangs."""
    def prepare():
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        for which, value in limits:
            resource.setrlimit(which, (value, value))
        if user is not None:
            os.setgid(user)
            os.setuid(user)

    process = subprocess.Popen([str(pxl), "-e", text], cwd="/", env=dict(os.environ, NO_COLOR="1", **(env or {})), preexec_fn=prepare,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        out, err = process.communicate(timeout=LIMIT)
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        return None, out, f"no answer within {LIMIT} s\n{err}"


def judged(got, wanted):
    """`wanted`: exit status, text of standard output or error."""
    code, out, err = got
    for status, text in wanted:
        if code == status and text in out + err:
            return None
    return f"exit status {code}\n{out}{err[-1500:]}"


def small_stack(pxl, kilobytes):
    limits = [(resource.RLIMIT_STACK, kilobytes << 10)]
    usual = outcome(pxl, SESSION)
    if problem := judged(outcome(pxl, SESSION, limits), [(0, usual[1])]):
        return problem
    return judged(outcome(pxl, ENDLESS_CALLS, limits), [(1, "recursion too deep")])


def small_address_space(pxl, megabytes):
    # Below what the libraries themselves take, the dynamic linker says so and ends with 127.
    wanted = [(0, "300.0 300.0 (2000, 1000)"), (1, "rror"), (1, "emory"), (127, "error while loading shared libraries"), (127, "cannot allocate")]
    return judged(outcome(pxl, PRODUCTS, [(resource.RLIMIT_AS, megabytes << 20)]), wanted)


def few_processes(pxl, more):
    """A user who may have `more` processes and threads besides the first."""
    if os.geteuid() != 0 or not os.access(pxl, os.X_OK):
        raise Unavailable("limits on processes do not hold for root, and another user needs root")
    got = outcome(pxl, PRODUCTS, [(resource.RLIMIT_NPROC, 1 + more)], {"PXL_THREADS": "8"}, NOBODY)
    return judged(got, [(0, "300.0 300.0 (2000, 1000)")])


@contextlib.contextmanager
def memory_group(megabytes):
    for folder, name in ((GROUPS / "memory", "memory.limit_in_bytes"), (GROUPS, "memory.max")):
        group = folder / f"pxl-{os.getpid()}"
        try:
            group.mkdir()
            (group / name).write_text(str(megabytes << 20))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
            continue
        try:
            yield group
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
        return
    raise Unavailable("no control group with a memory limit can be made here")


def group_memory(pxl, text):
    """An array that does not fit into the group's memory is an error: the system does not kill the process."""
    with memory_group(300) as group:
        return judged(outcome(pxl, text, group=group), [(1, "more than memory")])


def limit_cases(pxl):
    for kilobytes in (64, 128, 256, 512, 1024):
        yield f"a stack of {kilobytes} kB", lambda kilobytes=kilobytes: small_stack(pxl, kilobytes)
    for megabytes in (60, 120, 160, 200, 240, 270, 300, 400):
        yield f"{megabytes} MB of address space", lambda megabytes=megabytes: small_address_space(pxl, megabytes)
    for more in (0, 1, 3):
        yield f"{more} more threads", lambda more=more: few_processes(pxl, more)
    yield "a group's memory: one array", lambda: group_memory(pxl, "x = ones([100000000])\n")
    yield "a group's memory: several arrays", lambda: group_memory(pxl, "x = [ones([20000000]) for i in range(8)]\n")
    yield "a group's memory: a session", lambda: group_memory(
        pxl, "program p {\n  variable w: float32[60000000] = 1\n  stream out y = sum(w * 2)\n}\nSession(p()).run()\n")




def limit_tests(pxl, add):
    for name, case in limit_cases(pxl):
        add(f"limits: {name}", case)
