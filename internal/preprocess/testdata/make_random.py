#!/usr/bin/env python3
"""Writes random_resize.json and random_pipelines.json: what the reference's libraries and functions make of noise.

Needs OpenCV 4.6.0 without IPP, Pillow 9.4.0, NumPy 1.24, and mlcommons/inference's
vision/classification_and_detection/python in PYTHONPATH (for dataset.py). torchvision's Resize and CenterCrop on
Pillow images are spelled out below.

The input is noise(seed, n): bytes from a linear congruential generator.
Hashes are SHA-256 over the result in row, column, channel order, little-endian.
"""
import hashlib, json, random

import cv2
import dataset
import numpy as np
from PIL import Image

cv2.setNumThreads(1)
rng = random.Random(2026)


def noise(seed, n):
    out, x = bytearray(n), seed
    for i in range(n):
        x = (x * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = x >> 24
    return np.frombuffer(bytes(out), np.uint8)


def sha(a):
    return hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()


def save(name, rows):
    with open(name, "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n")


def side():
    return rng.choice([rng.randint(1, 12), rng.randint(1, 60), rng.randint(1, 160)])


def resize_case(i):
    kernel = rng.choice(["cv2_area", "cv2_linear", "cv2_area", "cv2_linear", "pil_bilinear", "pil_bicubic"])
    real = rng.random() < 0.35
    c = 1 if real and kernel[0] == "p" else rng.choice([3, 3, 1])
    dw, dh, mode = side(), side(), rng.randrange(5)
    sw, sh = side(), side()
    if mode == 0:  # shrink by whole factors
        dw, dh = dw % 30 + 1, dh % 30 + 1
        sw, sh = dw * rng.randint(1, 5), dh * rng.randint(1, 5)
    elif mode == 1:  # enlarge by whole factors
        sw, sh = sw % 30 + 1, sh % 30 + 1
        dw, dh = sw * rng.randint(1, 5), sh * rng.randint(1, 5)
    elif mode == 2 and kernel == "cv2_area" and i % 2:  # shares of less than a thousandth of a pixel
        sw, dw, sh = rng.randint(2001, 6000), rng.randint(1000, 2000), rng.randint(1, 3)
        dh = sh
    elif mode == 3 and kernel == "cv2_area" and i % 2:  # a factor that is almost whole
        dw, sh = rng.randint(300, 900), rng.randint(1, 3)
        sw, dh = dw * rng.randint(1, 4) + rng.choice([-1, 1]), sh
    n = sw * sh * c
    if real:
        b = noise(i, 3 * n).astype(np.float32)
        a = b[0::3] + b[1::3] / np.float32(256) + b[2::3] / np.float32(65536)
    else:
        a = noise(i, n)
    a = a.reshape(sh, sw, c)
    if kernel[0] == "c":
        b = cv2.resize(a, (dw, dh), interpolation=cv2.INTER_AREA if kernel == "cv2_area" else cv2.INTER_LINEAR)
    else:
        b = Image.fromarray(a if c == 3 else a[..., 0]).resize(
            (dw, dh), Image.BILINEAR if kernel == "pil_bilinear" else Image.BICUBIC)
    b = np.asarray(b).reshape(dh, dw, c)
    assert b.dtype == a.dtype
    if real or c == 1:
        return None  # no pipeline has such images
    return dict(kernel=kernel, src=[sw, sh], dst=[dw, dh], seed=i, sha256=sha(b))


def torch(bgr, short, crop, resample, mean, std):
    f = np.float32
    im = Image.fromarray(cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB))
    w, h = im.size
    w, h = (short, int(short * h / w)) if w <= h else (int(short * w / h), short)
    top, left = int(round((h - crop) / 2.0)), int(round((w - crop) / 2.0))
    a = np.asarray(im.resize((w, h), resample))[top : top + crop, left : left + crop].astype(f)
    return (a / f(255) - np.array(mean, f)) / np.array(std, f)


PIPELINES = {
    "resnet50_vgg_224": lambda i: dataset.pre_process_vgg(i, (224, 224, 3)),
    "mobilenet_224": lambda i: dataset.pre_process_mobilenet(i, (224, 224, 3)),
    "imagenet_tflite_tpu_224": lambda i: dataset.pre_process_imagenet_tflite_tpu(i, (224, 224, 3)),
    "imagenet_pytorch_224": lambda i: torch(i, 256, 224, Image.BILINEAR, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    "clip_vit_b32_224": lambda i: torch(
        i, 224, 224, Image.BICUBIC, [0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711]),
    "coco_mobilenet_300": lambda i: dataset.pre_process_coco_mobilenet(i, (300, 300, 3)),
    "coco_pt_mobilenet_300": lambda i: dataset.pre_process_coco_pt_mobilenet(i, (300, 300, 3)),
    "openimages_retinanet_800": lambda i: dataset.pre_process_openimages_retinanet(i, (800, 800, 3)),
}
SIZES = [(1, 1), (1, 50), (50, 1), (3, 700), (900, 4), (256, 256), (512, 512), (224, 224), (800, 800), (600, 600),
         (448, 300), (256, 300), (300, 256), (512, 700), (341, 256)]


def main():
    save("random_resize.json", filter(None, [resize_case(i) for i in range(300)]))
    rows = []
    for i in range(30):
        w, h = SIZES[i] if i < len(SIZES) else (rng.randint(1, 640), rng.randint(1, 640))
        rgb = noise(i, 3 * w * h).reshape(h, w, 3)
        bgr = np.ascontiguousarray(rgb[..., ::-1])
        names = [n for n in PIPELINES if n != "openimages_retinanet_800" or i % 5 == 0]
        rows.append(dict(width=w, height=h, seed=i, sha256={n: sha(PIPELINES[n](bgr.copy())) for n in names}))
    save("random_pipelines.json", rows)


if __name__ == "__main__":
    main()
