#!/usr/bin/env python3
"""Computes the hashes in images.json anew and says what differs; --write writes them.

    /usr/bin/python3 make_images.py [--write]     # OpenCV 4.6.0 (Debian 12's python3-opencv, on libjpeg-turbo 2.1.5)
"""
import hashlib, json, os, sys

import cv2

HERE = os.path.dirname(os.path.abspath(__file__))
with open(HERE + "/images.json") as f:
    golden = json.load(f)
results = []
for case in golden:
    image = cv2.cvtColor(cv2.imread(f"{HERE}/images/{case['file']}", cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION), cv2.COLOR_BGR2RGB)
    height, width, _ = image.shape
    results.append(dict(case, width=width, height=height, sha256=hashlib.sha256(image.tobytes()).hexdigest()))
    if results[-1] != case:
        print(case["file"], "differs")
if "--write" in sys.argv:
    with open(HERE + "/images.json", "w") as f:
        f.write("[\n" + ",\n".join(map(json.dumps, results)) + "\n]\n")
