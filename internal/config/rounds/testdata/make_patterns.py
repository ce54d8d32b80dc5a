#!/usr/bin/env python3
"""Writes patterns.json: what the official checker reads of lines of accuracy.txt.

    python3 make_patterns.py CHECKOUT_OF_MLCOMMONS_INFERENCE > patterns.json

Lines are those that the accuracy scripts print, and the same with one character changed. Each has
the metrics that constants.py's ACC_PATTERN finds in it, and the digits that it takes.
"""
import json
import random
import re
import sys

sys.path.insert(0, sys.argv[1] + "/tools/submission")
from submission_checker.constants import ACC_PATTERN  # noqa: E402

LINES = [
    "accuracy=76.456%, good=38228, total=50000",
    '{"accuracy": 76.5, "good": 1}',
    "AUC=80.31%",
    "metric/lifetime_ne/rating: 0.8671",
    "I0101 x.py:1] metric/lifetime_accuracy/rating:0.6964, metric/lifetime_gauc/rating: 0.7861",
    "mAP=37.55%",
    "{'Total': 54.25, 'Car': 60}",
    "BLEU: 23.9",
    '{"exact_match": 83.67, "f1": 90.874}',
    "{'exact_match': 83.67, 'f1': 90.874}",
    "Word Error Rate: 2.5%, accuracy=97.5%",
    "Accuracy: mean = 0.86170, kidney = 0.9347, tumor = 0.7887",
    "{'rouge1': '38.7792', 'rouge2': '15.9075', 'rougeL': '24.4957', 'rougeLsum': '35.793', 'gen_len': 8167644, 'gen_num': 13368}",
    "{'rouge1': 44.4, 'rouge2': 22.0, 'rougeL': 28.8, 'gsm8k': 73.78, 'mbxp': 60.12, 'tokens_per_sample': 144.84}",
    "{'exact_match': 81.3582, 'tokens_per_sample': 3886.2274, 'num-samples': 4388}",
    "Evaluation Results: {'FID_SCORE': '23.15', 'CLIP_SCORE': '31.75'}",
    "{'vbench_score': 70.48}",
    '{"category": "x", "f1": 0.7903, "n": 3}',
    "Accuracy: 98.5",
    "hash=0123456789abcdef",
    "",
]
CHANGES = [" ", "\t", "'", '"', ".", "%", "=", ":", "x", "9", ",", "{", "}", "\r"]

rnd = random.Random(11)
cases = list(LINES)
for line in LINES[:-1]:
    for _ in range(24):
        i = rnd.randrange(len(line))
        kind = rnd.random()
        if kind < 0.5:
            cases.append(line[:i] + rnd.choice(CHANGES) + line[i:])
        elif kind < 0.75:
            cases.append(line[:i] + line[i + 1:])
        elif kind < 0.9:
            cases.append(line[:i] + rnd.choice(CHANGES) + line[i + 1:])
        else:
            cases.append(line[:i] + line[i:].swapcase())
found = []
for line in dict.fromkeys(cases):
    metrics = {}
    for name, pattern in ACC_PATTERN.items():
        m = re.match(pattern, line)
        if m:
            metrics[name] = m.group(1)
    m = re.match(r"^hash=([\w\d]+)$", line)
    if m:
        metrics["hash"] = m.group(1)
    found.append({"line": line, "found": metrics})
print("[")
print(",\n".join(" " + json.dumps(f, sort_keys=True) for f in found))
print("]")
