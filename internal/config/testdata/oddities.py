#!/usr/bin/env python3
"""Writes oddities.json: what the reference LoadGen makes of files that are written in unusual ways.

    oddities.py PROGRAM > oddities.json

PROGRAM is oddities.cc, built in loadgen/ of mlcommons/inference beside a mlperf_conf.h with the line `const char* mlperf_conf = "";`:

    g++ -std=c++17 -I. -o PROGRAM oddities.cc test_settings_internal.cc logging.cc utils.cc version.cc
"""
import json
import random
import subprocess
import sys

KEYS = ["min_query_count", "target_qps", "max_async_queries", "target_latency_percentile", "target_latency", "min_duration"]
# What C's strtoul and strtod may see, and what they may not.
VALUES = ["7", "+7", "007", "0x7", "0X1f", "1e1", "2.5", "0x1p3", ".5", "5.", "25e-1", "08", "0", "00", "1e-400", "18446744073709551615", "4294967297",
          "0x", "+", "7seconds", "1,5", "1_0", "#", "#7", "1e", "0b11", "0o7", "\u0661", "7#", "--7"]
SPACES = [" ", "\t", "  ", " \t ", "\v", "\f", "\r"]
COMMENTS = ["# text", "#text", "#", "##", "#text more", "#a = 5", "#a = b", "# a = b", "\t# text", " #text = ", "#text # more", "//text", "// text"]
ENDS = ["\n", "\r\n", "\n\n", " \n", "\t\r\n"]

FIXED = [
    "", "\n", "\r\n", "*.*.min_query_count = 5", "*.*.min_query_count = 5\r", "*.*.min_query_count\n= 5\n", "*.*.min_query_count =\n5\n",
    "*.*.min_query_count = 1\n*.*.min_query_count = 2\n", "*.Offline.min_query_count = 1\nm.*.min_query_count = 2\n",
    "m.*.min_query_count = 2\n*.*.min_query_count = 3\n", "m.Offline.min_query_count = 4\n*.Offline.min_query_count = 1\n",
    "M.Offline.min_query_count = 4\n", "m.offline.min_query_count = 4\n", "m.*.MIN_QUERY_COUNT = 4\n", "m.min_query_count = 4\n",
    "m.x.Offline.min_query_count = 4\n", "*.*.min_query_count=4\n", "*.*.min_query_count =4\n", "*.*.min_query_count= 4\n", "*.*.min_query_count = 4 5 6\n",
    "*.*.min_query_count = 4 x\n", "*.*.min_query_count = 4 # five\n", "*.*.min_query_count # = 4\n", "*.*.min_query_count = = 4\n", "*.*.min_query_count == 4\n",
    "*.*.min_query_count : 4\n", "*.*.min_query_count 4\n", "*.*.min_query_count\n", "*.*.min_query_count =\n", "= 4\n", "= = 4\n",
    "\ufeff*.*.min_query_count = 4\n", "\ufeff# text\n*.*.min_query_count = 4\n", "\u00a0*.*.min_query_count = 4\n", "*.*.min_query_count\u00a0=\u00a04\n",
    "*.*.min_query_count = 4\0\n", "*.*.min_query_count = 4\n\0\n", "[section]\n*.*.min_query_count = 4\n", "; text\n*.*.min_query_count = 4\n",
    "*.*.min_query_count = \"4\"\n", "*.*.min_query_count = -1\n", "*.*.target_qps = inf\n", "*.*.target_qps = nan\n", "*.*.target_qps = 1e999\n",
    "*.*.max_async_queries = 0x10\n", "*.Server.max_async_queries = 2147483648\n", "*.Offline.max_async_queries = 3\n",
    "*.Server.target_latency_percentile = 90\n", "*.Offline.target_latency_percentile = 90\n", "*.SingleStream.target_latency = 1.5\n",
]


def files():
    draw = random.Random(20261123)
    for text in FIXED:
        yield text
    for comment in COMMENTS:
        yield comment + "\n*.*.min_query_count = 9\n"
        yield "*.*.min_query_count = 9\n" + comment
    for value in VALUES:
        for key in KEYS:
            yield f"*.*.{key} = {value}\n"
    for _ in range(120):
        lines = []
        for _ in range(draw.randint(1, 4)):
            space = lambda: draw.choice(SPACES)
            model, scenario = draw.choice(["m", "*", "n"]), draw.choice(["Offline", "Server", "*"])
            lines.append(f"{draw.choice(['', space()])}{model}.{scenario}.{draw.choice(KEYS)}{space()}={space()}{draw.choice(VALUES[:17])}{draw.choice(ENDS)}")
            if draw.random() < 0.3:
                lines.append(draw.choice(COMMENTS) + draw.choice(ENDS))
        yield "".join(lines)


def main():
    cases = [{"text": text, "scenario": "Offline"} for text in files()]
    question = b"".join(b"%d %s\n%s" % (len(c["text"].encode()), c["scenario"].encode(), c["text"].encode()) for c in cases)
    answers = subprocess.run([sys.argv[1]], input=question, stdout=subprocess.PIPE, check=True).stdout.decode().splitlines()
    for case, answer in zip(cases, answers, strict=True):
        code, *values = answer.split()
        case["accepted"] = code == "0"
        case["values"] = values
    print("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]")


main()
