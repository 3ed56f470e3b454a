"""Training of a tokeniser on 1 MB of text: byte-pair encoding, which merges the most frequent pair of neighbours again and again."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 1000000
merges = 120


def generated(n):
    roots = ["tensor", "graph", "the", "a", "of", "gradient", "layer", "is", "shape", "runs", "model", "and", "to", "weight"]
    ends = ["", "s", "ing", "ed", "er", "", ""]
    seed, words, length = 1, [], 0
    while length < n:
        seed = (seed * 1103515245 + 12345) % 2147483648
        word = roots[seed // 65536 % len(roots)] + roots[seed // 4096 % len(roots)] + ends[seed // 256 % len(ends)]
        words.append(word)
        length += len(word) + 1
    return " ".join(words)


def word_counts(text):
    counts = {}
    for word in text.split(" "):
        counts[word] = counts.get(word, 0) + 1
    return counts


def merged(symbols, left, right):
    result, i = [], 0
    while i < len(symbols):
        if i + 1 < len(symbols) and symbols[i] == left and symbols[i + 1] == right:
            result.append(left + right)
            i += 2
        else:
            result.append(symbols[i])
            i += 1
    return result


def train(text, merges):
    counts = word_counts(text)
    words = {word: list(word) for word in counts}
    rules = []
    for step in range(merges):
        pairs = {}
        for word, symbols in words.items():
            for left, right in zip(symbols, symbols[1:]):
                pairs[(left, right)] = pairs.get((left, right), 0) + counts[word]
        best, most = None, 0
        for pair, count in pairs.items():
            if count > most or count == most and pair < best:
                best, most = pair, count
        if best is None:
            break
        rules.append(best)
        words = {word: merged(symbols, best[0], best[1]) for word, symbols in words.items()}
    return rules, words


text = generated(n)
rules, words = train(text, merges)
tokens = sum([len(words[word]) for word in text.split(" ")])
print(len(text), len(words), tokens)
for left, right in rules:
    print(left, right)
