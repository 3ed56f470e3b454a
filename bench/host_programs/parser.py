"""A parser of arithmetic by recursive descent over characters, and an evaluator of the trees that it makes."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 12000


class Parser:
    def __init__(self, text):
        self.text = text
        self.at = 0

    def next(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def skip(self):
        while self.next() == " ":
            self.at += 1

    def expression(self):
        left = self.term()
        self.skip()
        while self.next() == "+" or self.next() == "-":
            op = self.next()
            self.at += 1
            left = (op, left, self.term())
            self.skip()
        return left

    def term(self):
        left = self.factor()
        self.skip()
        while self.next() == "*" or self.next() == "%":
            op = self.next()
            self.at += 1
            left = (op, left, self.factor())
            self.skip()
        return left

    def factor(self):
        self.skip()
        if self.next() == "(":
            self.at += 1
            inner = self.expression()
            self.skip()
            assert self.next() == ")"
            self.at += 1
            return inner
        begin = self.at
        while self.next().isdigit():
            self.at += 1
        if self.at > begin:
            return int(self.text[begin:self.at])
        while self.next().isalnum():
            self.at += 1
        return self.text[begin:self.at]


def value(tree, names):
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return names[tree]
    op, left, right = tree
    a, b = value(left, names), value(right, names)
    if op == "+":
        return a + b
    if op == "-":
        return a - b
    if op == "*":
        return a * b % 1000003
    return a % (b * b + 1)


def work(n):
    total = 0
    for i in range(n):
        text = f"({i} + width * 3) % 17 - (height * ({i % 7} + x{i % 3}) + 12 * {i}) * 2 + ((1))"
        total += value(Parser(text).expression(), {"width": i, "height": 5, "x0": 1, "x1": 2, "x2": i % 5})
    return total


print(work(n))
