"""Writes latents.npy, statistics.npz and short.npz with NumPy 1.24.2, and latents.pt with the numbers of latents.npy in the
layout of torch.save: the pickle has the instructions of the reference's latents.pt (text_to_image/tools, MD5
58f4165e574452b9ce6a1a32c2fb3908).

    python3 make_files.py
"""
import struct
import zipfile

import numpy as np

values = (np.arange(4 * 2 * 3, dtype=np.float32) / 8 - 1).reshape(1, 4, 2, 3)
np.save("latents.npy", values)
rng = np.random.default_rng(3)
rows = rng.normal(size=(9, 5))
np.savez_compressed("statistics.npz", mu=rows.mean(axis=0), sigma=np.cov(rows, rowvar=False))
np.savez("short.npz", mu=rows.mean(axis=0).astype(np.float32), sigma=np.cov(rows, rowvar=False).astype(np.float32))


def short(n):
    return b"K" + bytes([n])


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def numbers(values):
    return b"(" + b"".join(short(v) for v in values) + b"t"


program = (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((" + text("storage") + b"ctorch\nFloatStorage\n" + text("0") + text("cpu")
           + short(24) + b"tQ" + short(0) + numbers((1, 4, 2, 3)) + numbers((24, 6, 3, 1)) + b"\x89ccollections\nOrderedDict\n)RtR.")
with zipfile.ZipFile("latents.pt", "w") as z:
    for entry, content in (("data.pkl", program), ("byteorder", b"little"), ("data/0", values.tobytes()), ("version", b"3\n")):
        z.writestr(zipfile.ZipInfo("latents/" + entry), content)
