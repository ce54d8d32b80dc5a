#!/usr/bin/env python3
"""Writes big_endian.json.gz: pickles of all protocols, in hexadecimal digits, of arrays whose numbers have their highest byte
first, as NumPy 1.24.2 writes them, and of a table of them (pandas 1.5.3); with what is in them."""
import gzip, json, pickle
import numpy as np
import pandas as pd

rows = []
for code in ("i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
    numbers = [1.5, -2.0**40] if code[0] == "f" else [1, 2**14 + 3] if code[0] == "u" else [-2, 2**14 + 3]
    for name, v in (
        ("C", np.array([numbers, numbers[::-1], [0, 7]], dtype=">" + code)),
        ("F", np.asfortranarray(np.array([numbers, numbers[::-1], [0, 7]], dtype=">" + code))),
        ("empty", np.zeros((0, 2), dtype=">" + code)),
    ):
        rows.append({"name": code + " " + name, "type": code, "shape": v.shape, "values": v.ravel().tolist(),
                     "pickles": [pickle.dumps(v, p).hex() for p in range(1, 6)]})
table = pd.DataFrame({"a": np.array([1, -300], dtype=">i4"), "b": np.array([0.5, 2.0**70], dtype=">f8")})
rows.append({"name": "table", "values": table.a.tolist() + table.b.tolist(), "pickles": [pickle.dumps(table, p).hex() for p in range(2, 6)]})
with open("big_endian.json.gz", "wb") as f:
    f.write(gzip.compress(("[\n" + ",\n".join(json.dumps(r) for r in rows) + "\n]\n").encode(), mtime=0))
