"""Streams by closures: each stage is a function that gives the next element, or None at the end."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 500000


def counted(n):
    i = -1

    def next():
        nonlocal i
        i += 1
        return i if i < n else None
    return next


def mapped(source, f):
    def next():
        x = source()
        return None if x is None else f(x)
    return next


def kept(source, test):
    def next():
        while True:
            x = source()
            if x is None or test(x):
                return x
    return next


def in_pairs(source):
    def next():
        a, b = source(), source()
        return None if b is None else (a, b)
    return next


def work(n):
    stages = in_pairs(kept(mapped(counted(n), lambda x: x * x % 1009), lambda x: x % 3 != 0))
    total, count = 0, 0
    while True:
        pair = stages()
        if pair is None:
            break
        low, high = min(pair), max(pair)
        total += high - low
        count += 1
    return total, count


print(work(n))
