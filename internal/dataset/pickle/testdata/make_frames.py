#!/usr/bin/env python3
"""Writes frame_protocol*.pkl: a table as the reference publishes prompts (pandas 1.5.3 of
Debian's python3-pandas), and frames.json with what is in it."""
import json
import numpy as np, pandas as pd

df = pd.DataFrame({
    "id": ["a", "b", "c"], "input": ["x é", "", "z\n"], "tok_input": [[1, 29871], [3], np.array([4, 5, 6], dtype=np.int32)],
    "n": [2, 1, 3], "f": [1.5, 2.5, -3.5], "origin": ["cot", None, "t0"], "ok": [True, False, True],
})
df["m"] = df["n"] * 10
part = df[df["n"] > 1]  # its rows are no range
for protocol in (2, 4, 5):
    df.to_pickle("frame_protocol%d.pkl" % protocol, protocol=protocol)
part.to_pickle("frame_part.pkl")
pd.DataFrame({"when": pd.to_datetime(["2024-01-01"])}).to_pickle("frame_dates.pkl")
