"""Files that NumPy, Pillow and Python's wave and csv modules write, read by pxl, and the other way round.

    /usr/bin/python3 tests/runtime/formats_peers.py build/release/pxl FOLDER

Writes the files of each format into FOLDER and prints a JSON line for each check: {"name", "problem"}.
"""
import csv
import ctypes
import json
import math
import os
import pathlib
import subprocess
import sys
import time
import warnings
import wave
import zipfile

import numpy
from PIL import Image

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support.memory import is_sanitized, within

PXL, FOLDER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
random = numpy.random.default_rng(3)


def pxl(text):
    (FOLDER / "script.pxl").write_text(text)
    begin = time.perf_counter()
    done = subprocess.run([str(PXL), "script.pxl"], cwd=FOLDER, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise AssertionError(done.stdout[-800:] + done.stderr[-1500:])
    return time.perf_counter() - begin


def same(a, b):
    assert a.dtype == b.dtype and a.shape == b.shape, f"{a.dtype}{a.shape}, expected {b.dtype}{b.shape}"
    assert numpy.array_equal(a, b), "other values"


def as_npy(name):
    return f'save("back.npy", load("{name}"))'


def npz():
    arrays = {"w": random.normal(size=(3, 4)).astype("f4"), "i": numpy.arange(5), "deep/name": numpy.zeros((0, 2)),
              "fortran": numpy.asfortranarray(random.normal(size=(2, 3)))}
    for write in (numpy.savez, numpy.savez_compressed):
        write(FOLDER / "in.npz", **arrays)
        pxl('save("out.npz", load("in.npz"))')
        back = numpy.load(FOLDER / "out.npz")
        assert list(back) == list(arrays), list(back)
        for name, a in arrays.items():
            same(back[name], a)
    first = (FOLDER / "out.npz").read_bytes()
    time.sleep(2.1)  # times of members have a grain of 2 s
    pxl('save("out.npz", load("in.npz"))')
    assert (FOLDER / "out.npz").read_bytes() == first, "other bytes at another time"


def npz_with_a_name_twice():
    with warnings.catch_warnings(), zipfile.ZipFile(FOLDER / "twice.npz", "w") as archive:
        warnings.simplefilter("ignore")
        for value in (1, 2):
            with archive.open("a.npy", "w") as member:
                numpy.save(member, numpy.array([value], "f4"))
    pxl('with expect_error("it has two members `a.npy`") { load("twice.npz") }')


def safetensors():
    x = random.normal(size=(3, 5)).astype("f4")
    upper = (x.view("u4") >> 16).astype("u2")  # bfloat16, rounded towards 0
    patterns = bytes(range(256))
    parts = {"bf": ("BF16", [3, 5], upper.tobytes()), "e4": ("F8_E4M3", [16, 16], patterns), "e5": ("F8_E5M2", [256], patterns), "n": ("I64", [2], numpy.array([1, -2]).tobytes())}
    header, data = {"__metadata__": {"made": "by hand"}}, b""
    for name, (dtype, shape, content) in parts.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    (FOLDER / "in.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    pxl('d = load("in.safetensors")\nsave("back.npy", d["bf"])\nsave("wide.npy", cast(d["bf"], float32))\nsave("n.npy", d["n"])\nsave("out.safetensors", d)\n'
        'for name in ["e4", "e5"] { save(f"{name}.npy", host_pow2scale_cast_from_fp8(d[name], float32)) }\n'
        'assert read_metadata("in.safetensors") == {"made": "by hand"}\n'
        'save("narrow.safetensors", d, dtype = bfloat16, metadata = {"made": "again"})')
    wide = (upper.astype("u4") << 16).view("f4")
    same(numpy.load(FOLDER / "wide.npy"), wide)
    for name, fraction_bits, bias, largest in (("e4", 3, 7, 0x7E), ("e5", 2, 15, 0x7B)):
        magnitude = numpy.arange(128)
        exponent, fraction = magnitude >> fraction_bits, magnitude % (1 << fraction_bits) / (1 << fraction_bits)
        values = numpy.ldexp(numpy.where(exponent == 0, fraction, 1 + fraction), numpy.maximum(exponent, 1) - bias)
        values[largest + 1:] = numpy.nan
        if name == "e5":
            values[0x7C] = numpy.inf
        got = numpy.load(FOLDER / f"{name}.npy").reshape(-1)
        assert got.dtype == "f4" and numpy.array_equal(got, numpy.concatenate([values, -values]), equal_nan=True), name
        assert (numpy.signbit(got[128:]) | numpy.isnan(got[128:])).all(), "the negative zero"
    # NumPy has no bfloat16: its files say that elements have 2 bytes.
    back = numpy.load(FOLDER / "back.npy")
    assert back.dtype == numpy.dtype("V2"), back.dtype
    same(back.view("u2"), upper)
    numpy.save(FOLDER / "given.npy", back)
    pxl('x = load("given.npy")\nassert x.dtype == bfloat16\nsave("again.npy", x)')
    assert (FOLDER / "again.npy").read_bytes() == (FOLDER / "back.npy").read_bytes(), "other bytes"
    same(numpy.load(FOLDER / "n.npy"), numpy.array([1, -2]))
    written = (FOLDER / "out.safetensors").read_bytes()
    begin = 8 + int.from_bytes(written[:8], "little")
    entries = json.loads(written[8:begin])
    for name, code in (("e4", "F8_E4M3"), ("e5", "F8_E5M2")):
        first, last = entries[name]["data_offsets"]
        assert entries[name]["dtype"] == code and written[begin + first:begin + last] == patterns, name
    entry = entries["bf"]
    assert (entry["dtype"], entry["shape"]) == ("BF16", [3, 5])
    first, last = entry["data_offsets"]
    assert written[begin + first:begin + last] == upper.tobytes(), "other bits"
    # Values of bfloat16 as bfloat16: the same bytes.
    written = (FOLDER / "narrow.safetensors").read_bytes()
    begin = 8 + int.from_bytes(written[:8], "little")
    header = json.loads(written[8:begin])
    assert header["__metadata__"] == {"format": "pxl", "made": "again"}, header["__metadata__"]
    assert header["bf"]["dtype"] == "BF16" and header["n"]["dtype"] == "I64", header
    first, last = header["bf"]["data_offsets"]
    assert written[begin + first:begin + last] == upper.tobytes(), "other bits"


def huge():
    """10 GB of arrays, sparse on the disk: opening costs no memory for them, and one array is one read."""
    rows, columns = 250_000, 1000
    header = {f"w{i}": {"dtype": "F32", "shape": [rows, columns], "data_offsets": [i * rows * columns * 4, (i + 1) * rows * columns * 4]}
              for i in range(10)}
    header["last"] = {"dtype": "F32", "shape": [2], "data_offsets": [10**10, 10**10 + 8]}
    text = json.dumps(header).encode()
    path = FOLDER / "huge.safetensors"
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        f.seek(10**10, 1)
        f.write(numpy.array([3, 4], "f4").tobytes())
    try:
        (FOLDER / "huge.pxl").write_text('d = load("huge.safetensors")\nprint(len(d), d["w3"].shape, d["last"])')
        command, env = within(4, PXL, "huge.pxl")
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=60, env=dict(os.environ, **env))
        assert done.stdout == f"11 ({rows}, {columns}) [3. 4.]\n", done.stdout[-300:] + done.stderr[-800:]
    finally:
        path.unlink()


def images():
    for mode, shape in (("L", (5, 7)), ("RGB", (5, 7, 3)), ("RGBA", (5, 7, 4))):
        a = random.integers(0, 256, shape, dtype="u1")
        Image.fromarray(a, mode).save(FOLDER / "in.png")
        pxl(as_npy("in.png") + '\nsave("out.png", load("in.png"))')
        same(numpy.load(FOLDER / "back.npy"), a)
        same(numpy.asarray(Image.open(FOLDER / "out.png")), a)
    palette = Image.fromarray(random.integers(0, 256, (9, 9, 3), dtype="u1")).convert("P")
    palette.save(FOLDER / "palette.png")
    pxl(as_npy("palette.png"))
    same(numpy.load(FOLDER / "back.npy"), numpy.asarray(palette.convert("RGB")))
    smooth = numpy.add.outer(numpy.arange(40) * 3, numpy.arange(33) * 4)[..., None] + numpy.array([0, 20, 40])
    for a in (smooth.clip(0, 255).astype("u1"), smooth[..., 0].clip(0, 255).astype("u1")):
        for progressive in (False, True):
            Image.fromarray(a).save(FOLDER / "in.jpg", quality=90, progressive=progressive)
            pxl(as_npy("in.jpg"))
            back, peer = numpy.load(FOLDER / "back.npy"), numpy.asarray(Image.open(FOLDER / "in.jpg"))
            assert back.shape == peer.shape and numpy.abs(back.astype(int) - peer).max() <= 2, "other pixels than Pillow's"


def sounds():
    for channels in (1, 2):
        samples = random.integers(-32768, 32768, (50, channels)).astype("<i2")
        with wave.open(str(FOLDER / "in.wav"), "wb") as w:
            w.setnchannels(channels), w.setsampwidth(2), w.setframerate(22050)
            w.writeframes(samples.tobytes())
        pxl('s = load("in.wav")\nassert s["rate"] == 22050\nsave("back.npy", s["samples"])\nsave("out.wav", s)')
        same(numpy.load(FOLDER / "back.npy"), (samples / 32768).astype("f4").squeeze())
        with wave.open(str(FOLDER / "out.wav")) as w:
            assert (w.getnchannels(), w.getsampwidth(), w.getframerate()) == (channels, 2, 22050)
            heard = numpy.frombuffer(w.readframes(w.getnframes()), "<i2").reshape(-1, channels)
        assert numpy.abs(heard.astype(int) - samples).max() <= 1, "other samples"


class SoundInfo(ctypes.Structure):
    """libsndfile's SF_INFO."""
    _fields_ = [("frames", ctypes.c_int64), *((name, ctypes.c_int) for name in ("rate", "channels", "format", "sections", "seekable"))]


def packed_sounds():
    """FLAC, which loses nothing of 16 bits, and Ogg Vorbis, which sounds alike, as libsndfile writes them."""
    library = ctypes.CDLL("libsndfile.so.1")
    library.sf_open.restype = ctypes.c_void_p
    flac, ogg = 0x170000 | 2, 0x200000 | 0x60  # SF_FORMAT_FLAC of 16 bits, SF_FORMAT_OGG with Vorbis
    waves = numpy.sin(numpy.arange(500)[:, None] * [0.05, 0.11]).astype("f4") / 2
    for name, kind, apart in (("in.flac", flac, 1 / 32768), ("in.ogg", ogg, 0.1)):
        for channels in (1, 2):
            samples = numpy.ascontiguousarray(waves[:, :channels])
            sound = library.sf_open(str(FOLDER / name).encode(), 0x20, ctypes.byref(SoundInfo(0, 22050, channels, kind, 0, 0)))
            assert sound, "libsndfile cannot write it"
            written = library.sf_writef_float(ctypes.c_void_p(sound), samples.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(len(samples)))
            library.sf_close(ctypes.c_void_p(sound))
            assert written == len(samples), written
            pxl(f's = load("{name}")\nassert s["rate"] == 22050\nsave("back.npy", s["samples"])')
            back = numpy.load(FOLDER / "back.npy").reshape(len(samples), channels)
            assert numpy.abs(back - samples).max() <= apart, f"{name}: other samples, by {numpy.abs(back - samples).max()}"


def tables():
    columns = {"n": random.integers(-9, 10**6, 1000), "x": random.normal(size=1000).astype("f4"),
               "s": [("a,b", 'say "x"', "two\nlines", "é", " blank ")[i % 5] for i in range(1000)]}
    with open(FOLDER / "in.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(columns)
        w.writerows(zip(*columns.values()))
    pxl('t = load("in.csv")\nsave("n.npy", t["n"])\nsave("x.npy", t["x"])\nsave("out.tsv", t)')
    same(numpy.load(FOLDER / "n.npy"), columns["n"].astype("i4"))
    same(numpy.load(FOLDER / "x.npy"), columns["x"])
    with open(FOLDER / "out.tsv", newline="") as f:
        rows = list(csv.reader(f, delimiter="\t"))
    assert rows[0] == list(columns) and [r[2] for r in rows[1:]] == columns["s"], "other texts"
    assert numpy.array_equal(numpy.array([r[1] for r in rows[1:]], "f4"), columns["x"]), "numbers that are not exact"


def late_kinds():
    """Columns whose last row alone says what they hold, and decimals of up to 20 digits."""
    count = 3000
    decimals = [f"{'-' * (i % 2)}{random.integers(0, 10 ** (i % 19))}.{str(random.integers(0, 10 ** 18))[:i % 18]}" for i in range(count)]
    rows = [[str(i), "", "true", str(i), str(i), decimals[i]] for i in range(count - 1)]
    rows.append(["1.5", "2.5", "maybe", str(2 ** 40), "x\ny", decimals[-1]])
    for end in ("\n", "\r\n"):
        with open(FOLDER / "late.csv", "w", newline="") as f:
            w = csv.writer(f, lineterminator=end)
            w.writerow("abcdef")
            for row in rows:
                w.writerow(row)
                f.write(end * (row is rows[7]))  # a line without fields
        pxl('t = load("late.csv", dtype = float64)\nassert t["c"] == ["true"] * 2999 + ["maybe"]\nassert t["e"][2998:] == ["2998", "x\\ny"]\n'
            'for n in "abdf" { save(n + ".npy", t[n]) }')
        same(numpy.load(FOLDER / "a.npy"), numpy.array([*range(count - 1), 1.5]))
        same(numpy.load(FOLDER / "b.npy")[-1:], numpy.array([2.5]))
        assert numpy.isnan(numpy.load(FOLDER / "b.npy")[:-1]).all()
        same(numpy.load(FOLDER / "d.npy"), numpy.array([*range(count - 1), 2 ** 40]))
        same(numpy.load(FOLDER / "f.npy"), numpy.array([float(d) for d in decimals]))
    (FOLDER / "short.csv").write_text((FOLDER / "late.csv").read_text() + "1,2\n")
    pxl('with expect_error("2 fields, where the first row has 6") { load("short.csv") }')


def large_table():
    """14 MB of numbers, in at most twice the time that Python's csv module takes to split it into strings."""
    values = random.normal(size=(140_000, 10)).round(6)
    numpy.savetxt(FOLDER / "large.csv", values, fmt="%.6f", delimiter=",")
    assert (FOLDER / "large.csv").stat().st_size > 12e6
    split = took = math.inf
    for _ in range(5):  # in turn, the shortest of each: a busy machine takes time from either
        begin = time.perf_counter()
        with open(FOLDER / "large.csv", newline="") as f:
            count = sum(len(row) for row in csv.reader(f))
        split = min(split, time.perf_counter() - begin)
        took = min(took, pxl('t = load("large.csv", dtype = float64)\nsave("back.npy", t["9"])'))
        assert count == values.size
        if took < 2 * split:
            break
    assert numpy.array_equal(numpy.load(FOLDER / "back.npy"), values[:, 9])
    # A build with sanitizers is not measured.
    assert is_sanitized(PXL) or took < 2 * split, f"{took:.2f} s, and Python's csv module {split:.2f} s"


for check in (npz, npz_with_a_name_twice, safetensors, huge, images, sounds, packed_sounds, tables, late_kinds, large_table):
    try:
        check()
        problem = None
    except Exception as e:  # what went wrong is the report
        problem = f"{type(e).__name__}: {e}"
    print(json.dumps({"name": check.__name__, "problem": problem}), flush=True)
