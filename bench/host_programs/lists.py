"""Appends, comprehensions with filters, nested comprehensions, slices."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000


def work(n):
    squares = []
    for i in range(n):
        squares.append(i * i % 1009)
    even = [x for x in squares if x % 2 == 0]
    moved = [x + i for i, x in enumerate(even)]
    by_rest = {x: i for i, x in enumerate(squares)}
    table = [[i * j for j in range(20)] for i in range(n // 40)]
    flat = [x for row in table for x in row if x > 50]
    stack = []
    for x in moved:
        if x % 3 == 0 and len(stack) > 0:
            stack.pop()
        else:
            stack.append(x)
    return len(even), sum(moved), len(by_rest), len(flat), len(stack), sum(squares[::7]), squares[-3:]


print(work(n))
