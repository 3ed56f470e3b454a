"""Queens on a board by backtracking: lists changed in place and restored."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 12


def solutions(n):
    columns, rising, falling = [False] * n, [False] * (2 * n), [False] * (2 * n)
    board, count, first = [], 0, None

    def place(row):
        nonlocal count, first
        if row == n:
            count += 1
            if first is None:
                first = board.copy()
            return None
        for column in range(n):
            if columns[column] or rising[row + column] or falling[row - column + n]:
                continue
            columns[column] = rising[row + column] = falling[row - column + n] = True
            board.append(column)
            place(row + 1)
            board.pop()
            columns[column] = rising[row + column] = falling[row - column + n] = False
        return None
    place(0)
    return count, first


print(solutions(n), solutions(n - 1))
