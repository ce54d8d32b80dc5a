#!/usr/bin/env python3
"""Runs accuracy-squad.py and evaluate_v1.1.py, unmodified, on the logs in bert/ and says where they print something else than
expected.json holds; --write writes it.

    make_bert.py INFERENCE DLE TRANSFORMERS [--write]

Python 3.11 with NumPy and setuptools 65; the arguments are those of internal/tokenizer/testdata/reference.py.
"""
import gzip, json, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOKENIZER = HERE + "/../../../tokenizer/testdata"
inference, dle, transformers = [os.path.abspath(path) for path in sys.argv[1:4]]
START = f"""import runpy, sys
sys.path.insert(0, {TOKENIZER!r})
from reference import load
load({inference!r}, {dle!r}, {transformers!r})
runpy.run_path({inference + "/language/bert/accuracy-squad.py"!r}, run_name="__main__")
"""
with open(HERE + "/bert/expected.json") as f:
    golden = json.load(f)
runs = []
for old in golden["runs"]:
    with tempfile.TemporaryDirectory() as folder:
        with gzip.open(f"{HERE}/bert/{old['log']}.gz", "rb") as f, open(folder + "/log.json", "wb") as g:
            g.write(f.read())
        files = {"vocab_file": HERE + "/bert/vocab.txt", "val_data": HERE + "/bert/dev-v1.1.json", "log_file": folder + "/log.json"}
        files.update(out_file=folder + "/predictions.json", features_cache_file=folder + "/features")
        command = [sys.executable, "-c", START, *[f"--{key}={path}" for key, path in files.items()], *old["arguments"]]
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    printed = re.findall(r'^{"exact_match.*', ran.stdout, re.M)
    if not printed:
        sys.exit(f"{old['variant']}: {ran.stderr}")
    runs.append(dict(old, exit_code=ran.returncode, printed=printed[0], **json.loads(printed[0])))
    if runs[-1] != old:
        print(old["variant"], "differs:", printed[0], "instead of", old["printed"])
if "--write" in sys.argv:
    with open(HERE + "/bert/expected.json", "w") as f:
        json.dump(dict(golden, runs=runs), f, separators=(",", ":"))
        f.write("\n")
