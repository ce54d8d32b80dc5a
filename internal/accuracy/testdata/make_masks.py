#!/usr/bin/env python3
"""Computes the expected values of dice_kits19.json.gz and miou_ade20k.json.gz anew, from the masks in them.

    make_masks.py MLCOMMONS_INFERENCE            # compare, print what differs
    make_masks.py MLCOMMONS_INFERENCE --write    # and write it

Dice are what get_dice_score of the checkout's vision/medical_imaging/3d-unet-kits19/accuracy_kits.py returns, run
unmodified; only the functions that it needs are taken out of the file, as the rest wants nibabel. The mean IoU is written
down again from flutter/cpp/datasets/ade20k.cc of mlcommons/mobile_app_open, which is part of an application: labels are
bytes of which 1 is taken, so that 0 becomes 255; sums are single precision, terms double.

A new case is an entry with a name, a shape and masks as value, count, ...; --write completes it. Needs NumPy.
"""
import ast, gzip, json, math, os, sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def functions(path, names):
    """Returns functions of a file, without running the rest of it."""
    with open(path) as f:
        tree = ast.parse(f.read(), path)
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    found = {"np": np}
    exec(compile(tree, path, "exec"), found)
    return [found[name] for name in names]


def decode(runs, shape):
    flat = np.repeat(np.array(runs[0::2], np.uint8), runs[1::2])
    return flat.reshape(shape)


def dice(golden, score):
    means = []
    for case in golden["cases"]:
        masks = [decode(case[kind + "_rle"], case["shape"])[np.newaxis] for kind in ("prediction", "target")]
        _, (kidney, tumor) = score(case["name"], *masks)
        case["expected"] = {"kidney": float(kidney), "tumor": float(tumor), "composite": float((kidney + tumor) / 2)}
        means.append(case["expected"])
    mean = {kind: float(np.mean([m[kind] for m in means])) for kind in ("kidney", "tumor", "composite")}
    golden["mean_over_cases"] = mean
    golden["printed"] = "Accuracy: mean = %.5f, kidney = %.4f, tumor = %.4f" % (mean["composite"], mean["kidney"], mean["tumor"])


def counts(case):
    n = case["num_classes"]
    tp, fp, fn = [0] * n, [0] * n, [0] * n
    for image in case["images"]:
        found, truth = (decode(image[kind + "_rle"], -1) - np.uint8(1) for kind in ("prediction", "ground_truth"))
        for f, t in zip(found.tolist(), truth.tolist()):
            if t >= n:
                continue
            if f == t:
                tp[t] += 1
                continue
            fn[t] += 1
            if f < n:
                fp[f] += 1
    return tp, fp, fn


def quotient(a, b):
    return a / b if b else math.nan


def or_none(v):
    return None if math.isnan(v) else v


def mean_iou(case):
    tp, fp, fn = counts(case)
    ious = [quotient(t, t + p + n) for t, p, n in zip(tp, fp, fn)]
    present = [v for v in ious if not math.isnan(v)]
    single = np.float32(0)
    for v in ious:
        single = np.float32(np.float64(single) + v)
    single = float(single / np.float32(len(ious)))
    case["expected"] = {
        "tp": tp, "fp": fp, "fn": fn, "iou_per_class": [or_none(v) for v in ious],
        "mean_iou_all_classes_float64": or_none(sum(ious) / len(ious)),
        "mean_iou_present_classes": or_none(quotient(sum(present), len(present))),
        "reference_float32": "NaN" if math.isnan(single) else single,
        "reference_string": None if math.isnan(single) else "%.4f mIoU" % single,
    }


def same(a, b):
    """Reports whether two values are the same but for the last digits."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-15)
    return a == b


def main():
    write = "--write" in sys.argv
    checkout = [a for a in sys.argv[1:] if a != "--write"][0]
    script = os.path.join(checkout, "vision/medical_imaging/3d-unet-kits19/accuracy_kits.py")
    _, _, score = functions(script, ["to_one_hot", "prepare_one_hot", "get_dice_score"])
    failed = False
    for name in ("dice_kits19.json.gz", "miou_ade20k.json.gz"):
        path = os.path.join(HERE, name)
        with gzip.open(path, "rt") as f:
            old = json.load(f)
        new = json.loads(json.dumps(old))
        if name.startswith("dice"):
            dice(new, score)
        else:
            for case in new["cases"]:
                mean_iou(case)
        for a, b in zip(old["cases"], new["cases"]):
            if not same(a.get("expected"), b["expected"]):
                failed = True
                print(name, a["name"], "\n  here", a.get("expected"), "\n  computed", b["expected"])
        if not same({k: v for k, v in old.items() if k != "cases"}, {k: v for k, v in new.items() if k != "cases"}):
            failed = True
            print(name, "the means differ")
        if write:
            with gzip.GzipFile(path, "wb", mtime=0) as f:
                f.write((json.dumps(new, separators=(",", ":")) + "\n").encode())
    sys.exit(failed and not write)


main()
