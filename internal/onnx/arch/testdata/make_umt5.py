"""Golden data for the text encoder of Wan 2.2 at a tiny size: UMT5EncoderModel of transformers 4.40.2 in float32 (torch 1.12.1), with the weights
that make_wan.py states. 512 tokens, of which the first 300 are a prompt: the buckets of distances reach the farthest.
Usage: python make_umt5.py"""
import json, math, os
import numpy as np, torch
from transformers import UMT5Config, UMT5EncoderModel

net = UMT5EncoderModel(UMT5Config(vocab_size=32, d_model=8, d_kv=4, d_ff=20, num_layers=2, num_heads=2, feed_forward_proj="gated-gelu", dropout_rate=0)).eval()
for k, (name, p) in enumerate(net.named_parameters()):
    v = 0.4 / math.sqrt(p.numel() // p.shape[0]) * np.sin(0.37 * np.arange(p.numel()) + 1.3 * k + 0.5)
    if "norm" in name:
        v = 1 + 0.1 * v
    p.data = torch.tensor(v.astype(np.float32).reshape(tuple(p.shape)))
prompt = 300
ids, mask = torch.arange(512)[None] * 7 % 32, (torch.arange(512)[None] < prompt).long()
with torch.no_grad():
    states = net(input_ids=ids, attention_mask=mask).last_hidden_state[0, :prompt].double()
out = {
    "parameters": [[n, list(p.shape)] for n, p in net.named_parameters()],
    "rows": {str(r): [round(float(v), 7) for v in states[r]] for r in (0, 1, 8, 127, 128, 299)},
    "sums": [float(v) for v in states.sum(0)],
}
json.dump(out, open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "umt5.json"), "w"), indent=1)
