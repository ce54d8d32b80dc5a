#!/usr/bin/env python3
"""Writes random_speech.json.gz: small logs of transcripts and translations at random, and what the official scripts print.

    make_random_speech.py INFERENCE WHISPER [SEED COUNT FILE]   # checkouts of mlcommons/inference and openai/whisper

Runs speech2text/accuracy_eval.py, and RNN-T's accuracy_eval.py and GNMT's process_accuracy.py from retired_benchmarks,
COUNT times each. Stood in for are what reads the data sets (a manifest is a list of texts), PyTorch, which nothing here
needs, and TensorFlow's way to open files. b66003e and 20250625 made the file. Needs Debian's python3-more-itertools and
python3-regex.
"""
import contextlib, gzip, io, json, os, random, runpy, struct, sys, tempfile, types

inference, whisper = sys.argv[1:3]
seed, count, out = (int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]) if len(sys.argv) > 3 else (5, 40, "random_speech.json.gz")
rng = random.Random(seed)
RETIRED = inference + "/retired_benchmarks/"
RNNT = " abcdefghijklmnopqrstuvwxyz'"
WHISPER = RNNT + "0123456789$%+-"
WORDS = "a an i ice cream icecream some one someone something thing to day today mister mr colour color don't do not it's 2 two twenty-one 21 $5 50% um uh".split()


class Manifest:
    """The transcripts of a run, as numbers of labels; characters that have none are dropped."""

    texts = []

    def __init__(self, directory, names, labels, *_, **__):
        self.rows = [{"transcript": [labels.index(c) for c in text if c in labels]} for text in Manifest.texts]

    def __getitem__(self, i):
        return self.rows[i]


def module(name, **content):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)


def run(script, arguments, folder):
    """What a script prints, or the name of its error."""
    printed, argv, path, known = io.StringIO(), sys.argv, list(sys.path), set(sys.modules)
    sys.argv = [script] + arguments
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
            runpy.run_path(script, run_name="__main__")
    except BaseException as error:
        return {"error": type(error).__name__}
    finally:
        sys.argv, sys.path[:] = argv, path
        for name in set(sys.modules) - known:  # the next script has others of these names
            if name in ("helpers", "legacy_helpers", "metrics"):
                del sys.modules[name]
    lines = printed.getvalue().splitlines()
    return {"error": "of no words"} if "inf%" in lines[-1] else {"lines": lines}  # RNN-T's script has a number of that


def text(labels, most=9):
    words = [rng.choice(WORDS) if rng.random() < .95 else "".join(rng.choice(labels) for _ in range(4)) for _ in range(rng.randrange(0, most))]
    return "".join(c for c in rng.choice([" ", " ", " ", "  "]).join(words) if c in labels or rng.random() < .3)


def heard(said, labels):
    """What might be heard: words dropped, doubled, joined, split and mistaken."""
    words = []
    for word in said.split():
        k = rng.random()
        words += [] if k < .08 else [word, word] if k < .13 else [rng.choice(WORDS)] if k < .25 else [word[:1], word[1:]] if k < .3 else [word]
    joined = "".join(w + ("" if rng.random() < .12 else " ") for w in words)
    return "".join(c for c in joined if c in labels)


def order_of(n):
    order = [i for i in range(n) for _ in range(rng.choices([0, 1, 2], [1, 8, 1])[0])]
    rng.shuffle(order)
    return order + ([n] if rng.random() < .02 else [])


def speech(script, labels, folder):
    texts = [text(labels) for _ in range(rng.randrange(1, 5))]
    kind = rng.choices(["int64", "int32", "int16", "int8"], [5, 1, 1, 1])[0]
    letter = {"int64": "q", "int32": "q", "int16": "h", "int8": "b"}[kind]  # of int32 the script makes a C long
    log = []
    for n, i in enumerate(order_of(len(texts))):
        said = texts[i] if i < len(texts) else ""
        numbers = [labels.index(c) for c in heard(said, labels)]
        if rng.random() < .01:
            numbers.append(rng.choice([-1, len(labels), 100]))
        log.append({"seq_id": n, "qsl_idx": i, "data": struct.pack("<%d%s" % (len(numbers), letter), *numbers).hex() + ("00" if rng.random() < .01 else "")})
    json.dump(log, open(folder + "/mlperf_log_accuracy.json", "w"))
    Manifest.texts = texts
    arguments = ["--log_dir", folder, "--dataset_dir", folder, "--manifest", "m", "--output_dtype", kind]
    return dict({"texts": texts, "log": log, "dtype": kind}, **run(script, arguments, os.path.dirname(script)))


def translation(folder):
    pieces = "the@@ m a@@ b c d d e @@ é ß 北 . , &apos; x@@".split(" ")
    sentence = lambda: rng.choice(["", "", " ", "\t"]) + " ".join(rng.choice(pieces) for _ in range(rng.randrange(0, 12))) + rng.choice(["", "", " ", "  "])
    references = [sentence() for _ in range(rng.randrange(1, 6))]
    log = []
    for n, i in enumerate(order_of(len(references))):
        words = (references[i] if i < len(references) else "").strip().replace("@@ ", "").split(" ")
        words = [w for w in words for _ in range(rng.choices([0, 1, 2], [1, 9, 1])[0])] + rng.choice([[], [], ["x"], [""]])
        data = " ".join(words).encode() + (b"\xff" if rng.random() < .02 else b"")
        log.append({"seq_id": n, "qsl_idx": i, "data": data.hex().upper()})
    open(folder + "/reference", "w").write("".join(r + "\n" for r in references))
    open(folder + "/log", "w").write("[\n" + ",\n".join(map(json.dumps, log)) + "\n]\n")
    script = RETIRED + "translation/gnmt/tensorflow/process_accuracy.py"
    return dict({"texts": references, "log": log}, **run(script, ["--reference", folder + "/reference", "--accuracy_log", folder + "/log"], os.path.dirname(script)))


module("whisper", __path__=[whisper + "/whisper"])  # without what it imports
module("manifest", Manifest=Manifest)
module("parts")
module("parts.manifest", Manifest=Manifest)
module("torch", Tensor=object)
module("tensorflow", gfile=types.SimpleNamespace(GFile=open))
module("nmt.scripts.rouge")
with tempfile.TemporaryDirectory() as folder:
    cases = {
        "rnnt": [speech(RETIRED + "speech_recognition/rnnt/accuracy_eval.py", RNNT, folder) for _ in range(count)],
        "whisper": [speech(inference + "/speech2text/accuracy_eval.py", WHISPER, folder) for _ in range(count)],
        "gnmt": [translation(folder) for _ in range(count)],
    }
with open(out, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
    z.write(json.dumps(cases, separators=(",", ":")).encode())
