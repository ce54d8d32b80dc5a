#!/usr/bin/env python3
"""Writes encoded.json: hashes of the files that cjpeg of libjpeg-turbo 2.1.5 makes of pictures.

Needs cjpeg in PATH. A picture is noise(seed, n), bytes from a linear congruential generator; that of an odd seed is
weakened and put upon slopes, so that blocks of few and of many coefficients come about.
"""
import hashlib, json, random, subprocess

rng = random.Random(2027)
FACTORS = {"4:4:4": "1x1", "4:2:2": "2x1", "4:2:0": "2x2", "4:4:0": "1x2", "gray": "1x1"}


def noise(seed, n):
    out, x = bytearray(n), seed
    for i in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = x >> 24
    return out


def picture(seed, width, height):
    pixels = noise(seed, 3 * width * height)
    if seed % 2:
        for i in range(len(pixels)):
            x, y, c = i // 3 % width, i // 3 // width, i % 3
            pixels[i] = ((3 + c) * x + (5 - c) * y + 40 * c + (pixels[i] >> 4)) & 0xFF
    return bytes(pixels)


def cjpeg(pixels, width, height, sampling, quality, restart):
    args = ["cjpeg", "-baseline", "-quality", str(quality), "-sample", FACTORS[sampling]]
    args += ["-grayscale"] if sampling == "gray" else []
    args += ["-restart", f"{restart}B"] if restart else []
    return subprocess.run(args, input=b"P6 %d %d 255\n" % (width, height) + pixels, stdout=subprocess.PIPE, check=True).stdout


rows = []
for i in range(150):
    width, height = [(rng.randint(1, 70), rng.randint(1, 70)), (1, rng.randint(1, 40)), (rng.randint(1, 40), 1)][rng.randrange(3)]
    sampling = list(FACTORS)[i % 5]
    quality = rng.choice([1, 2, 10, 30, 49, 50, 51, 75, 90, 95, 99, 100])
    restart = rng.choice([0, 0, 1, 2, 5, 100])
    file = cjpeg(picture(i, width, height), width, height, sampling, quality, restart)
    rows.append({"seed": i, "width": width, "height": height, "sampling": sampling, "quality": quality, "restart": restart,
                 "bytes": len(file), "sha256": hashlib.sha256(file).hexdigest()[:32]})
with open("encoded.json", "w") as f:
    f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")
