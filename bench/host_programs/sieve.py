"""A sieve by `while`: the primes below n."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1500000


def sieve(n):
    composite = [False] * n
    primes = []
    i = 2
    while i < n:
        if not composite[i]:
            primes.append(i)
            j = i * i
            while j < n:
                composite[j] = True
                j += i
        i += 1
    return primes


primes = sieve(n)
print(len(primes), primes[-1], sum(primes))
