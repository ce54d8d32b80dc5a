#!/usr/bin/env python3
"""Computes the expected values of coco.json.gz anew, from the input in it.

Needs pycocotools 2.0.11 and NumPy 1.24.2.

    make_coco.py           # compare what is here with what pycocotools says, print what differs
    make_coco.py --write   # and write it

A new case has "name", "img_ids" (null: all), "ground_truth" and "detections"; --write completes it. In numbers of detections null
stands for NaN, and "inf" and "-inf" for infinity.
"""
import contextlib, gzip, io, json, math, os, sys

import numpy as np
from pycocotools import mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval, Params

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "coco.json.gz")


def number(v):
    return float("nan") if v is None else float(v)


def expected(case):
    """Runs COCOeval as the accuracy scripts do."""
    truth = COCO()
    truth.dataset = json.loads(json.dumps(case["ground_truth"]))
    truth.createIndex()
    found = [dict(d, bbox=[number(v) for v in d["bbox"]], score=number(d["score"])) for d in case["detections"]]
    if found:
        found = truth.loadRes(found)
    else:  # loadRes wants at least one
        found = COCO()
        found.dataset = dict(truth.dataset, annotations=[])
        found.createIndex()
    e = COCOeval(truth, found, "bbox")
    if case["img_ids"] is not None:
        e.params.imgIds = case["img_ids"]
    e.evaluate()
    e.accumulate()
    e.summarize()  # prints its numbers rounded; e.stats has all digits
    precision = e.eval["precision"]  # TxRxKxAxM
    classes = {}
    for k, c in enumerate(e.params.catIds):
        values = precision[:, :, k, 0, -1]
        if (values > -1).any():
            classes[int(c)] = float(values[values > -1].mean())
    return {"stats": [float(v) for v in e.stats], "classes": classes}


def same(a, b):
    return json.loads(json.dumps(a)) == json.loads(json.dumps(b))


def main():
    golden, differ = json.load(gzip.open(FILE, "rt")), 0

    def compare(holder, key, now, what):
        nonlocal differ
        if not same(now, holder.get(key)):
            differ += 1
            print("differs:", what)
        holder[key] = now

    for case in golden["cases"]:
        with contextlib.redirect_stdout(io.StringIO()):
            now = expected(case)
        compare(case, "expected", now, case["name"])
    for i, c in enumerate(golden["ious"]):
        got = mask.iou(np.array(c["dt"], dtype=float), np.array(c["gt"], dtype=float), c["iscrowd"])
        compare(c, "iou_dt_by_gt", np.asarray(got).tolist(), f"IoU {i}")
    p = Params(iouType="bbox")
    compare(golden, "parameters", {
        "iou_thresholds": p.iouThrs.tolist(), "recall_thresholds": p.recThrs.tolist(), "max_dets": p.maxDets,
        "area_ranges": [[float(v) for v in a] for a in p.areaRng], "area_labels": p.areaRngLbl}, "parameters")
    if "--write" in sys.argv[1:]:
        with open(FILE, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
            z.write(json.dumps(golden, separators=(",", ":")).encode())
    print(differ, "differ")
    sys.exit(differ > 0 and "--write" not in sys.argv[1:])


main()
