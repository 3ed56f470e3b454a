"""Random tables in text: the dtype of each column, its values, or its error, against what docs/formats.md says.

    python3 tests/fuzz/tables.py --seconds 60 --seed 7

Table N of a seed is always the same; a finding is printed with its text.
"""
import json
import math
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

from frame import batches, options

MISSING = ["", "NA", "n/a", "null", "nan"]
# The fields of a column are drawn from these lists; several of these make one column.
FIELDS = {
    "small": ["0", "7", "-3", "007", "+12", "2147483647"], "wide": ["2147483648", "-9223372036854775808", "9007199254740993"],
    "ids": ["16777217", "-20000001", "9007199254740991"], "huge": ["18446744073709551615", "9223372036854775808"],
    "fractions": ["0.5", "-1e-3", "3.25", "1e10", ".5", "16777217.5"], "large": ["1e39", "-3.5e38", "1e300"], "beyond": ["1e400", "-2e999"],
    "infinite": ["inf", "-inf"], "bools": ["true", "FALSE"], "texts": ["x", "a b", "1 2", "12a", "--1"], "missing": MISSING,
}
NUMBERS = {t for kind in ("small", "wide", "ids", "huge", "fractions", "large", "beyond", "infinite") for t in FIELDS[kind]}
INTEGERS = {t for kind in ("small", "wide", "ids", "huge") for t in FIELDS[kind]}


def as_float32(x):
    try:
        return struct.unpack("f", struct.pack("f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def expected(fields):
    """(dtype, values) of a column, or the words of its error."""
    texts = [t for t, _ in fields]
    stripped = [t.strip(" ") for t in texts]
    if all(t in FIELDS["bools"] for t in stripped):
        return "bool", [t == "true" for t in stripped]
    numbers = [t for t in stripped if t not in MISSING]
    if any(t not in NUMBERS for t in numbers) or (not numbers and any(quoted for _, quoted in fields)):
        return "text", texts
    if any(t in FIELDS["beyond"] for t in numbers):
        return "beyond float64", None
    is_missing = len(numbers) < len(texts)
    if numbers and all(t in INTEGERS for t in numbers):
        values = [int(t) for t in numbers]
        if not is_missing:
            for dtype, low, high in (("int32", -2**31, 2**31 - 1), ("int64", -2**63, 2**63 - 1), ("uint64", 0, 2**64 - 1)):
                if all(low <= v <= high for v in values):
                    return dtype, values
        largest = max(abs(v) for v in values)
        if largest >= 2**53:
            return "of too many digits", None
        return ("float32" if largest <= 2**24 else "float64"), [None if t in MISSING else float(t) for t in stripped]
    finite = [abs(float(t)) for t in numbers if t not in FIELDS["infinite"]]
    narrow = all(math.isfinite(as_float32(v)) for v in finite)
    return ("float32" if narrow else "float64"), [
        None if t in MISSING or t in FIELDS["infinite"] else as_float32(float(t)) if narrow else float(t) for t in stripped]


def made(seed, number):
    """The columns of a table, and its text."""
    r = random.Random(f"{seed} {number}")
    rows = r.choice([1, 2, 3, 8, 8, 1500])
    columns = []
    for _ in range(r.randint(1, 3)):
        kinds = r.sample(sorted(FIELDS), r.choice([1, 1, 2, 2, 3]))
        common, rare = kinds[0], kinds[1:] or kinds
        column = []
        for _ in range(rows):
            text = r.choice(FIELDS[common if r.random() < (0.999 if rows > 100 else 0.6) else r.choice(rare)])
            column.append((text, r.random() < 0.1 or " " in text))
        columns.append(column)
    if len(columns) == 1:  # an empty line is no row
        columns[0] = [(t, quoted or not t) for t, quoted in columns[0]]
    lines = [",".join(f"c{i}" for i in range(len(columns)))]
    for row in zip(*columns):
        lines.append(",".join(f'"{t}"' if quoted else t if r.random() < 0.9 else f" {t}" if t else t for t, quoted in row))
        if r.random() < 0.05:
            lines.append("")
    # Blanks beside an unquoted text belong to it.
    columns = [[(t, q) for t, q in c] for c in columns]
    return columns, "\n".join(lines) + r.choice(["\n", "", "\r\n"])


def script(count):
    return f"""
for i in range({count}) {{
  words = read_text(f"{{i}}.words")
  if len(words) > 0 {{
    with expect_error(words) {{ load(f"{{i}}.csv", header = true) }}
    print("null")
  }} else {{
    t = load(f"{{i}}.csv", header = true)
    print(to_json({{k: [str(v.dtype) if hasattr(v, "dtype") else "text", v] for k, v in t.items()}}))
  }}
}}
"""


def batch(pxl, seed, numbers):
    with tempfile.TemporaryDirectory() as folder:
        place, wanted = pathlib.Path(folder), []
        for i, number in enumerate(numbers):
            columns, text = made(seed, number)
            results = [expected(c) for c in columns]
            errors = [words for words, values in results if values is None]
            (place / f"{i}.csv").write_bytes(text.encode())
            (place / f"{i}.words").write_text(errors[0] if errors else "")
            wanted.append(None if errors else {f"c{k}": list(v) for k, v in enumerate(results)})
        (place / "s.pxl").write_text(script(len(numbers)))
        done = subprocess.run([str(pxl), "s.pxl"], cwd=folder, capture_output=True, text=True, timeout=600)
        lines = done.stdout.splitlines()
        for i, number in enumerate(numbers):
            got = json.loads(lines[i]) if i < len(lines) else done.stderr[-1000:]
            if got != wanted[i] and not same(got, wanted[i]):
                return [(number, made(seed, number)[1][:300], got if len(str(got)) < 600 else "", wanted[i] if len(str(wanted[i])) < 600 else "")]
    return []


def same(got, wanted):
    """Texts keep the blanks before them, which the generator adds at random."""
    if not isinstance(got, dict) or wanted is None or list(got) != list(wanted):
        return False
    clean = lambda column: [v.strip(" ") if isinstance(v, str) else v for v in column[1]]
    return all(got[k][0] == wanted[k][0] and clean(got[k]) == clean(wanted[k]) for k in got)


def main():
    given = options(__doc__, seconds=60, seed=7)
    for numbers in batches(given.seconds, 200):
        if failures := batch(given.pxl, given.seed, numbers):
            break
    for number, text, got, wanted in failures:
        print(f"--seed {given.seed}, table {number}:\n{text}\ngot {got}\nexpected {wanted}")
    print(f"{numbers.stop} tries, {len(failures)} failures")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
