"""A text built piece by piece, then searched by methods, by index and by slices."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 600000


def built(n):
    text = ""
    for i in range(n):
        if i % 3 == 0:
            text += "needle"
        else:
            text += str(i % 1000)
        text += " "
    return text


def words_with(text, part):
    count = 0
    for word in text.split(" "):
        if part in word or word.startswith("9"):
            count += 1
    return count


def vowels(text):
    count = 0
    for c in text:
        if c == "e" or c == "d":
            count += 1
    return count


def pairs(text, n):
    count = 0
    for i in range(n):
        if text[i] == text[i + 1] or text[i:i + 3] == "dle":
            count += 1
    return count


text = built(n)
print(len(text), text.find("999"), text.count("needle"), text.rfind("needle"))
print(words_with(text, "dle"), vowels(text), pairs(text, n), len(text.replace("needle", "pin").upper()))
