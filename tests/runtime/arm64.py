"""The kernels cross-compiled for arm64, and their tests there under qemu-user: among these the check sums of bits.txt, which
are those of x86-64."""
import re
import shutil

from tests.support.harness import ROOT, parallel, run

PRESET = "arm64-kernels"
# The check sums and other comparisons of bits run each time, but those that take minutes under qemu.
FAST = ["--test-case=*bits*", "--test-case-exclude=*however they are divided*,*an addend and bounds of a convolution*"]
COUNT = re.compile(r"passing the current filters: (\d+)")
ASSERTIONS = re.compile(r"assertions: *(\d+) ")


def qemu(program, *options):
    return run(["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", str(ROOT / "build" / PRESET / program), "--no-colors=true", *options],
               timeout=900)


def under_qemu(program, *options):
    """Case by case, two at a time: some take minutes."""
    code, out, err = qemu(program, "--count", *options)
    found = COUNT.search(out)
    if code or not found or int(found.group(1)) == 0:
        return f"exit status {code}\n{(out + err)[-6000:]}"
    jobs = [(f"{program} {i}", lambda i=str(i): qemu(program, f"--first={i}", f"--last={i}", *options))
            for i in range(1, int(found.group(1)) + 1)]
    assertions = 0
    for name, (code, out, err) in parallel(jobs, 2):
        found = ASSERTIONS.search(out)
        if code or not found:
            return f"{name}: exit status {code}\n{(out + err)[-6000:]}"
        assertions += int(found.group(1))
    return None if assertions else "no assertions"


def arm64_tests(add, skip):
    missing = [f"`{command}` (package {package})" for command, package in
               (("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu"), ("qemu-aarch64", "qemu-user")) if not shutil.which(command)]
    if missing:
        return skip("arm64", "no " + ", ".join(missing))
    programs = {"unit_kernels": FAST, "unit_tensor": []}
    code, out, err = run([str(ROOT / "scripts/build"), PRESET, *programs], timeout=1800)
    add("arm64: build", None if code == 0 else (out + err)[-6000:])
    if code == 0:
        for program, options in programs.items():
            add(f"arm64: {program}", lambda: under_qemu(program, *options))
