"""A separate root for commands. It has copies of files from some installed packages and their dependencies, and no others.

There dpkg installs and removes packages as it would on a system that has just their dependencies, and the system itself
stays as it is. Nothing is fetched. It needs root, and mount namespaces."""
import os
import pathlib
import re
import shutil
import subprocess

from tests.support.harness import Unavailable

FIELDS = ("Package", "Architecture", "Essential", "Provides", "Pre-Depends", "Depends", "db:Status-Abbrev")
# Files that packages and programs may leave behind without blame: logs and caches of others.
OTHERS = re.compile(r"usr/share/mime/(?!packages)|var/(lib/dpkg|log|cache|tmp|lib/systemd)(/|$)|etc/ld\.so\.cache$|(root|tmp|proc|dev|run)(/|$)")


def why_not():
    """A reason why no root can be made; None if there is none."""
    if os.geteuid() != 0:
        return "it needs root, to change into a root of its own"
    for tool in ("dpkg-query", "unshare", "chroot", "tar"):
        if not shutil.which(tool):
            return f"{tool} is missing"
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "mount", "--bind", "/dev", "/dev"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"no mounts in namespaces: {done.stderr.strip()}"


def installed():
    """The installed packages by name, and the names of those that provide a name."""
    form = "\x01".join("${%s}" % f for f in FIELDS) + "\x02"
    text = subprocess.run(["dpkg-query", "-W", "-f", form], capture_output=True, text=True, check=True).stdout
    packages, provided = {}, {}
    for record in filter(None, text.split("\x02")):
        row = dict(zip(FIELDS, record.split("\x01")))
        if row["db:Status-Abbrev"].startswith("ii"):
            packages[row["Package"]] = row
            for name in re.findall(r"[a-z0-9][\w.+-]+", re.sub(r"\([^)]*\)", "", row["Provides"])):
                provided.setdefault(name, []).append(row["Package"])
    return packages, provided


class Root:
    def __init__(self, folder):
        self.path = pathlib.Path(folder)
        self.packages, self.provided = installed()
        self.have = set()
        for part in ("usr/bin", "usr/sbin", "usr/lib", "usr/lib32", "usr/lib64", "usr/libx32", "dev", "proc", "tmp", "root", "etc/alternatives", "var/log",
                     "var/lib/dpkg/info", "var/lib/dpkg/updates", "var/lib/dpkg/triggers", "var/lib/dpkg/parts"):
            (self.path / part).mkdir(parents=True)
        for link in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
            os.symlink(f"usr/{link}", self.path / link)
        (self.path / "tmp").chmod(0o1777)
        for name in ("passwd", "group"):
            shutil.copy(f"/etc/{name}", self.path / "etc" / name)
        links = subprocess.run(["find", "/usr", "-xdev", "-lname", "/etc/alternatives/*"], capture_output=True, text=True).stdout
        self.alternatives = links.split("\n")[:-1]
        self.add([name for name, row in self.packages.items() if row["Essential"] == "yes"])

    def closure(self, depends):
        """The packages that satisfy dependencies ("a (>= 1), b | c") and theirs; a test is skipped where none does."""
        found, open_ = set(), [depends]
        while open_:
            for clause in filter(None, (c.strip() for c in open_.pop().split(","))):
                names = [re.split(r"[\s(:\[]", choice.strip())[0] for choice in clause.split("|")]
                chosen = next((n for n in names if n in self.packages), None) or next((p for n in names for p in self.provided.get(n, [])), None)
                if not chosen:
                    raise Unavailable(f"not installed here: {clause}")
                if chosen not in found:
                    found.add(chosen)
                    open_ += [self.packages[chosen]["Pre-Depends"], self.packages[chosen]["Depends"]]
        return found

    def add(self, names):
        """Copies these packages, with their dependencies."""
        new = self.closure(",".join(names)) - self.have
        if not new:
            return
        self.have |= new
        owned = subprocess.run(["dpkg-query", "-L", *sorted(new)], capture_output=True, text=True, check=True).stdout.splitlines()
        # Folders that are links into /usr have their place already.
        files = sorted({f[1:] for f in owned if f.startswith("/") and f != "/." and os.path.lexists(f)
                        and not re.fullmatch(r"/(s?bin|lib(32|64|x32)?)", f)})
        merged = [re.sub(r"^(s?bin|lib(32|64|x32)?)/", r"usr/\1/", f) for f in files]
        pack = subprocess.Popen(["tar", "-C", "/", "--no-recursion", "--null", "-T", "-", "-cf", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        unpack = subprocess.Popen(["tar", "-C", str(self.path), "-xpf", "-"], stdin=pack.stdout)
        pack.stdout.close()
        pack.stdin.write("\0".join(dict.fromkeys(merged)).encode())
        pack.stdin.close()
        if pack.wait() or unpack.wait():
            raise OSError("copying the files of packages failed")
        for link in self.alternatives:
            target = os.readlink(link)
            there = self.path / os.path.realpath(target)[1:]
            if there.exists() and (self.path / link[1:]).parent.is_dir() and not os.path.lexists(self.path / link[1:]):
                os.symlink(target, self.path / link[1:])
                if not os.path.lexists(self.path / target[1:]):
                    os.symlink(os.readlink(target), self.path / target[1:])
        self.write_dpkg_database(new)
        self.run("ldconfig")

    def write_dpkg_database(self, new):
        admin, own = pathlib.Path("/var/lib/dpkg"), self.path / "var/lib/dpkg"
        names = {n for p in new for n in (p, f"{p}:{self.packages[p]['Architecture']}")} | {"format"}
        for file in (admin / "info").iterdir():
            if file.stem in names:
                shutil.copy(file, own / "info" / file.name)
        paragraphs = (admin / "status").read_text(errors="replace").split("\n\n")
        with (own / "status").open("a") as status:
            status.writelines(p + "\n\n" for p in paragraphs if (m := re.match(r"Package: (\S+)", p)) and m.group(1) in new)
        for file in (admin / "triggers").iterdir():  # of files, and by name: ldconfig
            lines = file.read_text().splitlines(True)
            (own / "triggers" / file.name).write_text("".join(l for l in lines if l.split()[-1].split("/")[0] in self.have))

    def run(self, *command, stdin="", timeout=120):
        """Exit status, standard output and error of a command in the root; it sees no process outside."""
        script = 'mount --rbind /dev "$1/dev" && mount -t proc proc "$1/proc" && root=$1 && shift && cd / && exec chroot "$root" "$@"'
        environment = {"PATH": "/usr/sbin:/usr/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "PYTHONDONTWRITEBYTECODE": "1",
                       "PXL_THREADS": "2", "PXL_DATA": "built-in", **{k: v for k, v in os.environ.items() if k.startswith("OPENBLAS_")}}
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script, "sh", str(self.path), *command],
                              input=stdin, capture_output=True, text=True, errors="replace", timeout=timeout, env=environment)
        return done.returncode, done.stdout, done.stderr

    def files(self):
        """The files by path, each with its kind."""
        found = {}
        for folder, folders, names in os.walk(self.path):
            for name in (*folders, *names):
                path = pathlib.Path(folder) / name
                short = str(path.relative_to(self.path))
                if not OTHERS.match(short):
                    stat = path.lstat()
                    found[short] = os.readlink(path) if path.is_symlink() else "folder" if path.is_dir() else (stat.st_size, stat.st_mode, stat.st_mtime_ns)
        return found
