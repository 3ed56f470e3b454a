"""Edit distances of words, by rows of a table, and the nearest words of a list."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 140


def distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            cost = 0 if x == y else 1
            row.append(min(before[j + 1] + 1, row[j] + 1, before[j] + cost))
        before = row
    return before[-1]


def generated(n):
    parts = ["gra", "ten", "sor", "pro", "gram", "la", "yer", "shape", "ba", "tch"]
    seed, words = 5, []
    for i in range(n):
        word = ""
        for j in range(2 + i % 3):
            seed = (seed * 1103515245 + 12345) % 2147483648
            word += parts[seed // 65536 % len(parts)]
        words.append(word)
    return words


def work(words):
    total, nearest = 0, {}
    for a in words:
        for b in words:
            if a == b:
                continue
            far = distance(a, b)
            total += far
            if a not in nearest or far < nearest[a][0]:
                nearest[a] = (far, b)
    return total, [f"{a}: {b} ({far})" for a, (far, b) in sorted(nearest.items())[:5]]


print(work(generated(n)))
