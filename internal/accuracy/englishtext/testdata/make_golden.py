#!/usr/bin/env python3
"""Writes golden.json.gz: texts, each with the result of openai-whisper's EnglishTextNormalizer
(v20250625). The texts are those of texts.json, and random ones made of words of numbers, short
forms, words with other spellings, marks and accents. Needs the packages more-itertools and regex.

    make_golden.py DIRECTORY_OF_WHISPER [SEED COUNT FILE]
"""
import gzip, json, os, random, sys, types

for name in ("whisper", "whisper.normalizers"):  # whose __init__ need PyTorch
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [os.path.join(sys.argv[1], *name.split("."))]
from whisper.normalizers.english import EnglishTextNormalizer

here = os.path.dirname(os.path.abspath(__file__))
normalize = EnglishTextNormalizer()
n = normalize.standardize_numbers
seed, count, out = (int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 2 else (3, 1500, os.path.join(here, "golden.json.gz"))
rng = random.Random(seed)
numbers = sorted(n.words)
british = sorted(normalize.standardize_spellings.mapping)
short = ["won't", "can't", "let's", "ain't", "y'all", "wanna", "gonna", "i'ma", "imma", "ma'am", "mr", "mr.", "mrs.", "st.", "dr", "prof.", "jr.", "he'd been", "she's been",
         "who's got", "it'd done", "don't", "isn't", "we're", "it's", "I'd", "they'll", "'t", "you've", "I'm", "dogs'", "o'clock", "n't", "an't"]
odd = ["uh", "um", "hmm", "mmm", "20mm", "[noise]", "<unk>", "(laughs)", "(", ")", "[", ">", "$20", "$20.05", "$0.07", "£3", "€1,000", "¢5", "and ¢7", "50%", "%", "$", "1", "1s", "1.5", "21st", "2 nd", "32ND",
       "1960s", "3.14", "10.", ".5", "1,234,567", "1,2,3", "192.168.0.1", "-5", "+7", "a1b2", "4x4", "100th", "half", "and a half", "and  a half", "a half", "two and a half", "2 and a half million",
       "naïve", "Café", "œuvre", "ﬁne", "½", "٣٤", "²", "Straße", "x\u0301", "αβγ1", "1α", "hello,", "world.", "end.", "a.b", "...", "—", "_", "'", " '", "$0x5", "$0123", "minus", "per cent", "per", "O", "oh"]

def word():
    k = rng.random()
    if k < .55: return rng.choice(numbers)
    if k < .65: return rng.choice(british)
    if k < .75: return rng.choice(short)
    if k < .92: return rng.choice(odd)
    return str(rng.randrange(3000))

def text():
    words = [word() for _ in range(rng.randrange(1, 12))]
    words = [w.upper() if rng.random() < .1 else w.capitalize() if rng.random() < .1 else w for w in words]
    return "".join(w + rng.choice([" "] * 12 + ["  ", "-", ", ", ". ", "\n", "\u00a0", ""]) for w in words)

cases = [[t, normalize(t)] for t in json.load(open(os.path.join(here, "texts.json"), encoding="utf-8"))]
count += len(cases)
while len(cases) < count:
    t = text()
    try: cases.append([t, normalize(t)])
    except Exception as e: print("left out, the reference stops with", type(e).__name__, e, repr(t), file=sys.stderr)
with open(out, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
    z.write(json.dumps(cases, ensure_ascii=False).encode())
