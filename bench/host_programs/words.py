"""Counting of words: a text is cleaned, split and counted, and the counts are ranked."""
import sys

n = int(sys.argv[1]) if len(sys.argv) > 1 else 40000


def generated(n):
    words = ["Graph", "tensor,", "the", "a", "Shape.", "gradient", "of", "layers;", "THE", "runs", "(planned)", "twice"]
    seed, lines = 7, []
    for i in range(n):
        line = []
        for j in range(12):
            seed = (seed * 1103515245 + 12345) % 2147483648
            line.append(words[seed // 4096 % len(words)] + ("" if seed // 512 % 5 > 0 else str(seed % 30)))
        lines.append(" ".join(line))
    return "\n".join(lines)


def cleaned(word):
    return word.strip(".,;()").lower().replace("-", "")


def work(text):
    counts, first, lengths = {}, {}, {}
    for number, line in enumerate(text.splitlines()):
        for word in [cleaned(w) for w in line.split()]:
            counts[word] = counts.get(word, 0) + 1
            if word not in first:
                first[word] = number
            lengths.setdefault(len(word), []).append(word)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    for word, count in ranked[:10]:
        print(f"{word:>12} {count:6} {first[word]:4}")
    print({size: len(lengths[size]) for size in sorted(lengths)})


work(generated(n))
