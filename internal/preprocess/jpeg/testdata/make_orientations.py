#!/usr/bin/env python3
"""Writes orientations.json: which orientation OpenCV sees in TIFF headers that are cut off, wrong or unusual.

Needs OpenCV 4.6.0 and NumPy. Each header is put into a picture that looks different in all eight orientations, and
cv2.imread tells which one it sees: 1 too where it does not understand the header.
"""
import json, os, random, struct, tempfile

import cv2
import numpy as np

rng = random.Random(2026)
path = os.path.join(tempfile.mkdtemp(), "picture.jpg")
picture = np.kron(np.array([[10, 60, 110], [160, 200, 250]], np.uint8), np.ones((8, 8), np.uint8))
jpeg = cv2.imencode(".jpg", picture, [cv2.IMWRITE_JPEG_QUALITY, 95])[1].tobytes()
upright = cv2.imdecode(np.frombuffer(jpeg, np.uint8), cv2.IMREAD_GRAYSCALE)
turned = [upright, upright[:, ::-1], upright[::-1, ::-1], upright[::-1], upright.T, upright.T[:, ::-1], upright[::-1, ::-1].T, upright.T[::-1]]


def orientation(tiff):
    segment = b"Exif\0\0" + tiff
    with open(path, "wb") as f:
        f.write(jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(segment) + 2) + segment + jpeg[2:])
    seen = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
    for i, t in enumerate(turned):
        if seen.shape == t.shape and (seen == t).all():
            return i + 1
    raise ValueError(tiff)


TAGS = [0x10E, 0x10F, 0x110, 0x11A, 0x11B, 0x128, 0x131, 0x132, 0x13E, 0x13F, 0x211, 0x213, 0x214, 0x8298, 0x8769, 0x100, 0]


def entry(order, tag):
    count = rng.choice([0, 1, 3, 4, 5, 8, 40, 0xFFFFFFFF])
    value = rng.choice([0, 8, 26, 30, 40, 60, 1000, 0xFFFFFFF0, rng.randrange(90)])
    return struct.pack(order + "HHII", tag, rng.choice([2, 3, 4, 5, 7]), count, value)


def header():
    order = rng.choice("<>")
    name = b"II" if order == "<" else rng.choice([b"MM", b"MM", b"MM", b"MI", b"XX"])
    first = rng.choice([8, 8, 8, 8, 8, 9, 14, rng.randrange(60)])
    entries = [entry(order, rng.choice(TAGS)) for _ in range(rng.choice([0, 0, 1, 1, 2, 3]))]
    value = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 6, 8, 0, 9, 0x100])
    entries.append(struct.pack(order + "HHIHH", 0x112, rng.choice([3, 3, 3, 4, 1]), rng.choice([1, 1, 2]), value, rng.randrange(2)))
    if rng.random() < 0.2:
        entries.append(struct.pack(order + "HHIHH", 0x112, 3, 1, 3, 0))
    count = rng.choice([len(entries)] * 5 + [len(entries) - 1, len(entries) + 3, 0xFFFF])
    tiff = name + struct.pack(order + "HI", rng.choice([42] * 12 + [43, 0x2A00]), first) + b"\0" * (first - 8 if first > 8 else 0)
    tiff += struct.pack(order + "H", count) + b"".join(entries)
    if rng.random() < 0.5:
        tiff += b"\0" * rng.choice([4, 20, 60])
    elif rng.random() < 0.7:
        tiff = tiff[: rng.randrange(len(tiff) + 1)]
    return tiff


rows = []
for _ in range(600):
    tiff = header()
    rows.append({"tiff": tiff.hex(), "orientation": orientation(tiff)})
with open("orientations.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
