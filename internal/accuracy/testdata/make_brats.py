#!/usr/bin/env python3
"""Computes brats.json anew: what accuracy-brats.py prints for logs that are made here.

    make_brats.py MLCOMMONS_INFERENCE NNUNET            # compare, print what differs
    make_brats.py MLCOMMONS_INFERENCE NNUNET --write    # and write it

The script is that of the checkout (vision/medical_imaging/3d-unet at v0.7 to v1.1, later in retired_benchmarks), run unmodified;
NNUNET is a checkout of MIC-DKFZ/nnUNet at b38c69b, the submodule of these rounds. Scores and labels follow from seeds (scores,
labels), which brats_test.go repeats. Needs NumPy 1.24, SciPy, SimpleITK, MedPy, scikit-image, batchgenerators and pandas.
"""
import json, os, pickle, shutil, subprocess, sys, tempfile

import numpy as np
import SimpleITK as sitk

HERE = os.path.dirname(os.path.abspath(__file__))
SPECIAL = np.array([0, 0x8000, 0x7C00, 0xFC00, 0x7E00, 0xFE00, 0x3C00, 0x3C00], np.uint16)
VOXELS = 224 * 224 * 160


def mix(seed, n):
    """splitmix64 of seed·2³² + 0, 1, …"""
    x = (np.uint64(seed) << np.uint64(32)) + np.arange(n, dtype=np.uint64)
    x += np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def scores(seed, dtype):
    """Scores at random, of which some are special; seed 0: background everywhere."""
    if seed == 0:
        x = np.zeros(4 * VOXELS, np.float16)
        x[:VOXELS] = 1
        return x.astype(dtype)
    h = mix(seed, 4 * VOXELS)
    if dtype == np.int8:
        return (h >> np.uint64(56)).astype(np.uint8).view(np.int8)
    bits = np.where(h & np.uint64(7) == 0, SPECIAL[(h >> np.uint64(3)) & np.uint64(7)], (h >> np.uint64(48)).astype(np.uint16) & np.uint16(0xBFFF))
    return bits.astype(np.uint16).view(np.float16).astype(dtype)


def labels(shape, most):
    z, y, x = np.meshgrid(*map(np.arange, shape), indexing="ij")
    return ((z // 16 + y // 20 + x // 24) % (most + 1)).astype(np.uint8)


def run(script, nnunet, case, dtype):
    with tempfile.TemporaryDirectory() as dir:
        for name in ("prepared", "out", "labels"):
            os.mkdir(os.path.join(dir, name))
        shutil.copy(script, dir)
        os.symlink(nnunet, os.path.join(dir, "nnUnet"))
        with open(os.path.join(dir, "prepared/preprocessed_files.pkl"), "wb") as f:
            pickle.dump([c["name"] for c in case["cases"]], f)
        with open(os.path.join(dir, "log"), "w") as log:
            for i, c in enumerate(case["cases"]):
                box = c["box"]
                with open(os.path.join(dir, "prepared", c["name"] + ".pkl"), "wb") as f:
                    pickle.dump([None, {
                        "original_size_of_raw_data": np.array(c["shape"]), "size_after_cropping": tuple(b - a for a, b in box), "crop_bbox": box,
                        "original_spacing": np.ones(3), "spacing_after_resampling": np.ones(3), "itk_spacing": (1.0, 1.0, 1.0),
                        "itk_origin": (0.0, 0.0, 0.0), "itk_direction": (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
                    }], f)
                sitk.WriteImage(sitk.GetImageFromArray(labels(c["shape"], c["most"])), os.path.join(dir, "labels", c["name"] + ".nii.gz"))
                log.write("[\n" if i == 0 else ",\n")
                log.write('{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%s" }' % (i, i, scores(c["seed"], dtype).tobytes().hex().upper()))
            log.write("\n]\n")
        out = subprocess.run([sys.executable, "accuracy-brats.py", "--log_file", "log", "--output_dtype", np.dtype(dtype).name, "--preprocessed_data_dir", "prepared",
                              "--postprocessed_data_dir", "out", "--label_data_dir", "labels", "--num_threads_nifti_save", "2"],
                             cwd=dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        with open(os.path.join(dir, "out/summary.csv")) as f:
            rows = dict(line.rstrip().split(",", 1) for line in f)
        return [line for line in out.splitlines() if line.startswith("Accuracy")][0], [rows[c["name"]] for c in case["cases"]]


def main():
    inference, nnunet = map(os.path.abspath, sys.argv[1:3])
    script = next(p for p in (os.path.join(inference, d, "accuracy-brats.py") for d in (
        "vision/medical_imaging/3d-unet", "retired_benchmarks/vision/medical_imaging/3d-unet-brats19", "")) if os.path.exists(p))
    path = os.path.join(HERE, "brats.json")
    with open(path) as f:
        golden = json.load(f)
    before = json.dumps(golden)
    for case in golden["logs"]:
        case["printed"], case["per_case"] = run(script, nnunet, case, np.dtype(case["dtype"]).type)
    if json.dumps(golden) != before:
        print("brats.json differs")
        if sys.argv[3:] == ["--write"]:
            with open(path, "w") as f:
                json.dump(golden, f, indent=1)
                f.write("\n")


main()
