#!/usr/bin/env python3
"""Computes mel_rnnt_80x257.npy.gz and *.rnnt.npy.gz, *.rnnt_logmel.npy.gz anew and says what differs; --write writes them.

    make_rnnt.py INFERENCE LIBROSA [--write]

INFERENCE is a checkout of mlcommons/inference (b66003e1): features.py of retired_benchmarks/speech_recognition/rnnt/pytorch runs
unmodified with PyTorch 1.13.1, NumPy 1.24.2 and the settings of the data layer in rnnt.toml. LIBROSA is a folder with the package
librosa 0.7.2, whose filters.mel makes the matrix. The log-mel files are before splicing and normalising. Where bands are almost
empty, rounding in PyTorch's FFT, which depends on the processor, shows:
features within 1e-3 (the tests allow 2e-3) count as the same, and are not written.
"""
import glob, gzip, io, os, sys, types, wave

import numpy as np
import torch

HERE = os.path.dirname(os.path.abspath(__file__))


def module(name, **content):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(content)
    return sys.modules[name]


plain = lambda *_, **__: lambda function: function
librosa = module("librosa", __path__=[sys.argv[2] + "/librosa"])
module("librosa._cache", cache=plain)
module("librosa.core", __path__=[sys.argv[2] + "/librosa/core"])
module("librosa.util", __path__=[sys.argv[2] + "/librosa/util"], MAX_MEM_BLOCK=0)
module("numba", jit=plain)
module("soundfile")
import librosa.filters

sys.path.insert(0, sys.argv[1] + "/retired_benchmarks/speech_recognition/rnnt/pytorch")
from parts.features import FeatureFactory

settings = {"normalize": "per_feature", "sample_rate": 16000, "window_size": 0.02, "window_stride": 0.01, "window": "hann", "features": 80}
settings |= {"n_fft": 512, "frame_splicing": 3, "dither": 1e-5, "feat_type": "logfbank", "pad_to": 0}
torch.set_num_threads(1)


def features(samples, **changes):
    extract = FeatureFactory.from_config(settings | changes)
    return extract, extract((torch.from_numpy(samples)[None], torch.tensor([len(samples)])))[0].numpy()


results = {}
for path in sorted(glob.glob(HERE + "/*.wav")):
    with wave.open(path) as f:
        samples = np.frombuffer(f.readframes(f.getnframes()), "<i2").astype(np.float32) / np.float32(32768)
    name = os.path.basename(path)[:-4]
    extract, results[name + ".rnnt"] = features(samples)
    _, results[name + ".rnnt_logmel"] = features(samples, frame_splicing=1, normalize="")
results["mel_rnnt_80x257"] = extract.fb[0].numpy()
for name, new in results.items():
    file = f"{HERE}/{name}.npy.gz"
    with gzip.open(file) as f:
        old = np.load(io.BytesIO(f.read()))
    if old.shape == new.shape and old.dtype == new.dtype and np.allclose(old, new, rtol=0, atol=0 if name.startswith("mel") else 1e-3):
        continue
    print(name, "differs:", new.shape, np.abs(old - new).max() if old.shape == new.shape else old.shape)
    if "--write" in sys.argv:
        b = io.BytesIO()
        np.save(b, np.ascontiguousarray(new))
        with open(file, "wb") as f:
            f.write(gzip.compress(b.getvalue(), 9, mtime=0))
