#!/usr/bin/env python3
"""Computes features.json.gz and the results in post.json.gz anew and says what differs; --write writes them.

    make_squad.py INFERENCE DLE TRANSFORMERS [--write]

Python 3.11 with NumPy; the arguments are those of internal/tokenizer/testdata/reference.py. create_squad_data.py and
accuracy-squad.py run unmodified; the list of the best answers, which the latter keeps to itself, is read where it computes their
probabilities (nine digits are kept).
"""
import contextlib, gzip, hashlib, importlib.util, io, json, os, sys, tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE + "/../../../../tokenizer/testdata")
from reference import load

inference, dle, transformers = [os.path.abspath(path) for path in sys.argv[1:4]]
BertTokenizer, _ = load(inference, dle, transformers)
tokenizer = BertTokenizer(HERE + "/vocab.txt")
import create_squad_data

spec = importlib.util.spec_from_file_location("squad", inference + "/language/bert/accuracy-squad.py")
squad = importlib.util.module_from_spec(spec)
spec.loader.exec_module(squad)
LENGTHS = "max_seq_length", "doc_stride", "max_query_length"


def windows(examples, settings):
    found = []
    create_squad_data.convert_examples_to_features(examples, tokenizer, *[settings[key] for key in LENGTHS], False, found.append)
    return found


def feature(f):
    positions = list(f.token_to_orig_map)
    assert positions == list(range(positions[0], positions[0] + len(positions)))
    arrays = np.array([f.input_ids, f.input_mask, f.segment_ids], "<i8")
    return {
        "unique_id": f.unique_id,
        "example_index": f.example_index,
        "doc_span_index": f.doc_span_index,
        "length": sum(f.input_mask),
        "input_ids": f.input_ids[: sum(f.input_mask)],
        "first_doc_token": positions[0],
        "token_to_word": list(f.token_to_orig_map.values()),
        "max_context": "".join("01"[f.token_is_max_context[i]] for i in positions),
        "sha256_ids_mask_segments": hashlib.sha256(arrays.tobytes()).hexdigest(),
    }


def setting(golden):
    examples = create_squad_data.read_squad_examples(HERE + "/squad.json", False)
    new = {key: golden[key] for key in LENGTHS}
    new["examples"] = [{"id": e.qas_id, "words": len(e.doc_tokens)} for e in examples]
    new["features"] = [feature(f) for f in windows(examples, golden)]
    if "doc_words" in golden:
        new["doc_words"] = [e.doc_tokens for e in examples]
    return new


def answers(golden, log, dtype, transposed):
    settings, best, softmax = golden["settings"], {}, squad._compute_softmax

    def look(scores):
        probabilities, caller = softmax(scores), sys._getframe(1).f_locals
        best[caller["example"].qas_id] = [dict(e._asdict(), probability=float("%.9g" % p)) for e, p in zip(caller["nbest"][:5], probabilities)]
        return probabilities

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        with open(folder + "/log", "w") as f:
            json.dump(golden[log], f)
        examples = create_squad_data.read_squad_examples(HERE + "/post_squad.json", False)
        features = windows(examples, settings)
        results = squad.load_loadgen_log(folder + "/log", features, dtype, transposed)
        squad._compute_softmax = look
        squad.write_predictions(
            examples, features, results, settings["n_best"], settings["max_answer_length"], settings["do_lower_case"], folder + "/predictions"
        )
        squad._compute_softmax = softmax
        with open(folder + "/predictions") as f:
            return json.load(f), best


def read(name):
    with gzip.open(f"{HERE}/{name}", "rt") as f:
        return json.load(f)


golden = {name: read(name) for name in ("features.json.gz", "post.json.gz")}
post = golden["post.json.gz"]
predictions, best = answers(post, "log", np.float32, False)
results = {
    "features.json.gz": [setting(s) for s in golden["features.json.gz"]],
    "post.json.gz": dict(
        post,
        predictions=predictions,
        nbest_first_five=best,
        predictions_float16_transposed=answers(post, "log_float16_transposed", np.float16, True)[0],
    ),
}
for name in golden:
    if golden[name] != results[name]:
        print(name, "differs")
    if "--write" in sys.argv:
        with open(f"{HERE}/{name}", "wb") as f:
            f.write(gzip.compress(json.dumps(results[name], separators=(",", ":")).encode(), 9, mtime=0))
