#!/usr/bin/env python3
"""Computes scans.json anew: checksums of prepared scans.

    make_scans.py NNUNET > scans.json

NNUNET is a checkout of MIC-DKFZ/nnUNet at b38c69b, the submodule of the reference in v0.7 to v1.1. Its GenericPreprocessor prepares
files that SimpleITK writes, with the plans of the benchmark (spacing of 1 mm, each image by itself, inside the brain only), and
pad_nd_image pads as preprocess.py does. Needs NumPy 1.24, SciPy, SimpleITK, scikit-image and batchgenerators.
"""
import hashlib, io, json, os, sys, tempfile
from contextlib import redirect_stdout

import numpy as np
import SimpleITK as sitk

sys.path.insert(0, sys.argv[1])
with redirect_stdout(io.StringIO()):  # nnU-Net asks to be cited
    from batchgenerators.augmentations.utils import pad_nd_image
    from nnunet.preprocessing.preprocessing import GenericPreprocessor

# Shapes as SimpleITK has them, and the ends of a box with voxels; within it is a hole, open in the second scan. Seeds are odd where voxels may be NaN.
CASES = [
    {"seed": 2, "shape": [20, 24, 18], "box": [[3, 17], [2, 24], [0, 15]], "open": False},
    {"seed": 4, "shape": [20, 24, 18], "box": [[3, 17], [2, 24], [0, 15]], "open": True},
    {"seed": 5, "shape": [31, 45, 170], "box": [[0, 30], [1, 45], [5, 165]], "open": False},
    {"seed": 8, "shape": [6, 224, 5], "box": [[2, 3], [0, 224], [1, 2]], "open": False},
]


def scan(case):
    s, n = case["seed"], case["shape"]
    images = []
    for _ in range(4):
        v = np.zeros(n, np.float32)
        for z in range(*case["box"][0]):
            for y in range(*case["box"][1]):
                for x in range(*case["box"][2]):
                    s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
                    v[z, y, x] = np.nan if case["seed"] % 2 and s >> 54 == 7 else 1 + (s >> 33) % 2000
        hole = [slice(a + 2, min(a + 6, b - 2)) for a, b in case["box"]]
        if case["open"]:
            hole[2] = slice(hole[2].start, None)
        v[tuple(hole)] = 0
        images.append(v)
    return images


out = []
for case in CASES:
    with tempfile.TemporaryDirectory() as dir, redirect_stdout(io.StringIO()):
        files = [os.path.join(dir, f"x_{m:04d}.nii.gz") for m in range(4)]
        for path, image in zip(files, scan(case)):
            sitk.WriteImage(sitk.GetImageFromArray(image), path)
        p = GenericPreprocessor({m: "nonCT" for m in range(4)}, {m: True for m in range(4)}, [0, 1, 2], None)
        d, _, properties = p.preprocess_test_case(files, np.array([1.0, 1.0, 1.0]))
        d = pad_nd_image(d, np.array([224, 224, 160]), "constant", None, False, None)
    case["sha256"] = hashlib.sha256(d.astype("<f4").tobytes()).hexdigest()
    case["crop_bbox"] = properties["crop_bbox"]
    out.append(case)
json.dump({"numpy": np.__version__, "cases": out}, sys.stdout, indent=1)
print()
