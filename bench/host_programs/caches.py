"""A cache of the values used last: a dict in order of use, from which the oldest key is taken."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 300000


def work(n, room):
    cache, hits, seed = {}, 0, 1
    for i in range(n):
        seed = (seed * 1103515245 + 12345) % 2147483648
        key = f"page{seed // 8192 % 9000}"
        found = cache.pop(key, None)
        if found is None:
            found = (i, key)
            if len(cache) >= room:
                for oldest in cache:
                    break
                cache.pop(oldest)
        else:
            hits += 1
        cache[key] = found
    return hits, len(cache), sum([i for i, key in cache.values()])


print(work(n, 3000))
