#!/usr/bin/env python3
"""Computes the answers in responses.json.gz and boxes.json.gz anew, and the hashes of text.jpg's tensors, and says what differs.

    /usr/bin/python3 make_responses.py INFERENCE [--write]

INFERENCE is a checkout of mlcommons/inference (b66003e1). The post-processing of its vision/classification_and_detection runs
unmodified, picked by the dataset's name in main.py as the reference picks it (NumPy 1.24.2); the packages that it imports beside
NumPy and OpenCV 4.6.0 have stand-ins. What it returns goes to LoadGen as float32, as in main.py.
"""
import ast, gzip, hashlib, json, os, sys, types

import cv2
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = sys.argv[1] + "/vision/classification_and_detection/python"
for name in "pycocotools", "pycocotools.cocoeval", "pycoco":
    sys.modules[name] = types.ModuleType(name)
sys.modules["pycocotools.cocoeval"].COCOeval = None
sys.path.insert(0, PYTHON)
import coco, dataset, imagenet, openimages

with open(PYTHON + "/main.py") as f:
    tree = ast.parse(f.read())
node = next(n for n in tree.body if isinstance(n, ast.Assign) and n.targets[0].id == "SUPPORTED_DATASETS")
SUPPORTED = eval(compile(ast.Expression(node.value), "main.py", "eval"), vars(sys.modules["__main__"]))


class Tensor(np.ndarray):
    def cpu(self):
        return self


def respond(case):
    outputs = [np.frombuffer(bytes.fromhex(o["hex"]), o["dtype"]).reshape(o["shape"]) for o in case["outputs"]]
    post = SUPPORTED[case["dataset"]][2]
    post.start()
    if getattr(post, "dict_format", False):  # as PyTorch's RetinaNet answers: a dictionary for each image
        outputs = [dict(zip(("boxes", "labels", "scores"), (a.view(Tensor) for a in outputs[i : i + 3]))) for i in range(0, len(outputs), 3)]
    expected = case.get("expected_labels") or [[[]]] * len(case["content_ids"])
    found = post(outputs, case["content_ids"], expected)
    case = dict(case, response_hex=[np.array(r, np.float32).tobytes().hex().upper() for r in found])
    if "good" in case:
        case.update(good=int(post.good), total=int(post.total))
    return case


for name in "responses.json.gz", "boxes.json.gz":
    with gzip.open(f"{HERE}/{name}", "rt") as f:
        golden = json.load(f)
    results = [respond(case) for case in golden]
    for old, new in zip(golden, results):
        if old != new:
            print(name, "differs:", old["name"])
    if "--write" in sys.argv:
        with open(f"{HERE}/{name}", "wb") as f:
            f.write(gzip.compress(("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in results) + "\n]\n").encode(), 9, mtime=0))

with open(HERE + "/../classification_test.go") as f:
    test = f.read()
picture, missing = cv2.imread(HERE + "/text.jpg"), []
for name in "vgg", "mobilenet":
    for transpose in True, False:
        a = np.ascontiguousarray(getattr(dataset, "pre_process_" + name)(picture.copy(), (224, 224, 3), transpose))
        if hashlib.sha256(a.tobytes()).hexdigest() not in test:
            missing.append(f"classification_test.go does not hold the hash of text.jpg by pre_process_{name}, need_transpose={transpose}")
sys.exit("\n".join(missing) or None)
