#!/usr/bin/env python3
"""Writes logs/texts: a data set of texts, logs of tokens, and what the official scripts print
of them. The scripts run unmodified (evaluation.py of gpt-j and llama3.1-8b,
evaluate-accuracy.py of llama2-70b, llama3.1-405b and mixtral-8x7b); stood in for are the
tokenizer (number i is word i of vocabulary.json, with a blank before; the last two numbers are
special), NLTK's Punkt (with internal/accuracy/sentences/english.txt.gz), evaluate.load (rouge_score
itself), pandas.read_pickle, and the running of code (a solution passes if the word "right" is in its block of code).

    make_texts.py MLCOMMONS_INFERENCE DIRECTORY_OF_ROUGE_SCORE

Needs Debian's python3-nltk, python3-numpy and python3-pandas.
"""
import contextlib, gzip, io, json, multiprocessing, os, random, runpy, struct, sys, types

inference, rouge = sys.argv[1:3]
sys.path.insert(0, rouge)
here = os.path.dirname(os.path.abspath(__file__))
from rouge_score import rouge_scorer
import nltk, numpy as np, pandas as pd
from nltk.tokenize.punkt import PunktSentenceTokenizer, PunktParameters

rng = random.Random(11)
params = PunktParameters()
for line in gzip.open(here + "/../sentences/english.txt.gz", "rt"):
    kind, *f = line.rstrip("\n").split("\t")
    if kind == "a": params.abbrev_types.add(f[0])
    if kind == "s": params.sent_starters.add(f[0])
    if kind == "c": params.collocations.add(tuple(f))
    if kind == "o": params.ortho_context[f[0]] = int(f[1])
nltk.sent_tokenize = PunktSentenceTokenizer(params).tokenize
nltk.download = lambda *_: None

words = ("the a quick brown fox jumps over lazy dogs. Running runners ran quickly! Mr. Smith's U.S. company Inc. reported $1,000.5 "
         "earnings; however, \"nobody\" believed it. He said: 'Yes.' She denied… naïve café Zürich 北京。 \n The answer is 42 -7 3.50 "
         "1,234 .5 12. \nQ: next ``` right wrong def f(): return \\_ x Answer: blue 0a1b2c3d-0000-1111-2222-aabbccddeeff "
         "ffffffff-0000-1111-2222-aabbccddeeff").split(" ")
special = ["<s>", "</s>"]
vocabulary = words + special

class Tokenizer:
    @classmethod
    def from_pretrained(cls, *_, **__): return cls()
    eos_token = "</s>"
    def decode(self, ids, skip_special_tokens=False):
        return "".join(" " + vocabulary[int(i)] for i in ids if int(i) < len(words))
    def batch_decode(self, rows, skip_special_tokens=False): return [self.decode(r) for r in rows]

class Metric:
    def compute(self, predictions, references, use_stemmer, use_aggregator):
        names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
        s = rouge_scorer.RougeScorer(names, use_stemmer=use_stemmer)
        scores = [s.score(r, p) for r, p in zip(references, predictions)]
        return {n: [x[n].fmeasure for x in scores] for n in names}

def module(name, **attributes):
    m = types.ModuleType(name)
    m.__dict__.update(attributes)
    sys.modules[name] = m

any_class = type("Any", (), {"__init__": lambda self, *a, **k: None})
module("transformers", AutoTokenizer=Tokenizer, AutoModelForCausalLM=any_class)
module("evaluate", load=lambda *_: Metric())
module("torch"); module("torch.nn"); module("torch.nn.functional", pad=None); module("torch.utils"); module("torch.utils.data", DataLoader=None)
module("tqdm", tqdm=lambda x, **_: x)
module("evaluate_mbxp", evaluate_mbxp=lambda rows, workers: 100 * sum("right" in r["response"].split("```")[0] for r in rows) / len(rows))

def text(n, start=""): return start + " ".join(rng.choice(words) for _ in range(n))
rows = []
for i in range(24):
    kind = ["OpenOrca", "GSM8K", "MBXP"][i % 3]
    rows.append(dict(output=text(rng.randrange(1, 60)), dataset=kind, id="python_%d" % i, input="in %d" % i,
                     gt_output={"OpenOrca": text(rng.randrange(1, 60)), "GSM8K": rng.choice(["42", "-7.0", "3.5", "1234", "x"]), "MBXP": "assert f()"}[kind],
                     metric=["rouge", "niah_em", "qa_em"][i % 3],
                     long_output=[text(40), text(12) + " 0a1b2c3d-0000-1111-2222-aabbccddeeff", rng.choice(["blue", "red|blue x", "Answer: blue", "right"])][i % 3]))
rows[3]["output"] = ""
module("dataset", Dataset=lambda *a, **k: types.SimpleNamespace(targets=[r["output"] for r in rows]))
pd.read_pickle = lambda path: pd.DataFrame(dict({k: [r[k] for r in rows] for k in rows[0]}, gt_output=[r["long_output" if "405" in path else "gt_output"] for r in rows]))
np.set_printoptions(legacy=False)

def records(indices, dtype, empty=()):
    out = []
    for seq, i in enumerate(indices):
        ids = [rng.randrange(len(words)) for _ in range(rng.randrange(1, 70))] + [len(words) + 1] * rng.randrange(3)
        if rows[i]["dataset"] == "GSM8K" and rng.random() < .7: # "The answer is" and a number that may be right
            ids += [words.index(w) for w in ("The", "answer", "is", rng.choice(["42", "-7", "3.50", "1,234", ".5"]), "next")]
        if i in empty: ids = []
        out.append({"seq_id": seq, "qsl_idx": i, "data": np.array(ids, dtype).tobytes().hex().upper(), "token_count": len(ids)})
    return out

order = list(range(24)); rng.shuffle(order)
logs = {"offline_int64": (records(order, np.int64), []), "server_int32": (records(order, np.int32, [5, 9]), ["--dtype", "int32"]),
        "duplicates": (records(order + order[:7], np.int32), ["--dtype", "int32"]), "subset": (records(order[:10], np.int64), []),
        "summary_first": (records([6] + [i for i in order if i != 6], np.int64), [])}
scripts = {"gpt-j": "language/gpt-j/evaluation.py", "llama3.1-8b": "language/llama3.1-8b/evaluation.py", "llama2-70b": "language/llama2-70b/evaluate-accuracy.py",
           "mixtral-8x7b": "language/mixtral-8x7b/evaluate-accuracy.py", "llama3.1-405b": "language/llama3.1-405b/evaluate-accuracy.py"}

os.makedirs(here + "/logs/texts", exist_ok=True)
def write(name, value):
    with open("%s/logs/texts/%s.json.gz" % (here, name), "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(json.dumps(value, ensure_ascii=False).encode())
write("vocabulary", {"words": words, "special": len(special)})
write("dataset", rows)
runs = []
for variant, (log, arguments) in logs.items():
    os.makedirs(here + "/logs/texts/" + variant, exist_ok=True)
    write(variant + "/mlperf_log_accuracy", log)
    path = "/tmp/mlperf_log_accuracy.json"
    json.dump(log, open(path, "w"))
    for model, script in scripts.items():
        sys.argv = [script, "--mlperf-accuracy-file", path, "--dataset-file", model] + arguments
        if "llama2" in model or "405" in model or "mixtral" in model: sys.argv += ["--checkpoint-path", "x"]
        with contextlib.redirect_stdout(io.StringIO()) as said:
            runs.append({"variant": variant, "log": variant + "/mlperf_log_accuracy.json", "model": model, "arguments": arguments})
            try: runpy.run_path(os.path.join(inference, script), run_name="__main__")
            except Exception as e: runs[-1]["error"] = type(e).__name__ + ": " + str(e)
        runs[-1]["printed"] = said.getvalue()
write("expected", {"runs": runs})
