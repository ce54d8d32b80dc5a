#!/usr/bin/env python3
"""Computes the results in beam_search.json and length_penalty.json anew with TensorFlow's beam search.

    make_beam_search.py            # says what differs
    make_beam_search.py --write    # and writes it

The reference uses contrib/seq2seq of TensorFlow 1; this is the same code in TensorFlow Addons (0.23.0, on TensorFlow 2.15.1). Logits
of the next token are A[last] + B[last but one] + C[step mod 4] of each case. Scores and log-probabilities hold to 1e-5.
"""
import json, os, pathlib, sys

os.environ["TF_ADDONS_PY_OPS"] = "1"  # its compiled operators want CUDA
import numpy as np
import tensorflow as tf
from tensorflow_addons.seq2seq import BeamSearchDecoder, gather_tree
from tensorflow_addons.seq2seq.beam_search_decoder import _length_penalty

HERE = pathlib.Path(__file__).parent
RESULTS = "steps step_ids parent_ids sequences scores log_probs lengths finished answer".split()


class Cell(tf.keras.layers.Layer):
    """The state of a beam is its last token but one and the number of its step."""

    def __init__(self, case):
        super().__init__()
        self.a, self.b, self.c = (tf.constant(case[k], tf.float32) for k in "ABC")

    output_size = property(lambda self: self.a.shape[0])
    state_size = (1, 1)

    def get_initial_state(self, *_):
        raise NotImplementedError  # the decoder asks only whether it is there

    def call(self, last, state):
        token, before, step = (tf.cast(x[:, 0], tf.int32) for x in (last, *state))
        return tf.gather(self.a, token) + tf.gather(self.b, before) + tf.gather(self.c, step % 4), (last, state[1] + 1)


def search(case):
    width = case["beam_width"]
    decoder = BeamSearchDecoder(Cell(case), width, embedding_fn=lambda ids: tf.cast(ids, tf.float32)[..., None], length_penalty_weight=case["length_penalty_weight"], output_all_scores=False)
    start = tf.fill([width, 1], float(case["start_id"])), tf.zeros([width, 1])  # TensorFlow wants floats
    _, inputs, state = decoder.initialize(None, start_tokens=tf.constant([case["start_id"]]), end_token=case["end_id"], initial_state=start)
    ids, parents, step = [], [], 0
    while step < case["max_steps"] and not (step and tf.reduce_all(state.finished)):
        output, state, inputs, _ = decoder.step(step, inputs, state)
        ids.append(output.predicted_ids[0].numpy())
        parents.append(output.parent_ids[0].numpy())
        step += 1
    tree = gather_tree(np.array(ids)[:, None], np.array(parents)[:, None], [int(tf.reduce_max(state.lengths))], case["end_id"]).numpy()[:, 0].T.tolist()
    best = tree[0]
    return {
        "steps": step, "step_ids": [i.tolist() for i in ids], "parent_ids": [p.tolist() for p in parents], "sequences": tree,
        "scores": output.scores[0].numpy().tolist(), "log_probs": state.log_probs[0].numpy().tolist(), "lengths": state.lengths[0].numpy().tolist(),
        "finished": state.finished[0].numpy().tolist(), "answer": best[: best.index(case["end_id"])] if case["end_id"] in best else best,
    }


def near(a, b):
    if isinstance(a, float) or isinstance(b, float):
        return abs(a - b) <= 1e-5 * max(1, abs(a))
    return len(a) == len(b) and all(map(near, a, b)) if isinstance(a, list) else a == b


def main():
    cases = json.loads((HERE / "beam_search.json").read_text())
    for i, case in enumerate(cases):
        for key, value in search(case).items():
            if not near(case[key], value):
                print(f"search {i}: {key} is {value}, {case[key]} before")
                case[key] = value
    penalties = json.loads((HERE / "length_penalty.json").read_text())
    for p in penalties:
        value = float(_length_penalty(tf.constant(p["length"]), p["weight"]))
        if not near(p["penalty"], value):
            print(f"penalty of {p} is {value}")
            p["penalty"] = value
    if "--write" in sys.argv:
        (HERE / "beam_search.json").write_text(json.dumps(cases))
        (HERE / "length_penalty.json").write_text(json.dumps(penalties))


main()
