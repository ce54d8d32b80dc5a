#!/usr/bin/env python3
"""Computes the scores in rouge/, bleu/, squad/, roc_auc.json.gz and wer.json.gz anew from the texts and numbers in them.

    make_scores.py INFERENCE WHISPER            # print what differs
    make_scores.py INFERENCE WHISPER --write    # and write it

INFERENCE is a checkout of mlcommons/inference (b66003e): bleu.py of GNMT, metrics.py of RNN-T, helpers.py of speech2text and
evaluate_v1.1.py of BERT run unmodified. WHISPER is one of openai/whisper (v20250625). Needs rouge_score 0.1.2, nltk 3.8,
sacrebleu 2.6.0, jiwer 4.0.0, scikit-learn 1.2.1 and NumPy 1.24.2; and regex and more-itertools for Whisper. A new case is an entry
without its scores; --write completes it. Values of sacreBLEU 1.2.10, which no test reads, stay as they are.
"""
import contextlib, gzip, io, json, os, sys, types

import jiwer, numpy, sacrebleu, sklearn.metrics
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer, tokenize

HERE = os.path.dirname(os.path.abspath(__file__))
arguments = [a for a in sys.argv[1:] if a != "--write"]
if len(arguments) != 2:
    sys.exit(__doc__)
inference, whisper = arguments
for name in ("whisper", "whisper.normalizers"):  # whose __init__ need PyTorch
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [os.path.join(whisper, *name.split("."))]
from whisper.normalizers.english import EnglishTextNormalizer


def script(path):
    """Returns the functions of a script of the checkout."""
    folder = os.path.join(inference, os.path.dirname(path))
    sys.path.insert(0, folder)
    module = {"__name__": "script"}
    with open(os.path.join(inference, path)) as f:
        exec(compile(f.read(), path, "exec"), module)
    sys.path.remove(folder)
    return types.SimpleNamespace(**module)


gnmt = script("retired_benchmarks/translation/gnmt/tensorflow/nmt/scripts/bleu.py")
rnnt = script("retired_benchmarks/speech_recognition/rnnt/pytorch/metrics.py")
joined = script("speech2text/helpers.py").compute_wer_with_concatenation
squad = script("language/bert/evaluate_v1.1.py")
normalize = EnglishTextNormalizer()
differ = 0


def golden(name, change):
    """Applies a change to a file and reports whether it differs then."""
    global differ
    path = os.path.join(HERE, name)
    with (gzip.open if name.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        before = json.load(f)
    after = json.loads(json.dumps(before))
    change(after)
    after = json.loads(json.dumps(after))
    if after == before:
        return
    differ += 1
    print(name, "differs")
    for old, new in zip(before.get("cases", []), after.get("cases", [])):
        if old != new:
            print("   ", json.dumps({key: [old.get(key), new[key]] for key in new if old.get(key) != new[key]})[:400])
    if "--write" in sys.argv:
        text = json.dumps(after, ensure_ascii=False, separators=(",", ":")).encode()
        with open(path, "wb") as f:
            f.write(gzip.compress(text, 9, mtime=0) if name.endswith(".gz") else text)


def rouge_cases(g):
    names = ["rouge1", "rouge2", "rouge3", "rougeL", "rougeLsum"]
    for stem, key in ((False, "no_stemmer"), (True, "stemmer")):
        scorer = rouge_scorer.RougeScorer(names, use_stemmer=stem)
        for c in g["cases"]:
            c.setdefault("expected", {})[key] = {n: list(s) for n, s in scorer.score(c["target"], c["prediction"]).items()}
    means.update({n: float(numpy.mean([c["expected"]["stemmer"][n][2] for c in g["cases"] if c["name"].startswith("random_")])) for n in names})


def rouge_corpus(g):
    for name, e in g["expected"].items():
        e["mean_fmeasure"] = means[name]


def stems(g):
    stemmer = PorterStemmer()
    g["stems"] = {word: stemmer.stem(word) for word in g["stems"]}


def rouge_words(g):
    for c in g["cases"]:
        c["tokens"], c["tokens_stemmed"] = tokenize.tokenize(c["text"], None), tokenize.tokenize(c["text"], PorterStemmer())


def nmt(g):
    for c in g["cases"]:
        try:
            names = ["bleu", "precisions", "bp", "ratio", "translation_length", "reference_length"]
            c["expected"] = dict(zip(names, gnmt.compute_bleu(c["references"], c["hypotheses"], c["max_order"], c["smooth"])))
        except ZeroDivisionError as e:
            c["expected"] = {"error": type(e).__name__}


def sacre(g):
    for c in g["cases"]:
        if c["expected"].get("2.6.0", 0) is None:
            continue
        o = c["options"]
        bleu = sacrebleu.BLEU(lowercase=o["lowercase"], tokenize=o["tokenize"], smooth_method=o["smooth_method"], smooth_value=o["smooth_value"],
                              max_ngram_order=o["max_ngram_order"], effective_order=o["effective_order"])
        s = bleu.corpus_score(c["hypotheses"], c["reference_streams"])
        c["expected"].setdefault("2.6.0", {}).update({"score": s.score, "counts": s.counts, "totals": s.totals, "precisions": s.precisions, "bp": s.bp, "sys_len": s.sys_len,
                                                      "ref_len": s.ref_len, "signature": str(bleu.get_signature()), "format": s.format()})


def tokenizers(g):
    for c in g["cases"]:
        for name in c["tokens"]:
            if not name.endswith("@1.2.10"):
                tokenizer = sacrebleu.metrics.bleu._get_tokenizer(name.split("@")[0])()
                c["tokens"][name] = " ".join(tokenizer(c["line"].rstrip()).split())


def answers(g):
    for c in g["cases"]:
        best = lambda score: squad.metric_max_over_ground_truths(score, c["prediction"], c["answers"])
        c["normalized_prediction"] = squad.normalize_answer(c["prediction"])
        c["normalized_answers"] = [squad.normalize_answer(a) for a in c["answers"]]
        c["exact_match"], c["f1"] = best(squad.exact_match_score), best(squad.f1_score)


def evaluations(g):
    with open(os.path.join(HERE, "squad/dataset.json")) as f, open(os.path.join(HERE, "squad/predictions.json")) as p:
        dataset, predictions = json.load(f)["data"], json.load(p)
    for e in g["evaluations"]:
        with contextlib.redirect_stderr(io.StringIO()):
            e["expected"] = squad.evaluate(dataset, {k: v for k, v in predictions.items() if k not in e["removed_prediction_ids"]}, e["max_examples"])


def auc(g):
    def area(scores):
        try:
            return {"roc_auc": float(sklearn.metrics.roc_auc_score(c["labels"], scores, sample_weight=c.get("weights")))}
        except ValueError as e:
            return {"error": "ValueError: " + str(e)}
    for c in g["cases"]:
        c["expected"] = area(c["scores"])
        if "expected_from_float32_scores" in c:
            c["expected_from_float32_scores"] = area(numpy.array(c["scores"], numpy.float32))


def word_errors(g):
    for c in g["cases"]:
        e = c.setdefault("expected", {})
        if len(c["references"]) != len(c["hypotheses"]):
            continue
        try:
            rate, errors, words = rnnt.word_error_rate(c["hypotheses"], c["references"])
            e["rnnt"] = {"wer": "inf" if words == 0 else rate, "errors": errors, "reference_words": words}
        except ValueError as error:
            e["rnnt"] = {"error": type(error).__name__}
        words = jiwer.process_words(*([" ".join(t.split()) for t in c[side]] for side in ("references", "hypotheses")))  # jiwer splits at blanks alone
        e["jiwer"] = {"errors": words.substitutions + words.deletions + words.insertions, "reference_words": words.hits + words.substitutions + words.deletions}
        for key, clean in (("whisper_concat", str), ("whisper_normalized", normalize)):
            counts = [joined(clean(h).split(), clean(r).split()) for h, r in zip(c["hypotheses"], c["references"])]
            errors, words = sum(n for n, _ in counts), sum(n for _, n in counts)
            e[key] = {"errors": errors, "reference_words": words, "wer": errors / words if words else None}
            if words == 0:
                e[key]["error"] = "ZeroDivisionError"
        e["normalized_references"] = [normalize(r) for r in c["references"]]
        e["normalized_hypotheses"] = [normalize(h) for h in c["hypotheses"]]


means = {}
for name, change in (
    ("rouge/cases.json.gz", rouge_cases), ("rouge/corpus.json.gz", rouge_corpus), ("rouge/porter_stems.json.gz", stems), ("rouge/tokenize.json.gz", rouge_words),
    ("bleu/nmt.json", nmt), ("bleu/sacrebleu.json.gz", sacre), ("bleu/tokenizers.json.gz", tokenizers),
    ("squad/per_question.json", answers), ("squad/expected.json", evaluations), ("roc_auc.json.gz", auc), ("wer.json.gz", word_errors),
):
    golden(name, change)
print(differ, "files differ")
sys.exit(differ > 0)
