"""Compares the tables of the tests with ftfy, as make_tokens.py uses it.

    CLIP_TABLES=/tmp/tables.json go test ./internal/tokenizer/clip
    PYTHONPATH=… /usr/bin/python3 tables.py /tmp/tables.json
"""
import html
import json
import sys

import ftfy


def clean(text, web):
    text = ftfy.fix_text(text)
    if web:
        text = html.unescape(html.unescape(text))
    return " ".join(text.split()).lower()


wrong = total = 0
for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    got = clean(case["text"], case["web"])
    total += 1
    if got != case["clean"]:
        wrong += 1
        print(f"{case['text']!r}, web {case['web']}\n  is   {got!r}\n  want {case['clean']!r}")
print(f"{total} texts, {wrong} wrong")
