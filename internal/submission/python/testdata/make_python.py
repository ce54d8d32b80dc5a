#!/usr/bin/env python3
"""Writes python.json: what Python says of texts and numbers.

    python3 make_python.py > python.json

An answer of null is an exception. Values are written as their repr, JSON as texts.
"""
import datetime
import itertools
import json
import os
import random


def answer(f):
    try:
        return f()
    except Exception:
        return None


texts = [
    "null", "true", "false", "0", "-0", "7", "-12", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "1.0", "-0.0", "2.50", "1e3", "1E+3", "1e-3", "1.5e300", "1e999", "-1e999", "1e-400", "0.1", "0.0001", "0.00001", "123456789012345.6", "1e15", "1e16",
    "9007199254740993", "9007199254740993.0", "NaN", "Infinity", "-Infinity", "\"\"", "\"a\"", "\"it's\"", "\"say \\\"it's\\\"\"", "\"a\\\"b\"",
    "\"\\n\\r\\t\\b\\f\\\\\\/\"", "\"\\u00e9\\u2028\\u200b\\ud83d\\ude00\"", "\"\\ud83d\"", "\"\\ude00\\ud83d\"", "\"\\ud83d\\u0041\"", "\"\\u0000\\u001f\\u007f\\u0080\\u00ad\"",
    "\"é日本\"", "[]", "[1, [2.0, null], {}]", "{}", "{\"a\": 1, \"b\": [true], \"a\": 2}", " \t\r\n[ 1 , 2 ] \n", "{\"\": {\"x\": \"y\"}}",
    "", " ", "01", "-01", "1.", ".5", "-", "--1", "1e", "1e+", "1.e3", "+1", "nan", "-NaN", "inf", "Infinit", "-Infinit", "tru", "True", "nul", "[1,]", "[,1]", "[1 2]", "[1",
    "{\"a\" 1}", "{1: 2}", "{\"a\": 1,}", "{,}", "{\"a\"", "{\"a\":", "{\"a\": 1 \"b\": 2}", "{a: 1}", "\"a", "\"a\tb\"", "\"\\x\"", "\"\\u12g4\"", "\"\\u12", "\"\\u 123\"",
    "\"\\u+123\"", "\"\\u0x12\"", "1d5", "1D5", "1e5", "1 2", "[] []", "[1,2", "{\"a\": 1", "\"\\", "\"\\u", "-I", "N", "Na", "[NaN,NaN]", "[1e5,2E5,3.5]", "[true,false,null]", "\"\\/\"", "\"\\'\"", "'a'", "\u00a01", "\ufeff1", "9" * 4300, "9" * 4301, "-" + "9" * 4301, "9" * 4301 + ".0", "1e" + "0" * 4301,
]
# Random texts of parts that are hard together.
rng = random.Random(20260820)
parts = ["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "1", "0", "-", ".5", "1.5", "e5", "E-3", "NaN", "-Infinity", "true", "null", " ", "\t", "\n", "\v", "\"\\u00e9\"",
         "\"\\ud83d\\ude00\"", "\"\\ud800\"", "\"é\"", "\"'\"", "00", "1_0", "+1", "\u00a0", "0.1", "1e16", "-1e22", "2.5e-5"]


def nested(depth):
    kind = rng.random()
    if depth == 0 or kind < 0.4:
        return rng.choice(parts)
    if kind < 0.6:
        return "[" + ", ".join(nested(depth - 1) for _ in range(rng.randrange(4))) + "]"
    if kind < 0.85:
        return "{" + ",".join(rng.choice(["\"a\"", "\"b\"", "\"\\u0041\""]) + ": " + nested(depth - 1) for _ in range(rng.randrange(4))) + "}"
    return "".join(rng.choice(parts) for _ in range(rng.randrange(6)))


def jumbled(parts, most):
    return "".join(rng.choice(parts) for _ in range(rng.randrange(1, most)))


texts += [nested(3) for _ in range(600)]
decoded = {}
for text in texts:
    def one():
        v = json.loads(text)
        return {"str": str(v).encode("utf-8", "surrogatepass").decode("utf-8", "replace"), "repr": repr(v), "truth": bool(v), "dumps": json.dumps(v)}
    decoded[text] = answer(one)

numbers = [
    "", " ", "0", "1", "+1", "-1", "--1", "1_000", "1__0", "_1", "1_", " 1 ", "\t1\n", "\u00a01\u3000", "\x1c1\x1f", "\u200b1", "1.", ".5", ".", "1.5", "1_0.5_0", "1_.0", "1._0",
    "1e5", "1E5", "1e+5", "1e-5", "1e", "e5", "1e5_0", "1e_5", "1e1.0", "0x10", "0b1", "007", "-0", "inf", "-inf", "+Infinity", "iNfInItY", "infinit", "nan", "-NaN", "nanx", "1e999", "1e-999",
    "٣٢.٥", "٣", "१२", "𝟙𝟚", "１２", "²", "½", "三", "1,5", "1 2", "12a", "9" * 30, "9" * 4300, "9" * 4301, "1" * 400, "0" * 4301 + "1", "_" * 3, "1\x00",
]
numbers += [jumbled(["1", "2", "0", "_", ".", "e", "+", "-", " ", "\t", "\x1c", "\x85", "\u00a0", "\u2009", "٣", "𝟗", "½", "inf", "nan"], 6) for _ in range(600)]
parsed = {text: {"float": answer(lambda: repr(float(text))), "int": answer(lambda: repr(int(text)))} for text in numbers}

values = [False, True, 0, 1, -3, 8, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, -2**63, 0.0, -0.0, 0.5, 1.0, 1.9, -2.5, float(2**53), 1e300, 5e-324,
          float("inf"), float("-inf"), float("nan")]
pairs = []
for a, b in itertools.product(values, values):
    pairs.append({"a": json.dumps(a), "b": json.dumps(b), "less": a < b, "equal": a == b, "sum": answer(lambda: repr(a + b)), "quotient": answer(lambda: repr(a / b)),
                  "product": answer(lambda: repr(a * b)) if type(b) is int and abs(b) < 2**63 else None})
single = [{"value": json.dumps(a), "int": answer(lambda: repr(int(a))), "float": answer(lambda: repr(float(a)))} for a in values + [10**400, "1", " 1.5", "x", None, [], {}]]

stamps = [
    "07-12-2025 23:21:34.443", "7-2-2025 \t3:1:4.5", "02-29-2024 00:00:00.000001", "02-29-2025 00:00:00.0", "02-29-1900 00:00:00.0", "02-29-2000 00:00:00.0", "12-31-9999 23:59:59.999999",
    "", "07-12-2025 23:21:34.", "07-12-2025 23:21:34.1234567", "13-12-2025 23:21:34.4", "00-12-2025 23:21:34.4", "07-00-2025 23:21:34.4", "07-32-2025 23:21:34.4", "04-31-2025 23:21:34.4",
    "07-12-0000 23:21:34.4", "07-12-0001 23:21:34.4", "7-12-2025  24:21:34.4", "7-12-2025 23:60:34.4", "7-12-2025 23:59:60.4", "7-12-2025 23:59:61.4", "7-12-2025 23:59:62.4", "07-12-202 23:21:34.4",
    "07-12-20255 23:21:34.4", "7-12-2025:1:2:3.4", "2025-07-12 23:21:34.443", "07-12-2025 23:21:34", "07-12-2025 23:21:34.443 ", " 07-12-2025 23:21:34.443", "07-12-2025T23:21:34.443",
    "007-12-2025 23:21:34.443", "07-12-2025 23:21:34,443", "07-12-2025\u00a023:21:34.443", "07-12-2025\u200323:21:34.443", "07-12-2025\x1c23:21:34.443", "٠٧-12-2025 23:21:34.443",
    "07-12-2025 23:21:34.٤", "0７-12-2025 23:21:34.443", "07-12-2025 23:21:34.443\n",
]
stamps += ["-".join([rng.choice(["1", "01", "12", "13", "1٢"]), rng.choice(["1", "31", "30", " 3", "٠1", "1٢"]), rng.choice(["2024", "2023", "٢٠٢٤", "24"])]) +
           rng.choice([" ", "\t", "", "\u00a0"]) + ":".join([rng.choice(["0", "23", "24", "1٢"]), rng.choice(["0", "59", "60", "٥"]), rng.choice(["0", "59", "60", "62"])]) +
           rng.choice([".0", ".123", ".1234567", ".٣", "."]) for _ in range(300)]
times = {text: answer(lambda: datetime.datetime.strptime(text, "%m-%d-%Y %H:%M:%S.%f").isoformat(timespec="microseconds")) for text in stamps}

spaces = "".join(chr(c) for c in range(0x110000) if chr(c).isspace() and chr(c).strip() == "")

lines = {}
for text in ["", "a", "a\n", "a\nb", "a\r\nb\rc\n\nd\r", "\r\r\n\n", "a\u0085b\u2028c\u000bd\u000ce\x1cf\n", "é\r日\n", "\n" * 3]:
    with open("make_python.tmp", "w", encoding="utf-8", newline="") as f:
        f.write(text)
    with open("make_python.tmp", encoding="utf-8") as f:
        lines[text] = [line.rstrip("\n") for line in f]
# What is read before bytes that are not UTF-8: nothing of their 8 KiB, but all lines before
# a character that the end cuts.
broken = {}
for data in [b"a\nb\xff", b"a\nb\n\xc3", b"a\nb\xc3", b"a\r\xe6\x97", b"a\r\n\xe6\x97", b"a\n\xc0", b"a\n\xed\xa0", b"a\n\xf0\x9f\x98", b"\xc3", b"a\n\xc3\nb\n",
             b"x" * 8190 + b"\ny\n\xff", b"x" * 8190 + b"\n\xc3", b"x" * 8191 + b"\xc3\xa9\nz\n\xe6"]:
    with open("make_python.tmp", "wb") as f:
        f.write(data)
    read = []
    try:
        with open("make_python.tmp", encoding="utf-8") as f:
            for line in f:
                read.append(len(line.rstrip("\n")))
    except UnicodeDecodeError:
        broken[data.hex()] = read
os.remove("make_python.tmp")

tables = {"decoded": decoded, "parsed": parsed, "pairs": pairs, "single": single, "times": times, "spaces": spaces, "lines": lines, "broken": broken}
print("{" + ",\n".join(json.dumps(name) + ": " + json.dumps(table) for name, table in tables.items()) + "}")
