#!/usr/bin/env python3
"""Writes FILE.json.gz: pickles of random values, arrays and tables of protocols 2 to 5, and what is in them.

    python3 make_random.py numpy1.json.gz    # with NumPy 1.24 and pandas 1.5
    python3 make_random.py numpy2.json.gz    # with NumPy 2.4 and pandas 2.3

Values are described as JSON that keeps their types apart: {"int": "7"},
{"float": "0x1.8p+0"}, {"bytes": "00ff"}, {"dict": {...}}, {"array": [type, shape, bytes in C order]},
{"objects": [shape, items]}, {"frame": [names, rows, columns]}; null, truth values, text and lists are themselves.
"""
import base64, gzip, json, math, pickle, random, sys

import numpy as np
import pandas as pd

rng, nr = random.Random(7), np.random.RandomState(7)


def word():
    return "".join(rng.choice("abcäöü€😀 \n'\"\\") for _ in range(rng.choice([0, 1, 3, 8])))


def array():
    shape = [rng.randrange(0, 4) for _ in range(rng.randrange(0, 4))]
    kind = rng.choice(["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
    a = np.asarray(nr.uniform(0, 100, shape)).astype(kind)
    if rng.random() < 0.3:
        a = np.asfortranarray(a)
    elif rng.random() < 0.3 and a.ndim > 0:
        a = a[::-1]
    return a


def value(depth=0):
    k = rng.randrange(14 if depth < 3 else 8)
    if k == 0:
        return None
    if k == 1:
        return rng.random() < 0.5
    if k == 2:
        return rng.choice([0, 1, -1, 255, 256, 65535, 65536, -129, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**62, -(2**63), 2**63 - 1])
    if k == 3:
        return rng.choice([0.5, -1e300, math.nan, math.inf, -math.inf, -0.0, 1e-310, rng.random()])
    if k in (4, 5):
        return word()
    if k == 6:
        return bytes(rng.randrange(256) for _ in range(rng.choice([0, 1, 5, 20])))
    if k == 7:
        return rng.choice([np.float32, np.float64, np.int64, np.int32, np.bool_, np.uint8, np.int16])(rng.randrange(2, 100))
    if k == 8:
        return [value(depth + 1) for _ in range(rng.randrange(5))]
    if k == 9:
        return tuple(value(depth + 1) for _ in range(rng.randrange(5)))
    if k == 10:
        return {word(): value(depth + 1) for _ in range(rng.randrange(5))}
    if k == 11:
        return array()
    if k == 12:
        a = np.empty(rng.randrange(4), object)
        for i in range(len(a)):
            a[i] = value(depth + 1)
        return a
    twice = value(depth + 1)
    return [twice, twice]


def column(n):
    k = rng.randrange(7)
    if k == 0:
        return nr.randint(0, 100, n).astype(rng.choice(["i8", "i4", "i2", "u1", "i1"]))
    if k == 1:
        return nr.uniform(-1, 1, n).astype(rng.choice(["f4", "f8"]))
    if k == 2:
        return nr.rand(n) < 0.5
    if k == 3:
        return [word() for _ in range(n)]
    if k == 4:
        return [[rng.randrange(100) for _ in range(rng.randrange(4))] for _ in range(n)]
    if k == 5:
        return [rng.choice([None, word(), 1.5]) for _ in range(n)]
    return pd.Series([np.arange(rng.randrange(4)) for _ in range(n)], dtype=object)


def table():
    n = rng.randrange(0, 6)
    df = pd.DataFrame({f"{i}{word()}": column(n) for i in range(rng.randrange(1, 6))})
    k = rng.randrange(7)
    if k == 0:
        return df[::2]
    if k == 1:
        return df.sample(frac=0.7, random_state=1)
    if k == 2:
        df["new"] = list(range(n))
    if k == 3:
        return df.iloc[1:]
    if k == 4:
        return df[sorted(df.columns, reverse=True)]
    if k == 5:
        return df.set_index(pd.Index([f"row {i}" for i in range(n)]))
    return df


def described(v):
    if v is None or isinstance(v, (str, bool)):
        return v
    if isinstance(v, np.bool_):
        return bool(v)
    if isinstance(v, (int, np.integer)):
        return {"int": str(int(v))}
    if isinstance(v, (float, np.floating)):
        return {"float": float(v).hex()}
    if isinstance(v, bytes):
        return {"bytes": v.hex()}
    if isinstance(v, (list, tuple)):
        return [described(x) for x in v]
    if isinstance(v, dict):
        return {"dict": {k: described(x) for k, x in v.items()}}
    if isinstance(v, np.ndarray) and v.dtype == object:
        return {"objects": [list(v.shape), [described(x) for x in v.ravel()]]}
    if isinstance(v, np.ndarray):
        return {"array": [v.dtype.str[1:], list(v.shape), v.tobytes("C").hex()]}
    return {"frame": [list(v.columns), len(v), [[described(x) for x in v[c].values] for c in v.columns]]}


rows = []
for i in range(200):
    v, protocol = (table(), rng.choice([2, 3, 4, 5])) if i % 3 == 0 else (value(), rng.choice([2, 3, 4, 5]))
    data = pickle.dumps(v, protocol)
    rows.append({"protocol": protocol, "pickle": base64.b64encode(data).decode(), "value": described(v)})
with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
    f.write(("[\n" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]\n").encode())
