#!/usr/bin/env python3
"""Computes png.json, resize.json.gz, pipelines.json and geometry.json.gz anew and says what differs; --write writes them.

    PYTHONPATH=TORCH/lib/python3.11/site-packages /usr/bin/python3 make_images.py INFERENCE [--write]

INFERENCE is a checkout of mlcommons/inference (b66003e1): its dataset.py runs unmodified. OpenCV 4.6.0 without IPP is Debian 12's
python3-opencv; TORCH is a virtual environment with NumPy 1.24.2, Pillow 9.4.0, PyTorch 1.13.1 and torchvision 0.14.1.
mobile_* and mobile_classification_224 are computed here from the algorithm of TFLite's evaluation stage.
"""
import gzip, hashlib, json, math, os, sys

import cv2
import numpy as np
import torch
from PIL import Image
from torchvision.transforms import functional as F

sys.path.insert(0, sys.argv[1] + "/vision/classification_and_detection/python")
import dataset

HERE = os.path.dirname(os.path.abspath(__file__))
f32 = np.float32
cv2.setNumThreads(1)
torch.set_num_threads(1)


def sha(a):
    return hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()


def rgb(bgr):
    return cv2.cvtColor(bgr, cv2.COLOR_BGR2RGB)


def png(case):
    return dict(case, sha256=sha(rgb(cv2.imread(f"{HERE}/png/{case['file']}"))))


def tflite_bilinear(a, h, w):
    """ResizeBilinear of TFLite's reference kernels without half_pixel_centers and align_corners."""

    def axis(n, out):
        position = np.arange(out, dtype=f32) * (f32(n) / f32(out))
        low = np.floor(position).astype(int)
        return low, np.minimum(np.ceil(position).astype(int), n - 1), position - low.astype(f32)

    y0, y1, dy = axis(a.shape[0], h)
    x0, x1, dx = axis(a.shape[1], w)
    dy, dx, a = dy[:, None, None], dx[None, :, None], a.astype(f32)
    top, bottom, one = a[y0], a[y1], f32(1)
    return top[:, x0] * (one - dy) * (one - dx) + bottom[:, x0] * dy * (one - dx) + top[:, x1] * (one - dy) * dx + bottom[:, x1] * dy * dx


def resize(case):
    a, (h, w) = np.array(case["src"], case["dtype"]).reshape(case["src_shape"]), case["dst_shape"][:2]
    kernel = case["op"]
    if kernel.startswith("cv2"):
        b = cv2.resize(a, (w, h), interpolation={"cv2_area": cv2.INTER_AREA, "cv2_linear": cv2.INTER_LINEAR}[kernel])
    elif kernel.startswith("pil"):
        b = Image.fromarray(a if a.shape[2] == 3 else a[..., 0]).resize((w, h), {"pil_bilinear": Image.BILINEAR, "pil_bicubic": Image.BICUBIC}[kernel])
    else:
        b = torch.nn.functional.interpolate(torch.from_numpy(a.transpose(2, 0, 1).copy())[None], (h, w), mode="bilinear", align_corners=False)[0].permute(1, 2, 0)
    return dict(case, dst=[float(str(v)) if v.dtype == f32 else int(v) for v in np.asarray(b).ravel()])


def clip(bgr, need_transpose):
    image = F.center_crop(F.resize(Image.fromarray(rgb(bgr)), 224, F.InterpolationMode.BICUBIC), 224)
    a = F.normalize(F.to_tensor(image), (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)).numpy()
    return a if need_transpose else a.transpose(1, 2, 0)


def mobile_size(w, h):
    ratio = f32(256) / f32(min(w, h))
    return [int(math.floor(f32(n) * ratio + f32(0.5))) for n in (w, h)]


def mobile(task, side, kind):
    def run(bgr, need_transpose):
        a = rgb(bgr)
        if task == "classification":
            w, h = mobile_size(a.shape[1], a.shape[0])
            left, top = (w - side + 1) // 2, (h - side + 1) // 2
            a = tflite_bilinear(a, h, w)[top : top + side, left : left + side]
        else:
            a = tflite_bilinear(a, side, side)
        if kind == "float32":
            a = (a - f32(127.5)) * f32(1 / 127.5)
        elif kind == "int8":
            a = (a - f32(128)).astype(np.int8)
        else:
            a = a.astype(np.uint8)
        return a.transpose(2, 0, 1) if need_transpose else a

    return run


def pipeline(case):
    *name, side = case["pipeline"].split("_")
    if name[0] == "mobile":
        *name, kind = name + [side]
        run = mobile(name[1], int(name[2]), kind)
    elif name[0] == "clip":
        run = clip
    else:
        name = {"resnet50_vgg": "vgg"}.get("_".join(name), "_".join(name))
        run = lambda bgr, transpose: getattr(dataset, "pre_process_" + name)(bgr, (int(side), int(side), 3), transpose)
    bgr = cv2.imread(f"{HERE}/../jpeg/testdata/images/{case['image']}")
    hwc, chw = run(bgr.copy(), False), run(bgr.copy(), True)
    if name == "imagenet_tflite_tpu":  # the function ignores need_transpose
        chw = chw.transpose(2, 0, 1)
    return dict(case, sha256_hwc=sha(hwc), sha256_chw=sha(chw))


def geometry(case):
    """The offsets are what comes out of a picture whose pixels are their own coordinates."""
    w, h = case["width"], case["height"]

    def place(size, crop):
        top, left = crop(np.stack(np.indices(size[::-1]) + [np.zeros(size[::-1], int)][0], -1))
        return {"resized": list(size), "left": int(left), "top": int(top)}

    def torchvision(short):
        size = F.resize(Image.new("L", (w, h)), short, F.InterpolationMode.NEAREST).size
        return place(size, lambda a: F.center_crop(torch.from_numpy(a).permute(2, 0, 1), 224)[:, 0, 0])

    small = dataset.resize_with_aspectratio(np.zeros((h, w, 3), np.uint8), 224, 224, inter_pol=cv2.INTER_NEAREST)
    mw, mh = mobile_size(w, h)
    return {
        "width": w,
        "height": h,
        "classification_cv2": place(small.shape[1::-1], lambda a: dataset.center_crop(a, 224, 224)[0, 0]),
        "imagenet_pytorch": torchvision(256),
        "clip_vit_b32": torchvision(224),
        "mobile_classification_224": {"resized": [mw, mh], "left": (mw - 223) // 2, "top": (mh - 223) // 2},
    }


for name, function in {"png.json": png, "resize.json.gz": resize, "pipelines.json": pipeline, "geometry.json.gz": geometry}.items():
    opener = gzip.open if name.endswith(".gz") else open
    with opener(f"{HERE}/{name}", "rt") as f:
        golden = json.load(f)
    results = [function(case) for case in golden]
    for old, new in zip(golden, results):
        if old != new:
            print(name, "differs:", *[old[key] for key in ("name", "file", "pipeline", "image", "width", "height") if key in old])
    if "--write" in sys.argv:
        text = "[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in results) + "\n]\n"
        with open(f"{HERE}/{name}", "wb") as f:
            f.write(gzip.compress(text.encode(), 9, mtime=0) if name.endswith(".gz") else text.encode())
