"""Nested loops over ranges: integer arithmetic and a branch."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 2000


def work(n):
    hits = total = 0
    for i in range(n):
        for j in range(n):
            k = (i * j + 7) % 11
            if k < 4:
                hits += 1
            else:
                total += k
    return hits, total


print(work(n))
