#!/usr/bin/env python3
"""Writes v6.1.tar.gz and v5.1.tar.gz: two trees that the official checker passes.

    python3 make_trees.py V61_TREE V51_TREE

The trees hold logs of the reference's LoadGen 6.0.17 with a SUT that sleeps (600 s and
more, all VALID), checked by its run_verification.py and truncate_accuracy_log.py. To be
small, logs lose the messages loaded_qsl_set, which no checker reads, and of messages
with the same key all but the first, which is the one that a checker reads.
"""
import gzip
import io
import json
import os
import sys
import tarfile


def short(log):
    kept, seen = [], {"loaded_qsl_set"}
    for line in log.splitlines(True):
        message = json.loads(line.removeprefix(b":::MLLOG"))
        if message["key"] not in seen or message["metadata"]["is_error"]:
            kept.append(line)
        seen.add(message["key"])
    return b"".join(kept)


for name, root in (("v6.1", sys.argv[1]), ("v5.1", sys.argv[2])):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for folder, folders, files in os.walk(root):
            folders.sort()
            for f in sorted(files):
                path = os.path.join(folder, f)
                with open(path, "rb") as src:
                    data = src.read()
                if f == "mlperf_log_detail.txt":
                    data = short(data)
                info = tarfile.TarInfo(os.path.relpath(path, root))
                info.size, info.mode = len(data), 0o644
                tar.addfile(info, io.BytesIO(data))
    with open(name + ".tar.gz", "wb") as out:
        out.write(gzip.compress(buffer.getvalue(), 9, mtime=0))
