"""JSON of 10 MB: written to a text, read again, and summed."""
import json
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 56000


def records(n):
    items = []
    for i in range(n):
        items.append({"id": i, "name": f"record number {i}", "tags": ["red", "green", f"t{i % 100}"], "price": i * 0.375,
                      "active": i % 3 == 0, "parent": None if i % 4 == 0 else i // 2,
                      "place": {"x": i % 1000, "y": -i / 16, "note": "a \"quoted\" line\nand é"}})
    return items


def to_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


text = to_json(records(n))
items = json.loads(text)
price, y, tags, roots = 0, 0, 0, 0
for item in items:
    price += item["price"]
    y += item["place"]["y"]
    tags += len(item["tags"])
    if item["parent"] is None:
        roots += 1
print(len(text), len(items), price, y, tags, roots)
print(items[n // 2]["place"], len(to_json(items)))
