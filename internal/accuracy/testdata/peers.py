"""Scores texts with the programs that others use, and prints how many seconds the scoring took.

    python3 peers.py METRIC INPUT.json

METRIC is sacrebleu (the package of that name), auc (scikit-learn), or bleu, squad or wer: those of the
reference, whose checkout MLPERF_REFERENCE names. Exit status 3: the peer is not here.
"""
import glob
import importlib.util
import json
import os
import sys
import time


def reference(name):
    folder = os.environ.get("MLPERF_REFERENCE", "")
    found = glob.glob(os.path.join(folder, "**", name), recursive=True) if folder else []
    if not found:
        print(f"no {name} below MLPERF_REFERENCE", file=sys.stderr)
        sys.exit(3)
    sys.path.insert(0, os.path.dirname(found[0]))
    spec = importlib.util.spec_from_file_location("peer", found[0])
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    metric, given = sys.argv[1], json.load(open(sys.argv[2]))
    try:
        if metric == "sacrebleu":
            import sacrebleu
            score = lambda: sacrebleu.corpus_bleu(given["said"], [given["wanted"]])
        elif metric == "auc":
            import sklearn.metrics
            score = lambda: sklearn.metrics.roc_auc_score(given["labels"], given["predictions"])
        elif metric == "bleu":
            peer = reference("bleu.py")
            said = [s.split(" ") for s in given["said"]]
            wanted = [[s.split(" ")] for s in given["wanted"]]
            score = lambda: peer.compute_bleu(wanted, said, 4, False)
        elif metric == "squad":
            peer = reference("evaluate_v1.1.py")
            score = lambda: peer.evaluate(given["dataset"], given["predictions"], None)
        else:
            peer = reference("metrics.py")
            score = lambda: peer.word_error_rate(given["said"], given["wanted"])
    except ImportError as e:
        print(e, file=sys.stderr)
        sys.exit(3)
    began = time.perf_counter()
    score()
    print(time.perf_counter() - began)


main()
