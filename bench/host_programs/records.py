"""Records of sales, as values that do not change: made, grouped by a record as a key, changed by copies and ranked."""
import sys
from typing import NamedTuple

n = int(sys.argv[1]) if len(sys.argv) > 1 else 120000


class Sale(NamedTuple):
    day: int
    shop: str
    goods: str
    price: float


class Group(NamedTuple):
    shop: str
    goods: str


class Sum(NamedTuple):
    count: int
    total: float


def generated(n):
    shops, goods = ["north", "east", "south", "west"], ["tea", "rice", "salt", "oats", "milk"]
    return [Sale(i % 365, shops[i * 7 % 4], goods[i * 11 % 5], i % 97 * 0.25) for i in range(n)]


def work(n):
    sums = {}
    for sale in generated(n):
        key = Group(sale.shop, sale.goods)
        was = sums.get(key, None)
        if was is None:
            was = Sum(0, 0.0)
        sums[key] = was._replace(count=was.count + 1, total=was.total + sale.price)
    ranked = sorted(sums.items(), key=lambda item: (-item[1].total, item[0].shop, item[0].goods))
    for group, found in ranked[:6]:
        print(f"{group.shop:<6} {group.goods:<5} {found.count:6} {found.total:12.2f}")


work(n)
