"""Matrices as lists of lists: a product by three loops, a product by comprehensions, a determinant by elimination."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 150


def made(n, seed):
    rows = []
    for i in range(n):
        row = []
        for j in range(n):
            seed = (seed * 1103515245 + 12345) % 2147483648
            row.append(seed % 1000 / 500 - 1)
        rows.append(row)
    return rows


def product(a, b):
    n, m, k = len(a), len(b[0]), len(b)
    c = [[0.0] * m for i in range(n)]
    for i in range(n):
        for j in range(m):
            total = 0.0
            for p in range(k):
                total += a[i][p] * b[p][j]
            c[i][j] = total
    return c


def short_product(a, b):
    columns = list(zip(*b))
    return [[sum([x * y for x, y in zip(row, column)]) for column in columns] for row in a]


def determinant(a):
    a = [row.copy() for row in a]
    n, result = len(a), 1.0
    for i in range(n):
        best = i
        for r in range(i + 1, n):
            if abs(a[r][i]) > abs(a[best][i]):
                best = r
        if best != i:
            a[i], a[best] = a[best], a[i]
            result = -result
        result *= a[i][i]
        for r in range(i + 1, n):
            factor = a[r][i] / a[i][i]
            for j in range(i, n):
                a[r][j] -= factor * a[i][j]
    return result


a, b = made(n, 1), made(n, 2)
c, d = product(a, b), short_product(a, b)
print(c[3][5], int(c == d), determinant(a), sum([c[i][i] for i in range(n)]))
