"""Jobs on two machines, which are network namespaces with host names of their own; and jobs by MPICH. Output and files have the
bytes of one process."""
# covers: I155
import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile

from tests.support.harness import ROOT, TESTS

HERE = TESTS / "processes"
LIMIT = 120
FILES = ["state.safetensors", "loss.npy"]
# Open MPI starts its daemon on another machine through this instead of ssh: the machine is a namespace.
AGENT = """#!/bin/sh
shift
exec ip netns exec {name} unshare --uts sh -c 'hostname {name}; exec sh -c "$0"' "$*"
"""


def no_namespaces():
    """Why there are no machines to simulate."""
    if os.geteuid() != 0 or not shutil.which("ip") or not shutil.which("unshare"):
        return "network namespaces need root, iproute2 and util-linux"
    name = f"pxl-{os.getpid()}"
    try:
        for words in (["add", name], ["exec", name, "unshare", "--uts", "true"]):
            done = subprocess.run(["ip", "netns", *words], capture_output=True, text=True)
            if done.returncode != 0:  # in a root that is no mount, for one
                return f"ip netns {words[0]} fails here: {done.stderr.strip()}"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


@contextlib.contextmanager
def two_machines():
    """A folder with the launch agent, the command prefix of the first machine, and the addresses of both."""
    names = [f"pxl{os.getpid()}{side}" for side in "ab"]
    addresses = ["10.213.7.1", "10.213.7.2"]

    def ip(*words):
        subprocess.run(["ip", *words], check=True, capture_output=True)

    with tempfile.TemporaryDirectory(prefix="pxl-machines-") as own:
        folder = pathlib.Path(own)
        try:
            for name in names:
                ip("netns", "add", name)
            ip("link", "add", "eth0", "netns", names[0], "type", "veth", "peer", "name", "eth0", "netns", names[1])
            for name, address in zip(names, addresses):
                ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
                for link in ("lo", "eth0"):
                    ip("-n", name, "link", "set", link, "up")
            agent = folder / "agent"
            agent.write_text(AGENT.format(name=names[1]))
            agent.chmod(0o755)
            first = ["ip", "netns", "exec", names[0], "unshare", "--uts", "sh", "-c", f'hostname {names[0]}; exec "$@"', "sh"]
            yield folder, first, addresses, names
        finally:
            for name in names:
                subprocess.run(["ip", "netns", "del", name], capture_output=True)


def outcome(command, folder, env=None):
    done = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True, timeout=LIMIT,
                          stdin=subprocess.DEVNULL, env=dict(os.environ, NO_COLOR="1", **(env or {})))
    return done.returncode, done.stdout, done.stderr, [(folder / f).read_bytes() if (folder / f).is_file() else None for f in FILES]


def alone(pxl, script):
    with tempfile.TemporaryDirectory(prefix="pxl-alone-") as own:
        return outcome([pxl, "run", script], pathlib.Path(own))


def compare(wanted, got):
    if got[0] != wanted[0] or got[1] != wanted[1] or got[3] != wanted[3] or None in wanted[3]:
        return f"exit {wanted[0]}\n{wanted[1]}{wanted[2]}\nbut as a job exit {got[0]}\n{got[1]}{got[2]}"
    return None


def launched(pxl, script):
    with two_machines() as (folder, first, addresses, _):
        command = [*first, pxl, "run", "--ranks", "4", "--hosts", ",".join(addresses), script]
        return outcome(command, folder, {"OMPI_MCA_plm_rsh_agent": str(folder / "agent")})


def on_two_machines(pxl):
    return compare(alone(pxl, HERE / "train.pxl"), launched(pxl, HERE / "train.pxl"))


def errors_name_the_machine(pxl):
    """A script that fails on the second machine alone ends the job with its error and its host."""
    with two_machines() as (folder, first, addresses, names):
        (folder / "s.pxl").write_text('if env("OMPI_COMM_WORLD_RANK", "0") == "3" { load("nowhere.npy") }\n'
                                      "program p with replicated(4) {\n  variable w: float32[2] = 1\n  add_(w, 1.0)\n}\nSession(p()).run()\n")
        command = [*first, pxl, "run", "--ranks", "4", "--hosts", ",".join(addresses), "s.pxl"]
        code, _, err, _ = outcome(command, folder, {"OMPI_MCA_plm_rsh_agent": str(folder / "agent")})
    wanted = ["nowhere.npy", f"in process 3 of 4, on host {names[1]}"]
    return None if code == 66 and all(w in err for w in wanted) else f"exit {code}\n{err}"


def no_mpich():
    if not shutil.which("mpicxx.mpich") or not shutil.which("mpiexec.hydra"):
        return "there is no MPICH (packages mpich and libmpich-dev)"
    return None


def by_mpich(pxl):
    """The plug-in, compiled from the same source against MPICH."""
    with tempfile.TemporaryDirectory(prefix="pxl-mpich-") as own:
        folder = pathlib.Path(own)
        shutil.copy(pxl, folder / "pxl")
        compiled = subprocess.run(["mpicxx.mpich", "-std=c++20", "-O1", "-shared", "-fPIC", "-DMPICH_SKIP_MPICXX", "-DFMT_SHARED", f"-I{ROOT}",
                                   str(ROOT / "runtime/processes/mpi/transport.cpp"), "-o", str(folder / "pxl-mpi.so")], capture_output=True, text=True)
        if compiled.returncode != 0:
            return compiled.stderr
        wanted = alone(pxl, HERE / "train.pxl")
        for ranks in (2, 4):
            work = folder / f"work{ranks}"
            work.mkdir()
            got = outcome(["mpiexec.hydra", "-n", str(ranks), folder / "pxl", "run", HERE / "train.pxl"], work)
            if problem := compare(wanted, got):
                return f"{ranks} processes: {problem}"
    return None


def machine_tests(pxl, add, skip):
    if why := no_namespaces():
        skip("processes: two machines", why)
    else:
        add("processes: two machines: bits", lambda: on_two_machines(pxl))
        add("processes: two machines: an error on one", lambda: errors_name_the_machine(pxl))
    if why := no_mpich():
        skip("processes: MPICH", why)
    else:
        add("processes: MPICH: bits", lambda: by_mpich(pxl))
