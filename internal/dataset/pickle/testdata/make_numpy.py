#!/usr/bin/env python3
"""Writes numpy_protocol*.pkl, arrays and numbers of every type that NumPy itself pickles (1.24.2 of Debian's
python3-numpy), and numpy.json with what is in them, the last axis running fastest."""
import json, pickle
import numpy as np

values = {}
for code in ("b1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"):
    low, high = (0, 1) if code == "b1" else (np.iinfo(code).min, np.iinfo(code).max) if code[0] in "iu" else (-1.5, 2.0**60)
    high = min(high, 2**63 - 1)
    a = np.array([[[low, high], [1, 0]], [[0, 1], [high, low]], [[1, 1], [0, high]]], dtype=code)
    values[code + " C"] = a
    values[code + " F"] = np.asfortranarray(a)
    values[code + " turned"] = a.transpose(2, 0, 1)
    values[code + " every second"] = a[::2]
    values[code + " of no axes"] = np.array(high, dtype=code)
    values[code + " empty"] = np.zeros((0, 3), dtype=code)
    values[code + " number"] = np.dtype(code).type(high)
values["objects"] = np.array([["a", None], [1, 2.5]], dtype=object)
values["objects F"] = np.asfortranarray(values["objects"])

about = {}
for name, v in values.items():
    v = np.asarray(v)
    about[name] = {"type": v.dtype.str[1:].replace("O", "O8"), "shape": v.shape, "values": v.ravel().tolist(), "number": name.endswith("number")}
with open("numpy.json", "w") as f:
    f.write(",\n".join(json.dumps({n: a})[1:-1] for n, a in about.items()).join(("{\n", "\n}\n")))
for protocol in (1, 2, 3, 4, 5):
    with open("numpy_protocol%d.pkl" % protocol, "wb") as f:
        pickle.dump(values, f, protocol)
