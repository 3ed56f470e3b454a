"""A priority queue as a binary heap, and shortest paths in a grid with it."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 260


def push(heap, item):
    heap.append(item)
    i = len(heap) - 1
    while i > 0:
        parent = (i - 1) // 2
        if heap[parent] <= heap[i]:
            break
        heap[parent], heap[i] = heap[i], heap[parent]
        i = parent


def pop(heap):
    top, last = heap[0], heap.pop()
    if len(heap) == 0:
        return top
    heap[0] = last
    i = 0
    while True:
        child = 2 * i + 1
        if child >= len(heap):
            break
        if child + 1 < len(heap) and heap[child + 1] < heap[child]:
            child += 1
        if heap[i] <= heap[child]:
            break
        heap[i], heap[child] = heap[child], heap[i]
        i = child
    return top


def neighbours(x, y, n):
    return [(a, b) for a, b in [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)] if 0 <= a < n and 0 <= b < n]


def distances(n):
    best = {(0, 0): 0}
    done = {}
    heap = [(0, 0, 0)]
    while len(heap) > 0:
        distance, x, y = pop(heap)
        if (x, y) in done:
            continue
        done[(x, y)] = True
        for a, b in neighbours(x, y, n):
            far = distance + (a * 7 + b * 13) % 10 + 1
            if (a, b) not in best or far < best[(a, b)]:
                best[(a, b)] = far
                push(heap, (far, a, b))
    return best


best = distances(n)
print(len(best), best[(n - 1, n - 1)], best[(n // 2, 3)], sum(best.values()))
