# Vectors and scores of the built-in encoder and reranker for a few texts, by Python: tokenizers' BertWordPieceTokenizer, ONNX Runtime 1.24.3, and NumPy
# for what sentence-transformers (mean pooling, normalisation) and e2e-rag/reranker_worker.py (_do_rerank) do with the states.
# make_vectors.py FOLDER_OF_NETWORKS VOCABULARY
import sys, json, numpy as np, onnxruntime as ort
from tokenizers import BertWordPieceTokenizer
folder, vocab = sys.argv[1:]
tok = BertWordPieceTokenizer(vocab, lowercase=True)
words = [l.strip() for l in open(vocab)][2200:2260]
texts = ["The river of %s is %s." % (words[0], words[1]), " ".join(words[2:30]) + ", naïve 1904?", "of the", " ".join(words) * 12]
question = texts[0] + " " + " ".join(words)
def run(s, batch, most):
    tok.enable_truncation(most); tok.enable_padding()
    e = tok.encode_batch(batch)
    a = lambda k: np.array([getattr(x, k) for x in e], dtype=np.int64)
    ids, mask = a("ids"), a("attention_mask")
    return s.run(["last_hidden_state"], {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)})[0], mask
enc = ort.InferenceSession(folder + "/encoder.onnx"); rer = ort.InferenceSession(folder + "/reranker.onnx")
st, m = run(enc, texts, 512)
v = (st * m[..., None]).sum(1) / np.maximum(m.sum(1, keepdims=True), 1e-9)
v = v / np.linalg.norm(v, axis=1, keepdims=True)
q, _ = run(rer, [question], 32); q = q[0]
d, dm = run(rer, texts, 512)
sim = np.einsum("qd,bld->bql", q, d); sim = np.where(dm[:, None].astype(bool), sim, -np.inf)
json.dump({"texts": texts, "pieces": m.sum(1).tolist(), "vectors": [[round(float(x), 7) for x in r[:12]] for r in v], "question": question,
  "scores": [round(float(x), 3) for x in sim.max(-1).sum(-1)]}, open("vectors.json", "w"), indent=1, ensure_ascii=False)
