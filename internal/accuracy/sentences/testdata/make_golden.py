#!/usr/bin/env python3
"""Writes golden.json.gz: texts and their sentences, as NLTK 3.8's Punkt finds them with the
parameters of ../english.txt.gz. The texts are those of texts.json, and random ones made of words,
abbreviations, numbers, initials and marks. Needs the package nltk.

    make_golden.py [SEED COUNT FILE]
"""
import gzip, json, os, random, sys
from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktParameters

here = os.path.dirname(os.path.abspath(__file__))
params = PunktParameters()
for line in gzip.open(here + "/../english.txt.gz", "rt", encoding="utf-8"):
    kind, *f = line.rstrip("\n").split("\t")
    if kind == "a": params.abbrev_types.add(f[0])
    if kind == "s": params.sent_starters.add(f[0])
    if kind == "c": params.collocations.add(tuple(f))
    if kind == "o": params.ortho_context[f[0]] = int(f[1])
split = PunktSentenceTokenizer(params).tokenize

seed, count, out = (int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]) if len(sys.argv) > 1 else (7, 600, here + "/golden.json.gz")
rng = random.Random(seed)
abbreviations = sorted(params.abbrev_types)
starters = sorted(params.sent_starters)
ortho = sorted(params.ortho_context)
pairs = sorted(params.collocations)
odd = ["...", "..", ". . .", ". . . .", "--", "---", "-", "(", ")", '"', "'", "''", "``", "[1]", "{x}", "*", "@home", "#1",
       "e.g.", "i.e.", "U.S.", "U.S.-led", "Mr.", "non-U.S.", "J.", "x.", "_.", "É.", "²", "No.", "a.m.", "Ph.D.", "etc.", "3.14", "1,000.", "-5.", "2.",
       ".5", "10.000,00.", "٣.", "CNN.com", "http://a.b/c?d=e", "\u00a0", "\u3000", "\n", "\n\n", "\t", "\r\n", "\x1c", "\u2028",
       "élan", "Straße.", "\u0130stanbul.", "中文。", "“Hi.”", "’s", "ﬁn.", "ǅ", "ª.", "ΑΣ.", "the", "He", "I", "It's", "can't.", "Yes!", "What?!", "Why??", "Wow!!!"]

def word():
    k = rng.random()
    if k < .25: return rng.choice(ortho)
    if k < .40: return rng.choice(ortho).capitalize()
    if k < .50: return rng.choice(abbreviations) + "."
    if k < .56: return rng.choice(abbreviations).upper() + "."
    if k < .64: return rng.choice(starters).capitalize()
    if k < .68:
        a, b = rng.choice(pairs)
        return (a if a != "##number##" else str(rng.randrange(99))) + ". " + b.capitalize()
    if k < .80: return rng.choice(ortho) + rng.choice([".", ".", "!", "?", ".)", '."', ".'", ".--", ",", ";", ".]", '!"', "...", ".,"])
    return rng.choice(odd)

def text():
    glue = rng.choice([[" "], [" ", " ", " ", "  ", "", "\n"], [" ", "\n"]])
    return "".join(word() + rng.choice(glue) for _ in range(rng.randrange(1, 40))).strip()

texts = json.load(open(here + "/texts.json", encoding="utf-8")) + [text() for _ in range(count)]
cases = [{"text": t, "sentences": split(t)} for t in texts]
with open(out, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
    z.write(json.dumps(cases, ensure_ascii=False).encode())
