#!/usr/bin/env python3
"""Computes the results in tokenize.json and detokenise.json anew and says what differs; --write writes them.

    make_tokens.py INFERENCE DLE TRANSFORMERS [--write]     # Python 3.11 with NumPy; the arguments are those of reference.py

The GNMT reference (retired_benchmarks/translation/gnmt/tensorflow) runs unmodified; of TensorFlow it needs only the way to open files.
"""
import json, os, sys, tempfile, types

HERE = os.path.dirname(os.path.abspath(__file__))
from reference import load

write = "--write" in sys.argv
inference, dle, transformers = [os.path.abspath(path) for path in sys.argv[1:4]]
BertTokenizer, BasicTokenizer = load(inference, dle, transformers)
bert, basic = BertTokenizer(HERE + "/vocab.txt"), BasicTokenizer(do_lower_case=True)


def tokens(case):
    pieces = bert.tokenize(case["text"])
    return dict(case, tokens=pieces, ids=bert.convert_tokens_to_ids(pieces), basic=basic.tokenize(case["text"]))


tensorflow = sys.modules["tensorflow"] = types.ModuleType("tensorflow")
tensorflow.gfile = types.SimpleNamespace(GFile=open)
for name in "tensorflow.python", "tensorflow.python.ops":
    sys.modules[name] = types.ModuleType(name)
sys.modules["tensorflow.python.ops"].lookup_ops = None
sys.path.insert(0, inference + "/retired_benchmarks/translation/gnmt/tensorflow")
from nmt.utils import evaluation_utils, nmt_utils
import numpy as np


def translation(case):
    words = np.array([[word.encode() for word in case["tokens"]]], dtype=object)
    text = nmt_utils.get_translation(words, 0, tgt_eos="</s>", subword_option="bpe")
    return dict(case, text=text.decode(), response_hex=text.hex().upper())


def reference(case):
    return dict(case, words=evaluation_utils._clean(case["line"], "bpe").split(" "))


def check(name, golden, make):
    results = {kind: [function(case) for case in golden[kind]] for kind, function in make.items()}
    for kind in make:
        for old, new in zip(golden[kind], results[kind]):
            if old != new:
                print(name, "differs:", new, "instead of", old)
    return results


for name, make in {"tokenize.json": {"": tokens}, "detokenise.json": {"get_translation": translation, "clean_reference": reference}}.items():
    with open(f"{HERE}/{name}") as f:
        golden = json.load(f)
    results = check(name, {"": golden} if "" in make else golden, make)
    if write:
        with open(f"{HERE}/{name}", "w") as f:
            json.dump(results.get("", results), f, indent=0)
            f.write("\n")
