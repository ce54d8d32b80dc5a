"""Makes images.json.gz: the arithmetic of CLIP and FID scores, for ../images_test.go.

    python3 make_images.py | gzip -9n > images.json.gz

Debian's python3-numpy and python3-scipy are enough; scipy 1.10.1 is the version that the
reference asks for (text_to_image/requirements.txt). FID is computed twice: as the reference
does, by scipy.linalg.sqrtm of the product, and by the nuclear norm of the product of the two
square roots, from eigenvalues alone, which also holds where the product is singular.
"""
import json

import numpy as np
import scipy
from scipy import linalg


def root(symmetric):
    values, vectors = np.linalg.eigh(symmetric)
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


def by_roots(m1, c1, m2, c2):
    nuclear = np.linalg.svd(root(c1) @ root(c2), compute_uv=False).sum()
    return float((m1 - m2) @ (m1 - m2) + np.trace(c1) + np.trace(c2) - 2 * nuclear)


def by_sqrtm(m1, c1, m2, c2):
    middle, _ = linalg.sqrtm(c1 @ c2, disp=False)
    if not np.isfinite(middle).all():
        return None
    return float(np.real((m1 - m2) @ (m1 - m2) + np.trace(c1) + np.trace(c2) - 2 * np.trace(middle)))


def statistics(rows):
    return rows.mean(axis=0), np.cov(rows, rowvar=False)


def features(rng, images, width, rank, scale):
    """Features as a network makes them: not negative, some of them nearly always 0."""
    mix = rng.normal(size=(rank, width)) * scale
    return np.maximum(rng.normal(size=(images, rank)) @ mix + rng.normal(size=width) * 0.3, 0).astype(np.float32)


def case(name, a, b):
    m1, c1 = statistics(a.astype(np.float64))
    m2, c2 = statistics(b.astype(np.float64))
    return {
        "name": name, "width": a.shape[1],
        "a": a.ravel().tolist(), "b": b.ravel().tolist(),
        "mean": m1.tolist(), "covariance": c1.ravel().tolist(),
        "sqrtm": by_sqrtm(m1, c1, m2, c2), "roots": by_roots(m1, c1, m2, c2),
    }


def main():
    rng = np.random.default_rng(20140501)
    many = features(rng, 200, 12, 12, 1.0)
    cases = [
        case("many images", many, features(rng, 160, 12, 12, 1.2)),
        case("the same images", many[:60], many[:60]),
        case("fewer images than features", features(rng, 6, 16, 16, 1.0), features(rng, 80, 16, 16, 1.0)),
        case("fewer images than features on both sides", features(rng, 5, 16, 16, 1.0), features(rng, 7, 16, 16, 1.0)),
        case("features of very different sizes",
             (features(rng, 80, 10, 10, 1.0) * np.logspace(-4, 3, 10)).astype(np.float32),
             (features(rng, 90, 10, 10, 1.1) * np.logspace(-4, 3, 10)).astype(np.float32)),
        case("one image again and again", np.tile(features(rng, 1, 8, 8, 1.0), (4, 1)), features(rng, 30, 8, 8, 1.0)),
        case("two features", features(rng, 50, 2, 2, 1.0), features(rng, 40, 2, 2, 3.0)),
    ]
    clips = []
    for width in (2, 8, 512):
        image = rng.normal(size=width).astype(np.float32) * 7
        text = (image * 0.4 + rng.normal(size=width) * 5).astype(np.float32)
        a = image / np.linalg.norm(image)
        b = text / np.linalg.norm(text)
        clips.append({"image": image.tolist(), "text": text.tolist(), "score": float(100 * (a @ b))})
    values = [c["score"] for c in clips] * 11
    line = "Accuracy Results: " + str({"FID_SCORE": f"{cases[0]['roots']}", "CLIP_SCORE": f"{np.mean(values)}"})
    print(json.dumps({
        "made_with": f"numpy {np.__version__}, scipy {scipy.__version__}",
        "cases": cases, "clips": clips, "printed": {"values": values, "distance": cases[0]["roots"], "line": line},
    }))


main()
