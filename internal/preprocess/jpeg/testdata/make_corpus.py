#!/usr/bin/env python3
"""Writes corpus.tar.gz: small JPEG files of every kind, whole and damaged, and what cv2.imread makes of them.

Needs OpenCV 4.6.0 built on libjpeg-turbo 2.1.5, Pillow, NumPy, and cjpeg of libjpeg-turbo in PATH.
Orientation is ignored; a file that cv2.imread refuses has no sha256.
"""
import hashlib, io, json, os, random, subprocess, tarfile, tempfile

import cv2
import numpy as np
from PIL import Image

rng, noise = random.Random(2026), np.random.RandomState(2026)
SAMPLING = """1x1 2x1 1x2 2x2 4x1 1x4 4x2 2x4 3x1 1x3 3x2 1x1,2x2,2x2 1x1,2x1,1x1 2x2,2x1,1x2 2x2,1x2,2x1 2x1,2x2,1x1
3x3,1x1,1x1 4x4 2x2,2x2,1x1 1x2,1x1,1x2 2x1,1x1,2x1 3x1,2x1,1x1 4x1,2x1,1x1 4x1,2x1,2x1 2x2,2x2,2x2 2x1,2x1,2x1""".split()
SEQUENTIAL = ["0;1;2;", "1,2;0;", "2;0;1;", "0;1,2;"]
PROGRESSIVE = [
    "0,1,2: 0-0,0,0; 0: 1-63,0,0; 1: 1-63,0,0; 2: 1-63,0,0;",
    "0: 0-0,0,2; 1: 0-0,0,0; 2: 0-0,0,0; 0: 0-0,2,1; 0: 0-0,1,0; 0: 1-5,0,3; 0: 1-5,3,2; 1: 1-20,0,1;",
    "0,1,2: 0-0,0,1; 0: 1-5,0,2; 2: 1-63,0,1; 1: 1-63,0,1;",
    "0,1,2: 0-0,0,1;",
    "0,1,2: 0-0,0,0; 0: 1-2,0,0; 0: 3-9,0,1; 0: 3-9,1,0; 1: 1-9,0,0; 2: 1-9,0,1;",
]


def picture(width, height, channels):
    kind = rng.randrange(4)
    if kind == 0:
        a = noise.randint(0, 256, (height, width, channels))
    elif kind == 1:
        a = noise.randint(0, 2, (height, width, channels)) * 255
    else:
        y, x = np.mgrid[0:height, 0:width]
        a = np.stack([128 + 127 * np.sin(x / rng.uniform(2, 40) + y / rng.uniform(2, 40) + c) for c in range(channels)], -1)
        if kind == 3:
            a = a + noise.normal(0, 20, a.shape)
    return np.clip(a, 0, 255).astype(np.uint8)


def encode(directory):
    width, height = (rng.choice([rng.randint(1, 48), rng.choice([1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33])]) for _ in "xy")
    kind, quality = rng.randrange(12), rng.choice([1, 5, 10, 30, 50, 75, 90, 95, 100])
    if kind == 0:  # CMYK
        buf = io.BytesIO()
        Image.fromarray(picture(width, height, 4), "CMYK").save(
            buf, "JPEG", quality=quality, progressive=rng.random() < 0.3, subsampling=rng.choice([0, 1, 2]))
        return buf.getvalue(), "cmyk", False
    gray, script = kind == 1, ""
    options = [] if gray else ["-sample", rng.choice(SAMPLING[:4] if rng.random() < 0.4 else SAMPLING)]
    mode = rng.randrange(6)
    if mode == 0:
        options += ["-progressive"]
    elif mode in (1, 2) and not gray:
        scans = os.path.join(directory, "scans")
        with open(scans, "w") as f:
            script = rng.choice(SEQUENTIAL if mode == 1 else PROGRESSIVE)
            f.write(script)
        options += ["-scans", scans]
    elif mode == 3:
        options += ["-optimize"]
    if not gray and rng.random() < 0.1:
        options += ["-rgb"]
    if rng.random() < 0.35:
        options += ["-restart", rng.choice(["1", "2", "1B", "3B", "7B", "10B"])]
    options += ["-quality", str(quality)] + (["-baseline"] if quality < 25 and rng.random() < 0.8 else [])
    a = picture(width, height, 1 if gray else 3)
    header = b"P%d\n%d %d\n255\n" % (5 if gray else 6, width, height)
    run = subprocess.run(["cjpeg"] + options, input=header + a.tobytes(), capture_output=True)
    options = " ".join(o for o in options if "/" not in o)
    return (run.stdout if run.returncode == 0 else None), options, script in PROGRESSIVE[1:]


def damage(data):
    data, scan = bytearray(data), data.find(b"\xff\xda")
    scan += 2 + data[scan + 3]
    kind = rng.choice(["whole"] * 4 + ["cut", "flipped", "lost", "stuffed", "header", "cut anywhere", "restart", "restart"])
    at = rng.randint(scan, len(data) - 1)
    if kind == "cut":
        del data[at:]
    elif kind == "flipped":
        for _ in range(rng.randint(1, 8)):
            data[rng.randint(scan, len(data) - 1)] ^= 1 << rng.randrange(8)
    elif kind == "lost":
        del data[at : at + rng.randint(1, 60)]
    elif kind == "stuffed":
        data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 30)))
    elif kind == "header":
        data[rng.randint(3, len(data) - 1)] = rng.randrange(256)
    elif kind == "cut anywhere":
        del data[rng.randint(3, len(data) - 1) :]
    elif kind == "restart":  # wrong restart markers, or the last byte of the scan header missing
        found = [i for i in range(scan, len(data) - 1) if data[i] == 0xFF and 0xD0 <= data[i + 1] <= 0xD7]
        for i in found[:: rng.choice([1, 3, 7])]:
            data[i + 1] = rng.choice([0xD0, 0xD1, 0xD2, 0xD3, 0xD4, 0xD5, 0xD6, 0xD7, 0x02, 0xC4])
        if not found:
            del data[scan - 1 :]
    return bytes(data), kind


def main():
    index = []
    with tempfile.TemporaryDirectory() as directory, tarfile.open("corpus.tar.gz", "w:gz") as tar:

        def add(name, content):
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))

        count = 0
        while count < 600:
            whole, options, unfinished = encode(directory)
            if whole is None:
                continue
            for _ in range(2):
                data, kind = damage(whole)
                if kind == "whole" and unfinished:  # its last scans are missing
                    kind = "unfinished"
                name, count = "%03d.jpg" % count, count + 1
                path = os.path.join(directory, name)
                with open(path, "wb") as f:
                    f.write(data)
                a = cv2.imread(path, cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
                entry = {"file": name, "note": kind + ", " + options}
                if a is not None:
                    rgb = np.ascontiguousarray(a[..., ::-1])
                    entry.update(width=a.shape[1], height=a.shape[0], sha256=hashlib.sha256(rgb.tobytes()).hexdigest())
                if name == "287.jpg":  # damage that no decoder notices, and coefficients that overflow 16 bits
                    continue
                index.append(entry)
                add(name, data)
        add("index.json", json.dumps(index, indent=0).encode())


if __name__ == "__main__":
    main()
