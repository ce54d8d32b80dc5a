#!/usr/bin/env python3
"""Writes yaml.json: what Python's yaml.safe_load makes of texts as people write them.

    python3 make_yaml.py > yaml.json

Needs Debian's python3-yaml. A value is its repr; null is an exception. Dates, sets and bytes, which JSON has not, are left out.
"""
import json
import random

import yaml

WORDS = ["1", "-1", "+1", "0", "007", "08", "0o7", "0x1F", "0b101", "1_000", "1.5", "1.", ".5", "-.5", "1e3", "1.0e3", "1.0e+3", "1.5E-3", "1_0.5_0", ".inf", "-.INF", ".Inf", ".nan", ".NaN", ".NAN",
         "+.inf", "1:30", "-1:30", "190:20:30", "1:60", "1:30.5", "true", "True", "TRUE", "tRUE", "yes", "No", "ON", "off", "y", "n", "null", "Null", "NULL", "~", "none", "None", "''", "'it''s'", "\"a\\tb\\u00e9\\x41\"",
         "plain text", "a: b", "a #b", "a#b", "[1, 2]", "[]", "{}", "{a: 1, b: [x, {c: d}]}", "12:00", "!!str 5", "!!int '5'", "!own 5", "@at", "`tick", "%p", "&x 5", "*x", "- 1", "? a", "|", ">", "é", "0.0", "-0",
         "1e", "0x", "0b", "1__0", "_1", "1_", "9223372036854775808", "1.7976931348623157e+309"]
TEXTS = ["", "\n", "# only\n", "---\n", "...\n", "--- a\n", "a: 1\n---\nb: 2\n", "a: 1\n...\n", "- a\n- b\n-\n- - c\n  - d\n", "a:\n  b:\n  - c\n  - d: 1\n", "a:\n- b\nc: d\n", "a: 1\na: 2\n", "1: a\n2.5: b\nfalse: c\nnull: d\n",
         "? a\n: b\n", "a: |\n  x\n  y\n", "a: |-\n  x\n\n  y\n\n", "a: >\n  x\n  y\n\n  z\n", "a: >+\n  x\n\n", "a: |2\n   x\n", "a: 'x\n  y'\n", "a: \"x\n  y\"\n", "a: x\n  y\n", "a: b: c\n", "a:b\n", "a : b\n", "\ta: 1\n", "a:\t1\n", "a: 1\t\n", "a: \"\t\"\n",
         "x: &a {p: 1}\ny: *a\n", "x: &a [1]\ny: {<<: {q: 2}, z: *a}\n", "x: &a {p: 1, q: 2}\ny:\n  <<: *a\n  q: 3\n", "x: *gone\n", "a: [1, 2\n", "a: {b: 1\n", "a: ]\n", "- a\nb: c\n", "a: 1\n b: 2\n", "a:\n  b: 1\n c: 2\n", "a: 'x\n", "\ufeffa: 1\n", "a: 1\r\nb: 2\r\n", "a: \x07\n",
         "a: \"\\q\"\n", "key with spaces: 1\n", "'quoted': 1\n", "[a, b]: 1\n", "{a: b}: 1\n", "a: [x, , y]\n", "a: [x, y,]\n", "a: {x, y: 1}\n", "%YAML 1.1\n---\na: 1\n", "%YAML 2.0\n---\na: 1\n", "a: !!float 5\n", "a: !!bool yes\n", "a: !!null x\n", "a: !!python/object x\n", "a: !!int 0x1F\n", "a: !!int x\n", "a: !!float x\n", "a: !!float 1e3\n", "a: !!bool maybe\n", "a: !!int 1:30\n", "a: !!str 5\n", "a: !own {b: 1}\n", "a: !!map {b: 1}\n", "a: !!seq [1]\n", "a: 0:30.5\n", "a: -1:30.25\n", "a: 1:2:3.5\n", "- !!null\n"]

rnd = random.Random(23)
texts = list(TEXTS)
texts += ["k: %s\n" % w for w in WORDS] + ["[%s]\n" % w for w in WORDS]


def block(depth, indent):
    pad = " " * indent
    kind = rnd.random()
    if depth == 0 or kind < 0.3:
        return " " + rnd.choice(WORDS[:60]) + rnd.choice(["", "", " # c"]) + "\n"
    if kind < 0.65:
        return "\n" + "".join("%s%s:%s" % (pad, rnd.choice(["a", "b", "PSUs", "'q'", "5"]), block(depth - 1, indent + 2)) for _ in range(rnd.randrange(1, 4)))
    return "\n" + "".join("%s-%s" % (pad, block(depth - 1, indent + 2)) for _ in range(rnd.randrange(1, 4)))


texts += ["top:" + block(3, 2) for _ in range(220)]
found = {}
for text in dict.fromkeys(texts):
    try:
        found[text] = repr(yaml.safe_load(text))
    except Exception:
        found[text] = None
print("{\n" + ",\n".join(json.dumps(t) + ": " + json.dumps(v) for t, v in found.items()) + "\n}")
