#!/usr/bin/env python3
"""Computes the expected values of coco/*.json.gz, coco_iou.json.gz and coco_parameters.json anew, from the input in them.

Needs pycocotools 2.0.11 and NumPy 1.24.2.

    make_coco.py           # compare what is here with what pycocotools says, print what differs
    make_coco.py --write   # and write it

A new case is a file with "name", "description", "params", "ground_truth" and "detections"; --write completes it.
"""
import contextlib, glob, gzip, io, json, math, os, sys

import numpy as np
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval, Params

HERE = os.path.dirname(os.path.abspath(__file__))


def load(name):
    with gzip.open(os.path.join(HERE, name), "rt") as f:
        return json.load(f)


def evaluate(case):
    """Runs COCOeval as the accuracy scripts do, with the parameters of the case."""
    truth = COCO()
    truth.dataset = json.loads(json.dumps(case["ground_truth"]))
    truth.createIndex()
    if case["detections"]:
        found = truth.loadRes(json.loads(json.dumps(case["detections"])))
    else:  # loadRes wants at least one
        found = COCO()
        found.dataset = dict(truth.dataset, annotations=[])
        found.createIndex()
    e = COCOeval(truth, found, "bbox")
    p = case["params"]
    if p.get("img_ids") is not None:
        e.params.imgIds = p["img_ids"]
    if p.get("cat_ids") is not None:
        e.params.catIds = p["cat_ids"]
    e.params.maxDets = p["max_dets"]
    e.params.useCats = p["use_cats"]
    if p.get("iou_thrs") is not None:
        e.params.iouThrs = np.array(p["iou_thrs"])
    if p.get("rec_thrs") is not None:
        e.params.recThrs = np.array(p["rec_thrs"])
    e.evaluate()
    e.accumulate()
    return e


def mean(values):
    values = values[values > -1]
    return float(values.mean()) if len(values) else -1.0


def expected(case):
    e = evaluate(case)
    p, precision, recall = e.params, e.eval["precision"], e.eval["recall"]  # TxRxKxAxM, TxKxAxM
    threshold = lambda v: np.where(v == p.iouThrs)[0]
    out = {"stats": stats(e), "ap_all_per_iou": [mean(precision[t, :, :, 0, -1]) for t in range(len(p.iouThrs))]}
    categories = p.catIds if p.useCats else [-1]
    out["per_category"] = [
        {
            "category_id": int(c),
            "ap": mean(precision[:, :, k, 0, -1]),
            "ap50": mean(precision[threshold(0.5), :, k, 0, -1]),
            "ap75": mean(precision[threshold(0.75), :, k, 0, -1]),
            "ap_small": mean(precision[:, :, k, 1, -1]),
            "ap_medium": mean(precision[:, :, k, 2, -1]),
            "ap_large": mean(precision[:, :, k, 3, -1]),
            "ar": [mean(recall[:, k, 0, m]) for m in range(len(p.maxDets))],
        }
        for k, c in enumerate(categories)
    ]
    out["precision_all_lastmaxdet_TxKxR"] = precision[:, :, :, 0, -1].transpose(0, 2, 1).tolist()
    out["recall_TxKxAxM"] = recall.tolist()
    return out


def stats(e):
    """summarize prints its numbers rounded; e.stats has all digits."""
    with contextlib.redirect_stdout(io.StringIO()):
        e.summarize()
    return [float(v) for v in e.stats]


def same(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and all(k in b and same(v, b[k]) for k, v in a.items())
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) and isinstance(b, (int, float)) and math.isnan(a) and math.isnan(b):
        return True
    return a == b


def save(name, value):
    text = json.dumps(value, separators=(",", ":")).encode()
    with open(os.path.join(HERE, name), "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(text)


def main():
    write = "--write" in sys.argv[1:]
    differ = 0
    for path in sorted(glob.glob(os.path.join(HERE, "coco", "*.json.gz"))):
        name = os.path.join("coco", os.path.basename(path))
        case = load(name)
        with contextlib.redirect_stdout(io.StringIO()):
            now = expected(case)
        there = case.get("expected", {})
        if there:  # large cases do without the curves
            now = {k: v for k, v in now.items() if k in there}
        if not there or not same(now, there):
            differ += 1
            print("differs:", name)
            if write:
                save(name, dict(case, expected=dict(there, **now)))
    ious = load("coco_iou.json.gz")
    for i, c in enumerate(ious["cases"]):
        got = mask.iou(np.array(c["dt"], dtype=float), np.array(c["gt"], dtype=float), c["iscrowd"])
        now = np.asarray(got).tolist()
        if not same(now, c["iou_dt_by_gt"]):
            differ += 1
            print("differs: coco_iou case", i)
            c["iou_dt_by_gt"] = now
    if write:
        save("coco_iou.json.gz", ious)
    p = Params(iouType="bbox")
    parameters = {
        "iou_thresholds": p.iouThrs.tolist(), "recall_thresholds": p.recThrs.tolist(),
        "area_ranges": [[float(v) for v in a] for a in p.areaRng], "area_labels": p.areaRngLbl, "max_dets": p.maxDets,
    }
    with open(os.path.join(HERE, "coco_parameters.json")) as f:
        there = json.load(f)
    if not same(parameters, there):
        differ += 1
        print("differs: coco_parameters.json")
    print(differ, "differ")
    sys.exit(differ > 0 and not write)


if __name__ == "__main__":
    main()
