#!/usr/bin/env python3
"""Runs the official accuracy scripts on the logs in logs/ and compares what they print with expected.json.

    make_logs.py INFERENCE WHISPER           # checkouts of mlcommons/inference (b66003e) and openai/whisper (v20250625)
    make_logs.py INFERENCE WHISPER --write   # put what they print into expected.json

Needs NumPy 1.24.2, pycocotools 2.0.11, scikit-learn 1.2.1, nibabel 5.0.0, pandas 1.5.3, regex and more-itertools. Two modules
stand in for TensorFlow and PyTorch: the scripts use only their way to open files, and the name of a type.
"""
import gzip, json, os, pickle, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOOLS = "vision/classification_and_detection/tools"


def plain(src, dst):
    """Copies a file, unpacked."""
    os.makedirs(os.path.dirname(dst), exist_ok=True)
    with gzip.open(src, "rb") as f, open(dst, "wb") as g:
        shutil.copyfileobj(f, g)


def stubs(folder, whisper):
    """Writes modules in place of packages that the scripts hardly use."""
    for name, text in {"tensorflow": "class gfile: GFile = open", "torch": "Tensor = object", "whisper": f"__path__ = [{os.path.join(whisper, 'whisper')!r}]"}.items():
        with open(os.path.join(folder, name + ".py"), "w") as f:
            f.write(text + "\n")


def volumes(folder):
    """Writes the volumes of cases.json as the files that accuracy_kits.py reads."""
    import nibabel, numpy

    with open(os.path.join(folder, "cases.json")) as f:
        cases = json.load(f)
    for case, shape, rle in zip(cases["file_list"], cases["image_shape"], cases["target_rle"]):
        voxels = numpy.repeat(numpy.array(rle[::2], numpy.uint8), rle[1::2]).reshape(shape)
        os.makedirs(os.path.join(folder, "nifti", case))
        nibabel.save(nibabel.Nifti1Image(voxels, numpy.eye(4)), os.path.join(folder, "nifti", case, "segmentation.nii.gz"))
    meta = {case: {"image_shape": shape, "reshaped_affine": numpy.eye(4)} for case, shape in zip(cases["file_list"], cases["image_shape"])}
    with open(os.path.join(folder, "preprocessed_files.pkl"), "wb") as f:
        pickle.dump({"file_list": cases["file_list"], "cases": meta}, f)


def command(inference, folder, kind, run):
    log = os.path.join(folder, run["log"])
    if kind == "kits19":
        script = "vision/medical_imaging/3d-unet-kits19/accuracy_kits.py"
        data = ["--log_file", log, "--preprocessed_data_dir", folder, "--postprocessed_data_dir", folder]
    elif kind == "gnmt":
        script = "retired_benchmarks/translation/gnmt/tensorflow/process_accuracy.py"
        data = ["--accuracy_log", log, "--reference", os.path.join(folder, "newstest.tok.bpe.de")]
    elif kind == "whisper":
        script = "speech2text/accuracy_eval.py"
        data = ["--log_dir", os.path.dirname(log), "--dataset_dir", folder, "--manifest", os.path.join(folder, "manifest.json")]
    else:
        script, data = {
            "resnet50": (TOOLS + "/accuracy-imagenet.py", ["--imagenet-val-file", os.path.join(folder, "val_map.txt")]),
            "retinanet": (TOOLS + "/accuracy-openimages.py", ["--openimages-dir", folder, "--verbose"]),
            "dlrm": ("recommendation/dlrm_v2/pytorch/tools/accuracy-dlrm.py", []),
        }.get(kind, (TOOLS + "/accuracy-coco.py", ["--coco-dir", folder, "--verbose"]))
        data += ["--mlperf-accuracy-file", log]
    return [sys.executable, os.path.join(inference, script)] + data + run.get("arguments", [])


def check(inference, whisper, kind, write):
    """Runs all runs of a folder of logs; returns how many differ."""
    source, differ = os.path.join(HERE, "logs", kind), 0
    with tempfile.TemporaryDirectory() as folder:
        for base, _, names in os.walk(source):
            for name in names:
                path = os.path.join(base, name)
                if name.endswith(".gz"):
                    plain(path, os.path.join(folder, os.path.relpath(path, source)[:-3]))
        with open(os.path.join(folder, "expected.json")) as f:
            expected = json.load(f)
        stubs(folder, whisper)
        if kind == "kits19":
            volumes(folder)
        for run in expected["runs"]:
            done = subprocess.run(command(inference, folder, kind, run), cwd=folder, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=folder))
            lines = [l for l in done.stdout.splitlines() if l.startswith((" Average", "mAP", "found", "ignored", "ERROR", "accuracy", "Accuracy", "AUC=", "BLEU", "Word Error"))]
            lines = [l for l in lines if not l.startswith("no results:")]
            printed = next((l for l in reversed(lines) if l.startswith(("accuracy=", "Accuracy:", "mAP=", "AUC=", "BLEU", "Word Error"))), "")
            then = (run["exit_code"] != 0, run.get("printed") or "", run.get("printed_lines") or [])
            now = (done.returncode != 0, printed, lines if then[2] else [])
            if done.returncode == 0 and then != now or then[0] != now[0]:
                differ += 1
                print(f"{kind}/{run['variant']}: {now[1] or done.stderr[-200:]}, {then[1]} before")
                run.update(exit_code=done.returncode, printed=printed)
                if then[2]:
                    run["printed_lines"] = lines
    if write and differ:
        with open(os.path.join(source, "expected.json.gz"), "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
            z.write(json.dumps(expected, separators=(",", ":")).encode())
    return differ


def main():
    args = [a for a in sys.argv[1:] if a != "--write"]
    if len(args) != 2:
        sys.exit(__doc__)
    inference, whisper = map(os.path.abspath, args)
    kinds = ("resnet50", "ssd", "ssd_remove_empty", "retinanet", "kits19", "dlrm", "gnmt", "whisper")
    differ = sum(check(inference, whisper, kind, "--write" in sys.argv) for kind in kinds)
    print(differ, "runs differ")
    sys.exit(differ > 0)


if __name__ == "__main__":
    main()
