"""Makes torch_float.pt: a tensor in the form in which torch.save of PyTorch 2 writes it, made
without PyTorch, for ../pickle_test.go.

    python3 make_torch.py

The pickle is written instruction by instruction as in the reference's latents.pt
(text_to_image/tools, MD5 58f4165e574452b9ce6a1a32c2fb3908), which reads the same.
"""
import struct
import zipfile


def short(n):
    return b"K" + bytes([n]) if n < 256 else b"J" + struct.pack("<i", n)


def text(s):
    return b"X" + struct.pack("<I", len(s)) + s.encode()


def numbers(values):
    return b"(" + b"".join(short(v) for v in values) + b"t"


def tensor(kind, count, first, shape, strides):
    return (b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\nq\x00((" + text("storage") + b"ctorch\n" + kind.encode() + b"\n"
            + text("0") + text("cpu") + short(count) + b"tQ" + short(first) + numbers(shape) + numbers(strides)
            + b"\x89ccollections\nOrderedDict\n)RtR.")


def write(name, program, memory):
    with zipfile.ZipFile(name, "w") as z:
        for entry, content in (("data.pkl", program), ("byteorder", b"little"), ("data/0", memory), ("version", b"3\n")):
            z.writestr(zipfile.ZipInfo("latents/" + entry), content)


write("torch_float.pt", tensor("FloatStorage", 24, 0, (1, 2, 3, 4), (24, 12, 4, 1)), struct.pack("<24f", *range(24)))
