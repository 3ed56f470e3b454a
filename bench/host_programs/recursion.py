"""Recursive functions: Fibonacci, Ackermann's function, Hanoi, permutations."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 30


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def ackermann(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


def hanoi(disks, source, target, spare, moves):
    if disks == 0:
        return moves
    moves = hanoi(disks - 1, source, spare, target, moves)
    return hanoi(disks - 1, spare, target, source, moves + 1)


def permutations(items, prefix, found):
    if len(items) == 0:
        found.append(prefix)
    for i in range(len(items)):
        permutations(items[:i] + items[i + 1:], prefix + [items[i]], found)


found = []
permutations(list(range(n // 3 - 1)), [], found)
print(fibonacci(n), ackermann(2, n * 4), hanoi(n - 9, "a", "b", "c", 0), len(found), found[-2])
