"""Searches that end early: a prime's first factor, a place in a list, a pair with a sum, a word in rows of letters."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 16000


def first_factor(n):
    for d in range(2, n):
        if d * d > n:
            return n
        if n % d == 0:
            return d
    return n


def place(items, wanted):
    low, high = 0, len(items)
    while low < high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return None


def pair_with_sum(items, total):
    seen = {}
    for i, x in enumerate(items):
        if total - x in seen:
            return seen[total - x], i
        seen[x] = i
    return None


def word_at(rows, word):
    for y in range(len(rows)):
        for x in range(len(rows[y])):
            for i, c in enumerate(word):
                if x + i >= len(rows[y]) or rows[y][x + i] != c:
                    break
                if i == len(word) - 1:
                    return x, y
    return None


def work(n):
    factors = sum([first_factor(i) for i in range(2, n)])
    items = [3 * i for i in range(n)]
    places = [place(items, i) for i in range(n)]
    found = len([p for p in places if p is not None])
    pairs = [pair_with_sum(items, 3 * i + 1001) for i in range(200)]
    rows = ["".join(["abcdefgh"[(x * y + x // 3) % 8] for x in range(60)]) for y in range(60)]
    words = [word_at(rows, word) for word in ["abab", "hgfe", "cccd", "fghx", "eeee"] * (n // 2000)]
    return factors, found, len([p for p in pairs if p is None]), words[:5]


factors, found, missing, words = work(n)
print(factors, found, missing, [w if w is not None else "nowhere" for w in words])
