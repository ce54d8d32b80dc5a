"""make_settings.py LOADGEN [--write]: asks the reference LoadGen (the folder loadgen of mlcommons/inference at b66003e) for the
settings that it has after the files of each case of settings.json. Without --write it says which cases differ."""

import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
FILE = HERE / "settings.json"


def main():
    loadgen = pathlib.Path(sys.argv[1])
    cases = json.loads(FILE.read_text())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        conf = (loadgen / "mlperf.conf").read_text()
        (folder / "mlperf_conf.h").write_text("const char* mlperf_conf = R\"conf(" + conf + ")conf\";\n")
        program = folder / "settings"
        subprocess.check_call(["g++", "-std=c++17", "-I", name, "-I", str(loadgen), "-o", str(program), str(HERE / "settings.cc"),
                               *(str(loadgen / f"{s}.cc") for s in ["test_settings_internal", "logging", "utils", "version"]), "-lpthread"])
        user, audit = folder / "user.conf", folder / "audit.config"
        for i, case in enumerate(cases):
            user.write_bytes(case["user"].encode())
            audit.write_bytes(case["audit"].encode())
            lines = subprocess.check_output([str(program), case["model"], case["scenario"], str(user), str(audit)], text=True).splitlines()
            got = dict(line.split(" ") for line in lines if line.split(" ")[0] in case["want"])
            if got != case["want"]:
                print(f"case {i}:", {k: (case["want"][k], got.get(k)) for k in case["want"] if case["want"][k] != got.get(k)})
            case["want"] = got
    if "--write" in sys.argv:
        FILE.write_text("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n")


main()
