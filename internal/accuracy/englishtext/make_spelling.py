#!/usr/bin/env python3
"""Writes spelling.txt.gz from whisper/normalizers/english.json (openai/whisper, v20250625):
a British word, a tab, and the American one per line.

    make_spelling.py english.json
"""
import gzip, json, sys

pairs = sorted(json.load(open(sys.argv[1])).items())
with open("spelling.txt.gz", "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
    z.write("".join("%s\t%s\n" % p for p in pairs).encode())
