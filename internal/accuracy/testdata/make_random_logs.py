#!/usr/bin/env python3
"""Writes random_logs.json.gz: small logs at random, and what the official scripts print of them.

    make_random_logs.py INFERENCE [SEED COUNT FILE]     # a checkout of mlcommons/inference; b66003e made the file

Runs accuracy-coco.py, accuracy-openimages.py, accuracy-imagenet.py and dlrm_v2's accuracy-dlrm.py unmodified, COUNT
times each. Boxes and scores are few, so that many are equal; labels, indices and lengths are wrong now and then. Of
a script that stops the error is kept. Needs NumPy 1.24.2, scikit-learn 1.2.1 and pycocotools 2.0.11.
"""
import contextlib, gzip, io, json, os, random, runpy, struct, sys, tempfile

inference = sys.argv[1]
seed, count, out = (int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]) if len(sys.argv) > 2 else (7, 24, "random_logs.json.gz")
rng = random.Random(seed)
TOOLS = inference + "/vision/classification_and_detection/tools/"
NAN, INF = float("nan"), float("inf")


def some(*weighted):
    """One of several values, each with a weight."""
    return rng.choices(weighted[0::2], weighted[1::2])[0]


def packed(kind, numbers):
    return struct.pack("<%d%s" % (len(numbers), kind), *numbers).hex()


def run(script, arguments):
    """What a script prints, or the name of its error."""
    printed, argv = io.StringIO(), sys.argv
    sys.argv = [script] + arguments
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_path(script, run_name="__main__")
    except BaseException as error:
        return {"error": type(error).__name__}
    finally:
        sys.argv = argv
    lines = printed.getvalue().splitlines()
    return {"lines": [line for line in lines if not line.startswith(LEFT_OUT)]}


# What tells of the progress and how long it took.
LEFT_OUT = ("Warning: number of samples", "loading annotations", "creating index", "index created", "Loading and preparing", "DONE", "Done", "Running per image",
            "Evaluate annotation type", "Accumulating evaluation", "Assuming loadgen", "Parsing", "Re-ordering", "Calculating AUC")


def log_of(samples, payload):
    """Records of samples in any order, some several times, some not at all."""
    order = [i for i in range(samples) for _ in range(some(0, 1, 1, 8, 2, 1))]
    rng.shuffle(order)
    if rng.random() < .04:
        order.append(samples + rng.randrange(3))
    return [{"seq_id": n, "qsl_idx": i, "data": payload(i)} for n, i in enumerate(order)]


def images():
    ids = rng.sample(range(1, 50) if rng.random() < .8 else range(10**10, 10**10 + 50), rng.randrange(1, 6))
    return [{"id": i, "file_name": "%d.jpg" % i, "width": some(100, 4, 64, 2, 333, 1), "height": some(100, 4, 480, 1, 7, 1), "coco_url": "http://x/%d" % i} for i in ids]


def truth():
    pictures = images()
    categories = [{"id": i, "name": "c%d" % i} for i in rng.sample(range(1, 12), rng.randrange(1, 5))]
    annotations = []
    for n in range(rng.randrange(0, 14)):
        w, h = rng.choice([0, 5, 10, 20, 40]), rng.choice([0, 5, 10, 20, 40, 100])
        annotations.append({
            "id": n + rng.randrange(2) if n == 0 else n + 1, "image_id": rng.choice(pictures)["id"] if rng.random() < .96 else 777,
            "category_id": rng.choice(categories)["id"] if rng.random() < .96 else 99, "bbox": [rng.randrange(0, 60, 10), rng.randrange(0, 60, 10), w, h],
            "area": some(w * h, 6, 1024, 1, 9216, 1, 20000, 1, 0.5, 1), "iscrowd": some(0, 5, 1, 1)})
    return {"images": pictures, "categories": categories, "annotations": annotations}


def detection(t, sample):
    """A box that is near an object, mostly."""
    image = t["images"][sample] if sample < len(t["images"]) else t["images"][0]
    near = [a for a in t["annotations"] if a["image_id"] == image["id"]]
    a = rng.choice(near) if near and rng.random() < .85 else {"bbox": [10, 10, 20, 20], "category_id": rng.choice(t["categories"])["id"]}
    x, y, w, h = a["bbox"]
    x, w = x + some(0, 6, 1, 2, 10, 1, -5, 1), w * some(1, 6, .5, 2, .75, 1, 2, 1, -1, .1)
    label = a["category_id"] if rng.random() < .85 else some(0, 4, 1, 9, 2, 3, 3, 1, -1, 1, 40, .1, 1.9, 1, NAN, .1)
    index = some(sample, 40, sample + 1, 1, sample + .5, 1, -1, .5, 1e20, .1, NAN, .05)
    score = some(rng.randrange(1, 5) / 4, 30, rng.random(), 10, 0, 1, -0.0, 1, -1, 1, NAN, .2, INF, .5)
    return [index, y / image["height"], x / image["width"], (y + h) / image["height"], (x + w) / image["width"], score, label]


def detections(script):
    t = truth()
    def payload(sample):
        if rng.random() < .1:
            return some("", 3, packed("f", [1, 2, 3]), 1, packed("f", [0] * 6), 1)
        numbers = [v for _ in range(some(1, 3, 3, 3, 8, 2)) for v in detection(t, sample)]
        return packed("f", numbers[:-1] if rng.random() < .01 else numbers)
    arguments = ["--verbose"] + some([], 3, ["--use-inv-map"], 1)
    return {"truth": t, "log": log_of(len(t["images"]), payload), "arguments": arguments}


def detection_case(script, folder, name, annotations):
    case = detections(script)
    os.makedirs(folder + "/annotations", exist_ok=True)
    json.dump(case["truth"], open(folder + "/annotations/" + annotations, "w"))
    json.dump(case["log"], open(folder + "/log.json", "w"))
    result = run(TOOLS + script, ["--mlperf-accuracy-file", folder + "/log.json", "--" + name + "-dir", folder, "--output-file", folder + "/out.json"] + case["arguments"])
    return dict(case, **result)


def imagenet_case(folder):
    n, kind = rng.randrange(1, 12), some("float32", 4, "int32", 1, "int64", 1)
    label = lambda: some(rng.randrange(4), 20, 999, 1, -1, 1, 2**24 + 1, 1, 2**31 - 1, 1)
    table = "".join("%s%s%d%s\n" % ("img%d" % i, some(" ", 5, "\t", 1, "  ", 1), label(), some("", 5, " more", 1, " ", 1, "\r", .5)) for i in range(n))
    labels = [int(line.split()[1]) for line in table.split("\n") if line]
    def payload(sample):
        v = labels[sample] if sample < n and rng.random() < .6 else label()
        if kind != "float32":
            return packed({"int32": "i", "int64": "q"}[kind], [v] * some(1, 9, 3, 1, 0, .1)) + some("", 30, "00", .3)
        v = some(v, 20, v + .5, 1, v - .5, 1, 1e20, .3, -1e30, .2, NAN, .1, INF, .1)
        return packed("f", [v] * some(1, 9, 2, 1, 0, .1))
    case = {"table": table, "log": log_of(n, payload), "arguments": ["--dtype", kind] + some([], 1, ["--verbose"], 2)}
    open(folder + "/val_map.txt", "w", newline="").write(table)
    json.dump(case["log"], open(folder + "/log.json", "w"))
    return dict(case, **run(TOOLS + "accuracy-imagenet.py", ["--mlperf-accuracy-file", folder + "/log.json", "--imagenet-val-file", folder + "/val_map.txt"] + case["arguments"]))


def clicks_case(folder):
    n, kind = rng.randrange(1, 8), some("float32", 6, "int32", 1, "int64", 1)
    sizes = [some(1, 2, 2, 2, 5, 1, 0, .3) for _ in range(n)]
    told = rng.random() < .5
    share, wrong = some(.5, 6, .1, 1, 0, .3, 1, .3), rng.random() < .08
    labels = [[int(rng.random() < share) for _ in range(size)] for size in sizes]
    def prediction(label):
        if kind != "float32":
            return some(0, 3, 1, 3, -1, 1)
        v = some(rng.random(), 6, rng.randrange(5) / 4, 6, .5, 1, 1.5, 1, -0.0, 1, 1e-40, .3)
        return some(NAN, 1, INF, 1) if wrong and rng.random() < .2 else v
    def payload(sample):
        own = labels[sample] if sample < n else [1]
        numbers = [v for label in own for v in ([prediction(label)] if told else [prediction(label), label])]
        if rng.random() < .02:
            numbers = numbers[:-1]
        return packed({"float32": "f", "int32": "i", "int64": "q"}[kind], numbers)
    case = {"labels": labels if told else None, "log": log_of(n, payload), "arguments": ["--dtype", kind] + some([], 1, ["--verbose"], 1)}
    json.dump(case["log"], open(folder + "/log.json", "w"))
    more = []
    if told:
        open(folder + "/day_23", "w").write("".join("%d\t1\t2\n" % label for own in labels for label in own))
        open(folder + "/trace.txt", "w").write("".join("%d, %d, %d\n" % (sum(sizes[:i]), sum(sizes[:i + 1]), sizes[i]) for i in range(n)))
        more = ["--day-23-file", folder + "/day_23", "--aggregation-trace-file", folder + "/trace.txt"]
    script = inference + "/recommendation/dlrm_v2/pytorch/tools/accuracy-dlrm.py"
    return dict(case, **run(script, ["--mlperf-accuracy-file", folder + "/log.json"] + more + case["arguments"]))


with tempfile.TemporaryDirectory() as folder:
    cases = {
        "coco": [detection_case("accuracy-coco.py", folder, "coco", "instances_val2017.json") for _ in range(count)],
        "openimages": [detection_case("accuracy-openimages.py", folder, "openimages", "openimages-mlperf.json") for _ in range(count)],
        "imagenet": [imagenet_case(folder) for _ in range(2 * count)],
        "clicks": [clicks_case(folder) for _ in range(2 * count)],
    }
with open(out, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
    z.write(json.dumps(cases, separators=(",", ":")).encode())
