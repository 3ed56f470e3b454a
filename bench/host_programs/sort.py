"""Sorting by key: by a field, by a tuple, by a function, in reverse."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 120000


def records(n):
    seed, rows = 12345, []
    for i in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        rows.append((f"name{seed % 9973}", seed % 1000, i))
    return rows


rows = records(n)
by_number = sorted(rows, key=lambda r: r[1])
by_both = sorted(rows, key=lambda r: (r[0], -r[2]))
backwards = sorted(rows, key=lambda r: r[1] * 3 % 101, reverse=True)
rows.sort(key=lambda r: len(r[0]))
print(by_number[0], by_number[-1], by_both[n // 2], backwards[n // 3], rows[n // 4])
