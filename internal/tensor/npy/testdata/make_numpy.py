#!/usr/bin/env python3
"""Writes numpy.json, refused.json, headers.json and texts.json: arrays as NumPy writes them. Needs NumPy (1.24.2).

    make_numpy.py           # compare with what is here
    make_numpy.py --write   # and write it
"""
import base64, io, json, os, random, sys

import numpy as np
from numpy.lib import format

HERE = os.path.dirname(os.path.abspath(__file__))
SIX = [[0, 1, 2], [3, 100, 255]]


def written(array, version=None):
    f = io.BytesIO()
    format.write_array(f, array, version=version)
    return base64.b64encode(f.getvalue()).decode()


def kept(name, array, version=None):
    little = array.astype(array.dtype.newbyteorder("<"))
    return {
        "name": name, "dtype": array.dtype.name, "shape": list(array.shape), "file": written(array, version),
        "bytes": base64.b64encode(little.tobytes()).decode(),
    }


def arrays():
    for t in ("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"):
        yield kept(t, np.array(SIX).astype(t))
    yield kept("a scalar", np.array(1.5, np.float32))
    yield kept("no elements", np.zeros((0, 3), np.int64))
    yield kept("one axis", np.arange(5, dtype=np.float32))
    yield kept("four axes", np.arange(24, dtype=np.int16).reshape(1, 2, 3, 4))
    yield kept("big-endian float32", np.arange(4, dtype=">f4"))
    yield kept("big-endian uint16", np.arange(4, dtype=">u2").reshape(2, 2))
    yield kept("version 2", np.arange(3, dtype=np.float32), (2, 0))
    yield kept("version 3", np.arange(3, dtype=np.float32), (3, 0))
    yield kept("many axes", np.zeros((1,) * 30, np.uint8))


def refused():
    for name, array in (
        ("Fortran order", np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3))),
        ("complex numbers", np.zeros(2, np.complex64)),
        ("text", np.array(["ab", "c"], "<U2")),
        ("a structured type", np.zeros(2, [("a", "<f4"), ("b", "<i4")])),
        ("objects", np.array([None, 1], object)),
        ("dates", np.array(["2020-01-01"], "M8[D]")),
        ("long doubles", np.zeros(1, np.longdouble)),
    ):
        yield {"name": name, "file": written(array)}


def texts():
    for name, array in (
        ("bytes", np.array([b"ab", b"", b"longer", b"z"])),
        ("Unicode", np.array([["one", "zwei\u00e9"], ["\u4e09", "\U0001f600 !"]])),
        ("big-endian Unicode", np.array(["b\u00e9", "a"], ">U4")),
        ("zeros inside", np.array([b"a\0b", b"c"])),
        ("a scalar text", np.array("alone")),
    ):
        words = [t if isinstance(t, str) else t.decode("latin-1") for t in array.reshape(-1).tolist()]
        yield {"name": name, "shape": list(array.shape), "file": written(array), "texts": words}


def headers():
    """Headers of shapes whose arrays no memory holds: the text before the elements follows from the shape alone."""
    rng = random.Random(4)
    for i, axes in enumerate(list(range(9)) * 6):
        shape = tuple(rng.randint(1, 10 ** rng.randint(0, 6)) for _ in range(axes))
        while np.prod([float(n) for n in shape] or [1]) > 2**60:
            shape = tuple(max(1, n // 10) for n in shape)
        if i % 7 == 0 and shape:
            shape = (0,) + shape[1:]
        descr = rng.choice(["<f4", "<f2", "|u1", "<i8", "|b1"])
        f = io.BytesIO()
        format.write_array_header_1_0(f, {"shape": shape, "fortran_order": False, "descr": descr})
        yield {"name": "header %d" % i, "dtype": descr, "shape": list(shape), "file": base64.b64encode(f.getvalue()).decode()}


def main():
    write, failed = "--write" in sys.argv, False
    for name, made in (("numpy.json", arrays()), ("refused.json", refused()), ("headers.json", headers()), ("texts.json", texts())):
        path, new = os.path.join(HERE, name), list(made)
        with open(path) as f:
            old = {c["name"]: c for c in json.load(f)}
        for case in new:
            if old.get(case["name"]) != case:
                failed = True
                print(name, case["name"], "differs")
        if old.keys() != {c["name"] for c in new}:
            failed = True
            print(name, "has other cases")
        if write:
            with open(path, "w") as f:
                json.dump(new, f, indent=0)
                f.write("\n")
    sys.exit(failed and not write)


main()
