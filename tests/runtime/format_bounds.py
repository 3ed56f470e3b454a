"""Files that nobody should have: cut at each byte, with sizes beyond memory, empty, or no files at all.

Each is an error that names the file, soon, and within 8 GB; none is a signal or an internal error.
"""
import json
import os
import pathlib
import socket
import struct
import subprocess
import time
import zipfile
import zlib

from tests.support.harness import run
from tests.support.memory import is_sanitized, within

UNREADABLE, FAILED = 66, 1
SUFFIXES = ("npy", "npz", "safetensors", "csv", "tsv", "png", "jpg", "jpeg", "wav", "flac", "ogg")
# A file in this list is an error if it is cut anywhere.
WHOLE_ONLY = ("small.npy", "in.npz", "in.safetensors", "palette.png", "in.jpg", "in.wav", "in.flac", "in.ogg")


def limited(pxl, text, folder, seconds=60):
    """Status and standard error of a script in 8 GB."""
    (folder / "bounds.pxl").write_text(text)
    command, env = within(8, pxl, "bounds.pxl")
    code, out, err = run(command, timeout=seconds, cwd=folder, env=env)
    return code, err


def wanted(result, statuses, text):
    code, err = result
    return None if code in statuses and text in err else f"exit status {code}, expected {statuses} with `{text}`:\n{err[-800:]}"


def cut_files(pxl, folder, add):
    """One process reads all files of a format, since there are thousands."""
    (folder / "small.npy").write_bytes(npy("(4,)"))
    for name in WHOLE_ONLY:
        suffix, whole = name.rpartition(".")[2], (folder / name).read_bytes()
        # A sound in Ogg may end after any of its pages.
        ends = [i for i in range(len(whole)) if whole[i:i + 4] == b"OggS"]
        problem = wanted(limited(pxl, f"""
whole = read_bytes("{name}")
load("{name}")
for n in range(len(whole)) {{
  if n in {ends if suffix == "ogg" else []} {{ continue }}
  write_bytes("cut.{suffix}", whole[:n])
  with expect_error("cut.{suffix}") {{ load("cut.{suffix}") }}
}}
""", folder, 300), {0}, "")
        add(f"formats: {name} cut at each byte", problem)


def npy(shape, data=b"\0" * 16):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + data


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(shape, begin, end, dtype="F32"):
    return {"w": {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}}


def png(width, height):
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b""))


def jpeg(width, height):
    return (b"\xff\xd8\xff\xdb\0\x43\0" + b"\1" * 64 + b"\xff\xc0" + struct.pack(">HBHHB", 17, 8, height, width, 3) +
            b"\1\x11\0\2\x11\0\3\x11\0" + b"\xff\xda\0\x0c\3\1\0\2\0\3\0\0\x3f\0" + b"\0" * 20 + b"\xff\xd9")


def wav(size, channels=1, kind=b"RIFF", extra=b""):
    form = struct.pack("<HHIIHH", 1, channels, 8000, 16000 * channels & 0xFFFFFFFF, 2 * channels & 0xFFFF, 16)
    return kind + b"\xff\xff\xff\xff" + b"WAVE" + extra + b"fmt " + struct.pack("<I", 16) + form + b"data" + struct.pack("<I", size) + b"\0" * 8


def ds64(size):
    return b"ds64" + struct.pack("<IQQQI", 28, size, size, size // 2, 0)


def flac(samples):
    info = struct.pack(">HH", 4096, 4096) + b"\0" * 6 + struct.pack(">Q", 8000 << 44 | 15 << 36 | samples) + b"\0" * 16
    return b"fLaC\x80\0\0\x22" + info + b"\xff\xf8" + b"\0" * 30


def lying_npz(folder, size):
    """An archive whose directory says that a member of a few bytes expands to `size`."""
    path = folder / "lying.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.npy", npy(f"({size // 4},)"))
    data = bytearray(path.read_bytes())
    directory = data.rindex(b"PK\1\2")
    data[directory + 24:directory + 28] = struct.pack("<I", size)
    data[22:26] = struct.pack("<I", size)
    path.unlink()
    return bytes(data)


def large_files(pxl, folder, add):
    top = 2 ** 63
    cases = {
        "npy": [npy(shape) for shape in ("(1099511627776,)", f"({top - 1},)", f"({2 ** 64 - 1},)", "(4294967296, 4294967296)", "(0, 99999999999999999)",
                                         "(" + "1, " * 100 + ")", "-1", "(-1,)")] + [npy("(4,)")[:8] + b"\xff\xff" + npy("(4,)")[10:]],
        "npz": [lying_npz(folder, size) for size in (2 ** 31, 2 ** 32 - 1, 2 ** 20)],
        "safetensors": [safetensors({}, length=n) for n in (top - 1, top, 2 ** 64 - 1, 10 ** 8)] + [
            safetensors(tensor(shape, begin, end, dtype), b"\0" * 16) for shape, begin, end, dtype in (
                ([2 ** 40], 0, 2 ** 42, "F32"), ([top], 0, 16, "F32"), ([2 ** 48, 2 ** 48], 0, 16, "F32"), ([2 ** 62], 0, 2 ** 64 - 1, "F64"),
                ([4], 2 ** 64 - 16, 0, "F32"), ([4], -16, 0, "F32"), ([2 ** 32, 2 ** 32], 0, 0, "F32"), ([1] * 100, 0, 4, "F32"))] + [
            safetensors(b"[" * 10 ** 7), safetensors(b'{"w":' * 10 ** 6)],
        "png": [png(*size) for size in ((2 ** 31 - 1, 2 ** 31 - 1), (40000, 40000), (2 ** 31 - 1, 1), (0, 5), (2 ** 32 - 1, 1))],
        "jpg": [jpeg(*size) for size in ((65535, 65535), (30000, 30000), (0, 5))],
        "wav": [wav(10 ** 9), wav(9), wav(100, channels=65535), wav(100, channels=0), wav(2 ** 32 - 1, kind=b"RF64", extra=ds64(2 ** 64 - 1)),
                wav(2 ** 32 - 1, kind=b"RF64", extra=ds64(top - 1)), b"RIFF" + wav(8)[4:40], b"caff\0\1\0\0data" + struct.pack(">Q", top - 1)],
        "flac": [flac(2 ** 36 - 1), flac(10 ** 9)],
        "ogg": [b"OggS" + b"\0" * 22 + b"\xff" + b"\xff" * 255, b"OggS" + b"\0" * 22 + b"\1\0"],
        "csv": [b"," * 2 ** 20 + b"\n" + b"," * 2 ** 20, b"a,b\n" * 2 + b'"' * (2 ** 20 + 1), b"x\n" * (2 ** 24 + 2)],
        "tsv": [b"\t" * (2 ** 20 + 1)],
    }
    for suffix, files in cases.items():
        path, problem = folder / f"large.{suffix}", None
        for i, data in enumerate(files):
            path.write_bytes(data)
            found = wanted(limited(pxl, f'd = load("large.{suffix}")\nprint(d)', folder), {UNREADABLE}, f"large.{suffix}")
            problem = problem or (found and f"case {i}: {found}")
        path.unlink()
        add(f"formats: .{suffix} with sizes beyond its bytes", problem)
    # Files that are as large as they say, sparse on the disk.
    for suffix, text, statuses, said in [(s, f'load("large.{s}")', {UNREADABLE}, "longer than") for s in ("csv", "png", "jpg", "wav", "flac")] + [
            ("txt", 'read_text("large.txt")', {UNREADABLE}, "longer than"), ("bin", 'read_bytes("large.bin")', {FAILED}, "memory"),
            ("npy", 'load("large.npy")', {FAILED}, "memory")]:
        if FAILED in statuses and is_sanitized(pxl):
            continue  # sanitizers end a process that asks for so much
        path = folder / f"large.{suffix}"
        header = npy(f"({2 ** 38 // 4},)", b"") if suffix == "npy" else b""
        path.write_bytes(header)
        os.truncate(path, 2 ** 38 + len(header))
        add(f"formats: a .{suffix} file of 256 GB", lambda: wanted(limited(pxl, text, folder), statuses, said))
        path.unlink()


def no_files(pxl, folder, add):
    """Folders, pipes, sockets, devices, links to nowhere and to themselves, empty files."""
    for suffix in SUFFIXES:
        places = [folder / f"{kind}.{suffix}" for kind in ("folder", "pipe", "socket", "device", "nowhere", "itself", "empty")]
        a_folder, pipe, a_socket, device, nowhere, itself, empty = places
        a_folder.mkdir()
        os.mkfifo(pipe)
        listening = socket.socket(socket.AF_UNIX)
        here = os.getcwd()
        os.chdir(folder)  # the names of sockets are short
        listening.bind(a_socket.name)
        os.chdir(here)
        device.symlink_to("/dev/zero")
        nowhere.symlink_to("there/is/nothing")
        itself.symlink_to(itself.name)
        empty.touch()
        problem = None
        for place in places:
            if place == empty and suffix in ("csv", "tsv"):
                continue  # a table without columns
            problem = problem or wanted(limited(pxl, f'load("{place.name}")', folder, 30), {UNREADABLE}, place.name)
        add(f"formats: .{suffix} that is no file, or empty", problem)
        listening.close()


def shrinking(pxl, folder, add):
    """A file that becomes shorter after it was opened, before an array of it is read."""
    path = folder / "shrinks.safetensors"
    path.write_bytes(safetensors(tensor([2 ** 20], 0, 2 ** 22), b"\0" * 2 ** 22))
    (folder / "shrinks.pxl").write_text("""
d = load("shrinks.safetensors")
write_text("opened", "")
while not exists("cut") { }
d["w"].sum()
""")
    process = subprocess.Popen([str(pxl), "shrinks.pxl"], cwd=folder, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (folder / "opened").exists() and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    os.truncate(path, 2 ** 20)
    (folder / "cut").touch()
    try:
        _, err = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        _, err = process.communicate()
    add("formats: a file that shrinks while it is open", lambda: wanted((process.returncode, err), {UNREADABLE}, "shrinks.safetensors"))


def bounds_tests(pxl, folder, add):
    """`folder` has the files that formats_peers.py writes."""
    folder = pathlib.Path(folder)
    cut_files(pxl, folder, add)
    large_files(pxl, folder, add)
    no_files(pxl, folder, add)
    shrinking(pxl, folder, add)
