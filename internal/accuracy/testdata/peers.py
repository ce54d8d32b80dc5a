"""Scores texts with the programs that others use, and prints how many seconds the scoring took.

    python3 peers.py METRIC INPUT.json

METRIC is sacrebleu or rouge (the packages sacrebleu and rouge_score), auc (scikit-learn), or bleu, squad, wer or numbers:
those of the reference, whose checkout MLPERF_REFERENCE names. Exit status 3: the peer is not here.
"""
import ast
import glob
import importlib.util
import json
import os
import re
import sys
import time


def find(name):
    folder = os.environ.get("MLPERF_REFERENCE", "")
    found = glob.glob(os.path.join(folder, "**", name), recursive=True) if folder else []
    if not found:
        print(f"no {name} below MLPERF_REFERENCE", file=sys.stderr)
        sys.exit(3)
    return found


def functions(name, *wanted):
    """Functions of a script whose other imports are not here."""
    tree = ast.parse(open(find(name)[0]).read())
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in wanted]
    known = {"re": re}
    exec(compile(tree, name, "exec"), known)
    return [known[w] for w in wanted]


def reference(name):
    found = find(name)
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
        elif metric == "rouge":
            from rouge_score import rouge_scorer
            peer = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"], use_stemmer=True)
            score = lambda: [peer.score(w, s) for s, w in zip(given["said"], given["wanted"])]
        elif metric == "numbers":
            _, find_number, plain, number = functions("mixtral-8x7b/evaluate-accuracy.py", "find_numbers", "find_number", "maybe_remove_comma", "try_float")
            score = lambda: sum(number(plain(find_number(s))) == number(w) for s, w in zip(given["said"], given["wanted"]))
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
