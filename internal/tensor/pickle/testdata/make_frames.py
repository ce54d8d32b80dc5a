#!/usr/bin/env python3
"""Writes frame_protocol4.pkl, a table as the reference publishes prompts, and frame_dates.pkl (pandas 1.5.3)."""
import numpy as np, pandas as pd

df = pd.DataFrame({
    "id": ["a", "b", "c"], "input": ["x é", "", "z\n"], "tok_input": [[1, 29871], [3], np.array([4, 5, 6], dtype=np.int32)],
    "n": [2, 1, 3], "f": [1.5, 2.5, -3.5], "origin": ["cot", None, "t0"], "ok": [True, False, True],
})
df["m"] = df["n"] * 10
df.to_pickle("frame_protocol4.pkl", protocol=4)
pd.DataFrame({"when": pd.to_datetime(["2024-01-01"])}).to_pickle("frame_dates.pkl")
