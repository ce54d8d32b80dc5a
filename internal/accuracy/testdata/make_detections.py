#!/usr/bin/env python3
"""Computes the results in log_to_detections.json.gz anew: the boxes that the official scripts make of the accuracy log in it.

    make_detections.py INFERENCE            # a checkout of mlcommons/inference (b66003e); says what differs
    make_detections.py INFERENCE --write    # and writes it

accuracy-coco.py and accuracy-openimages.py run unmodified until they give the boxes to pycocotools (2.0.11; NumPy 1.24.2).
"""
import contextlib, gzip, io, json, os, runpy, sys, tempfile

from pycocotools import coco, cocoeval

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "log_to_detections.json.gz")
TOOLS = "/vision/classification_and_detection/tools/"


class Stop(Exception):
    pass


class Params:
    def __setattr__(self, name, value):  # params.imgIds is the last thing that a script sets
        raise Stop(sorted(value))


class COCOeval:
    def __init__(self, *_, **__):
        self.params = Params()


def boxes(script, arguments, folder):
    cocoeval.COCOeval, argv = COCOeval, sys.argv
    sys.argv = [script, *arguments, "--mlperf-accuracy-file", folder + "/log.json", "--output-file", folder + "/boxes.json"]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(script, run_name="__main__")
    except Stop as stop:
        images = stop.args[0]
    finally:
        sys.argv = argv
    with open(folder + "/boxes.json") as f:
        found = [{key: box[key] for key in ("bbox", "category_id", "image_id", "score")} for box in json.load(f)]
    return {"detections": found, "image_ids": images}


inference = os.path.abspath(sys.argv[1])
with gzip.open(FILE, "rt") as f:
    golden = json.load(f)
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(folder + "/annotations")
    for name, content in {"annotations/instances_val2017": "annotations", "annotations/openimages-mlperf": "annotations", "log": "accuracy_log"}.items():
        with open(f"{folder}/{name}.json", "w") as f:
            json.dump(golden[content], f)
    results = {
        "accuracy-coco": boxes(inference + TOOLS + "accuracy-coco.py", ["--coco-dir", folder], folder),
        "accuracy-coco_use_inv_map": boxes(inference + TOOLS + "accuracy-coco.py", ["--coco-dir", folder, "--use-inv-map"], folder),
        "accuracy-openimages": boxes(inference + TOOLS + "accuracy-openimages.py", ["--openimages-dir", folder], folder),
    }
for name, result in results.items():
    if result != golden["results"][name]:
        print(name, "differs")
if "--write" in sys.argv:
    with open(FILE, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(json.dumps(dict(golden, results=results), separators=(",", ":")).encode())
