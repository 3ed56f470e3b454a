"""Objects: fields read and written, methods that call methods, two classes with a method of one name."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 900000


class Account:
    def __init__(self, owner, rate):
        self.owner = owner
        self.rate = rate
        self.balance = 0
        self.moves = 0

    def pay(self, amount):
        self.balance += amount
        self.moves += 1
        return self

    def fee(self):
        return self.moves * self.rate

    def close(self):
        return self.balance - self.fee()


class Shape:
    def __init__(self, width, height):
        self.width = width
        self.height = height

    def area(self):
        return self.width * self.height


class Disc:
    def __init__(self, radius):
        self.radius = radius

    def area(self):
        return 3 * self.radius * self.radius


def work(n):
    accounts = [Account(f"owner{i}", i % 3) for i in range(50)]
    for i in range(n):
        accounts[i % 50].pay(i % 97).pay(-3)
    shapes = [Shape(i, 2) if i % 2 == 0 else Disc(i) for i in range(100)]
    area = 0
    for i in range(n):
        area += shapes[i % 100].area()
    return sum([a.close() for a in accounts]), accounts[7].owner, area


print(work(n))
