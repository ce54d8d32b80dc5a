"""Makes scheduler.json: what the Euler scheduler of Stable Diffusion XL computes, with NumPy
alone, for ../scheduler_test.go.

    /usr/bin/python3 make_scheduler.py > scheduler.json

Written from the description of diffusers' EulerDiscreteScheduler 0.30.3 with the settings of
stable-diffusion-xl-base-1.0: scaled_linear betas from 0.00085 to 0.012, 1000 steps, leading
spacing with an offset of 1, prediction of noise, no churn. Betas are float32 like PyTorch's,
whose cumulative product is kept in float64 and rounded step by step. "exact" are the same
amounts of noise in float64 throughout, which say how far float32 is off.
"""
import json

import numpy as np

F = np.float32


def linspace(start, end, n):
    step = (F(end) - F(start)) / F(n - 1)
    index = np.arange(n)
    return np.where(index < n // 2, F(start) + step * index.astype(F), F(end) - step * (n - 1 - index).astype(F)).astype(F)


def noise():
    betas = linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2
    kept = np.cumprod((F(1) - betas).astype(np.float64)).astype(F)
    return np.sqrt((F(1) - kept) / kept)


def exact():
    kept = np.cumprod(1 - np.linspace(0.00085**0.5, 0.012**0.5, 1000) ** 2)
    return np.sqrt((1 - kept) / kept)


def schedule(steps):
    timesteps = (np.arange(0, steps) * (1000 // steps)).round()[::-1].astype(F) + F(1)
    table = noise()
    assert table.dtype == F
    sigmas = np.interp(timesteps, np.arange(1000), table)
    return timesteps, np.append(sigmas, 0).astype(F)


def run(steps, size, guidance):
    """The loop over latents, with a model that stands for any: noise that depends on what it is given."""
    timesteps, sigmas = schedule(steps)
    rng = np.random.default_rng(7)
    latents = rng.normal(size=size).astype(F)
    given = latents.tolist()
    latents = latents * np.sqrt(np.square(sigmas.max()) + F(1))
    trace = []
    for i, t in enumerate(timesteps):
        scaled = latents / np.sqrt(np.square(sigmas[i]) + F(1))
        without = (scaled * F(0.75) + F(0.1)).astype(F)
        with_text = (scaled * F(0.7) - t / F(4000)).astype(F)
        predicted = without + F(guidance) * (with_text - without)
        clean = latents - sigmas[i] * predicted
        slope = (latents - clean) / sigmas[i]
        latents = latents + slope * (sigmas[i + 1] - sigmas[i])
        assert latents.dtype == F
        trace.append(latents.tolist())
    return {"steps": steps, "guidance": guidance, "latents": given, "trace": trace}


def main():
    cases = []
    for steps in (1, 3, 20, 30, 50):
        timesteps, sigmas = schedule(steps)
        cases.append({
            "steps": steps, "timesteps": timesteps.tolist(), "sigmas": sigmas.tolist(),
            "exact": [exact()[int(t)] for t in timesteps], "initial": float(np.sqrt(np.square(sigmas.max()) + F(1))),
        })
    print(json.dumps({"numpy": np.__version__, "schedules": cases, "loop": run(20, 6, 8.0)}))


main()
