"""Functions as values: closures with a state, composition, map and filter, arguments by name and by star."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 400000


def counter(step):
    count = 0

    def next(by=1):
        nonlocal count
        count += step * by
        return count
    return next


def composed(*functions):
    def apply(x):
        for f in functions:
            x = f(x)
        return x
    return apply


def weighted(a, b, c=3, scale=1):
    return (a + 2 * b + c) * scale


def work(n):
    next, total = counter(3), 0
    for i in range(n):
        total += next() + next(by=2)
    chain = composed(lambda x: x + 1, lambda x: x * 3, lambda x: x % 1009)
    for i in range(n):
        total += chain(i)
    adders = [lambda x, k=k: x + k for k in range(10)]
    for i in range(n):
        total += adders[i % 10](i)
    for i in range(n):
        total += weighted(i, scale=2, b=1) + weighted(*(i, 2, 4))
    odd = list(filter(lambda x: x % 2 == 1, map(lambda x: x * x, range(n))))
    return total, len(odd), sum(odd)


print(work(n))
