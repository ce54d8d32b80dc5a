"""Writes the pickles of this folder. The classes stand in for NumPy's and are reduced to the same
calls (numpy/core/src/multiarray/methods.c, array_reduce; descriptor.c, arraydescr_reduce), so that NumPy is
not needed."""
import pickle, struct, sys, types

for name in ("numpy", "numpy.core", "numpy.core.multiarray", "numpy.core.numeric"):
    sys.modules[name] = types.ModuleType(name)


def define(module, obj, name):
    obj.__module__, obj.__name__, obj.__qualname__ = module, name, name
    setattr(sys.modules[module], name, obj)
    return obj


class Type:
    def __init__(self, code, order="<"):
        self.code, self.order = code, order

    def __reduce__(self):
        return dtype, (self.code, False, True), (3, self.order, None, None, None, -1, -1, 0)


def dtype(*args): raise NotImplementedError
def _reconstruct(*args): raise NotImplementedError
def scalar(*args): raise NotImplementedError
def _frombuffer(*args): raise NotImplementedError


define("numpy", dtype, "dtype")
define("numpy.core.multiarray", _reconstruct, "_reconstruct")
define("numpy.core.multiarray", scalar, "scalar")
define("numpy.core.numeric", _frombuffer, "_frombuffer")
ndarray = define("numpy", type("ndarray", (), {}), "ndarray")


class Array:
    def __init__(self, kind, shape, data, fortran=False):
        self.kind, self.shape, self.data, self.fortran = kind, shape, data, fortran

    def __reduce_ex__(self, protocol):
        if protocol == 5:
            return _frombuffer, (bytearray(self.data), self.kind, self.shape, "F" if self.fortran else "C")
        return _reconstruct, (ndarray, (0,), b"b"), (1, self.shape, self.kind, self.fortran, self.data)


class Number:
    def __init__(self, kind, data):
        self.kind, self.data = kind, data

    def __reduce__(self):
        return scalar, (self.kind, self.data)


f4, u1, i8, f8 = Type("f4"), Type("u1", "|"), Type("i8"), Type("f8")
case = [
    Array(f4, (1, 2, 2, 3), struct.pack("<12f", *range(12))),
    Array(u1, (1, 2, 2, 3), bytes(range(12)), fortran=True),
]
about = {
    "file_list": ["case_00000", "case_00003"],
    "cases": {
        "case_00000": {"image_shape": (1, 128, 192, 128), "zoom_factor": Array(f8, (3,), struct.pack("<3d", 1.5, 0.5, 0.25)),
                       "count": Number(i8, struct.pack("<q", -7)), "ratio": Number(f8, struct.pack("<d", 0.125)), "note": None},
        "case_00003": {"image_shape": [192, 128, 128], "big": 1 << 40, "negative": -5, "half": 0.5, "yes": True, "long": "x" * 300},
    },
}
for protocol in (2, 3, 4, 5):
    pickle.dump(case, open(f"case_protocol{protocol}.pkl", "wb"), protocol)
    pickle.dump(about, open(f"list_protocol{protocol}.pkl", "wb"), protocol)
