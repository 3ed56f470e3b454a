#!/usr/bin/env python3
"""The loops of bench/script.pxl in Python: nanoseconds of each, the best of some rounds.

usage: bench/script_python.py [TIMES] [ROUNDS]
"""
import sys
import time


def empty(n):
    i = 0
    while i < n:
        i += 1


def names(n):
    i = 0
    a = b = 1
    while i < n:
        c = a
        a = b
        b = c
        i += 1


def arithmetic(n):
    i = 0
    x = 0.5
    while i < n:
        x = (x * 1.5 + 0.25) % 7.0 - 1.0
        i += 1


def nothing(a, b):
    return a


def calls(n):
    i = 0
    while i < n:
        nothing(i, 2)
        i += 1


def calls_by_name(n):
    i = 0
    while i < n:
        nothing(b=i, a=2)
        i += 1


class Counter:
    def __init__(self):
        self.count = 0


def members(n):
    counter = Counter()
    i = 0
    while i < n:
        counter.count += 1
        i += 1


def elements(n):
    items = [1, 2, 3]
    i = 0
    while i < n:
        items[1] = items[0]
        i += 1


def iteration(n):
    for i in range(n):
        pass


LOOPS = {"while, compare, add": empty, "3 assignments of names": names, "4 operators on floats": arithmetic, "call": calls,
         "call by name": calls_by_name, "add to a member": members, "copy an element": elements,
         "for over a range": iteration}


def main():
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 100000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for name, loop in LOOPS.items():
        best = float("inf")
        for _ in range(rounds):
            start = time.perf_counter()
            loop(times)
            best = min(best, time.perf_counter() - start)
        print(f"R {name:<24} {1e9 * best / times:8.1f} ns")


if __name__ == "__main__":
    main()
