"""The game of life on an unbounded board: a dict of pairs."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000


def step(alive):
    counts = {}
    for x, y in alive:
        for dx in [-1, 0, 1]:
            for dy in [-1, 0, 1]:
                if dx != 0 or dy != 0:
                    cell = (x + dx, y + dy)
                    counts[cell] = counts.get(cell, 0) + 1
    return {cell: True for cell, count in counts.items() if count == 3 or count == 2 and cell in alive}


alive = {(x, y): True for x, y in [(1, 0), (2, 0), (0, 1), (1, 1), (1, 2), (40, 3), (41, 3), (42, 3), (42, 2), (41, 1)]}
sizes = []
for generation in range(n):
    alive = step(alive)
    sizes.append(len(alive))
print(sizes[-8:], max(sizes), sorted(alive)[:3])
