#!/usr/bin/env python3
"""Writes english.txt.gz, what Punkt learnt of English, from english.json of the Go module
github.com/neurosnap/sentences (v1.1.2, data/english.json), which holds the parameters of
NLTK's English model by Jan Strunk (MIT License).

    make_english.py english.json

Each line is a kind and a word: a abbreviation, s word that starts sentences, c the two words
of a collocation, o a word with how it is written in which places (nltk/tokenize/punkt.py,
_ORTHO_…).
"""
import gzip, json, sys

d = json.load(open(sys.argv[1]))
lines = ["a\t" + w for w in sorted(d["AbbrevTypes"])]
lines += ["s\t" + w for w in sorted(d["SentStarters"])]
lines += ["c\t" + "\t".join(w.split(",", 1)) for w in sorted(d["Collocations"])]
lines += ["o\t%s\t%d" % i for i in sorted(d["OrthoContext"].items())]
with open("english.txt.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
    z.write(("\n".join(lines) + "\n").encode())
