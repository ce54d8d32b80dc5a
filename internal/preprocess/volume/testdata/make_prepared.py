"""make_prepared.py INFERENCE [--write]: makes prepared.json with preprocess.py of vision/medical_imaging/3d-unet-kits19 in a checkout of
mlcommons/inference (b66003e); needs NumPy 1.24.2, SciPy 1.10.1 and nibabel. Without --write it says which cases differ."""

import hashlib
import json
import os
import pathlib
import sys
import tempfile
import types

import nibabel
import numpy as np
import scipy

FILE = pathlib.Path(__file__).resolve().parent / "prepared.json"
os.chdir(pathlib.Path(sys.argv[1]) / "vision/medical_imaging/3d-unet-kits19")  # it opens files by relative paths
sys.path.insert(0, ".")
import preprocess  # noqa: E402


def volume(seed, shape):
    """Random densities and labels of a linear congruential generator, the last axis fastest."""
    s, image, label = seed, [], []
    for _ in range(int(np.prod(shape))):
        s = (s * 6364136223846793005 + 1442695040888963407) % 2**64
        image.append((s >> 33) % 2048 - 1024)
        label.append((s >> 60) % 3)
    return np.array(image, np.float64).reshape(shape), np.array(label, np.uint8).reshape(shape)


def prepare(case, folder):
    image, label = volume(case["seed"], case["shape"])
    kits = pathlib.Path(folder) / "case_00000"
    kits.mkdir(exist_ok=True)
    for name, data in [("imaging", image), ("segmentation", label)]:
        nifti = nibabel.Nifti1Image(data, np.eye(4))
        nifti.header["pixdim"][1:4] = case["spacing"]
        nibabel.save(nifti, kits / f"{name}.nii.gz")
    p = preprocess.Preprocessor(types.SimpleNamespace(results_dir=folder, data_dir=folder, calibration=False))
    image, label, _ = p.load_and_resample("case_00000")
    zoomed = list(image.shape[1:])
    image = p.normalize_intensity(image.copy())
    image, label = p.pad_to_min_shape(image, label)
    image, label = p.adjust_shape_for_sliding_window(image, label)
    return case | {"zoomed": zoomed, "prepared": list(image.shape[1:]), "dtype": str(image.dtype),
                   "image_sha256": hashlib.sha256(image.astype("<f4").tobytes()).hexdigest(), "label_sha256": hashlib.sha256(label.astype(np.uint8).tobytes()).hexdigest()}


def main():
    golden = json.loads(FILE.read_text())
    cases = []
    for case in golden["cases"]:
        with tempfile.TemporaryDirectory() as folder:
            cases.append(prepare(case, folder))
        if cases[-1] != case:
            print(f"seed {case['seed']}:", {k: (case[k], cases[-1][k]) for k in case if case[k] != cases[-1][k]})
    if "--write" in sys.argv:
        FILE.write_text(json.dumps({"scipy": scipy.__version__, "numpy": np.__version__, "cases": cases}, indent=1))


main()
