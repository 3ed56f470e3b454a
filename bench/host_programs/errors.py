"""Rows with mistakes: errors that are made, taken and counted by kind, from several calls below."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 150000


class BadRange(Exception):
    pass


def number(text, low, high):
    value = int(text)
    if value < low or value > high:
        raise BadRange(f"{value} is not from {low} to {high}")
    return value


def row_of(line):
    fields = line.split(",")
    return {"id": number(fields[0], 0, 1000000), "age": number(fields[1], 0, 120), "name": fields[2]}


def work(n):
    lines = [f"{i},{i % 150},n{i % 7}" if i % 5 > 0 else f"{i},x{i}" if i % 2 == 0 else f"{i},7" for i in range(n)]
    rows, malformed, ranges, short, ended = [], 0, 0, 0, 0
    for line in lines:
        try:
            rows.append(row_of(line))
        except ValueError:
            malformed += 1
        except BadRange:
            ranges += 1
        except IndexError:
            short += 1
        finally:
            ended += 1
    return len(rows), malformed, ranges, short, ended, sum([row["age"] for row in rows])


print(work(n))
