#!/usr/bin/env python3
"""Writes whisper_80.npy.gz and whisper_128.npy.gz: the first 120 columns of Whisper's features
of chirp_905ms.wav, and the last, by scipy: stft of a periodic Hann window of 400 samples, every
160, over 30 s with silence, reflected at both ends; Slaney's bands of equal area, from their
definition; log10, at most 8 below the largest, (x + 4) / 4. Needs Debian's python3-scipy."""
import gzip, io
import numpy as np, scipy.fft, scipy.io.wavfile

rate, samples = scipy.io.wavfile.read("chirp_905ms.wav")
x = np.zeros(480000); x[:len(samples)] = samples / 32768.0
x = np.pad(x, 200, mode="reflect")
window = np.hanning(401)[:400]
frames = np.lib.stride_tricks.sliding_window_view(x, 400)[::160][:3000]
power = np.abs(scipy.fft.rfft(frames * window, axis=1)) ** 2

mel = lambda f: np.where(f < 1000, 3 * f / 200, 15 + 27 * np.log(np.maximum(f, 1e-9) / 1000) / np.log(6.4))
hertz = lambda m: np.where(m < 15, 200 * m / 3, 1000 * np.exp(np.log(6.4) / 27 * (m - 15)))
for n in (80, 128):
    edges = hertz(np.linspace(0, mel(np.float64(8000)), n + 2))
    bins = np.arange(201) * 40.0
    up = (bins - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - bins) / (edges[2:] - edges[1:-1])[:, None]
    bank = np.maximum(0, np.minimum(up, down)) * (2 / (edges[2:] - edges[:-2]))[:, None]
    logs = np.log10(np.maximum(bank @ power.T, 1e-10))
    out = ((np.maximum(logs, logs.max() - 8) + 4) / 4).astype(np.float32)
    b = io.BytesIO(); np.save(b, np.ascontiguousarray(np.concatenate([out[:, :120], out[:, -1:]], axis=1)))
    with open("whisper_%d.npy.gz" % n, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z: z.write(b.getvalue())
