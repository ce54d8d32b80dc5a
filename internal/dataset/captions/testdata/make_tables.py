#!/usr/bin/env python3
"""Writes tables.json.gz: 300 tables with quotes everywhere, and the captions that pandas 1.5.3 reads of them; null where it
refuses a table."""
import gzip, io, json, random
import pandas as pd

random.seed(2028)
PIECES = ["a", "b ", " ", '"', '""', "é", "'", ",", "x", "\\"]
cases = []
while len(cases) < 300:
    rows = []
    for _ in range(random.randint(1, 4)):
        cell = "".join(random.choice(PIECES) for _ in range(random.randint(1, 7)))
        if random.random() < 0.4:
            cell = '"' + cell.replace('"', '""') + '"'
        if random.random() < 0.1:
            cell = '"' + cell.replace('"', '""')[:3] + '\nz"'
        rows.append("%d\t%s" % (random.randint(0, 9), cell) + random.choice(["\t7", "\t7", "\t7", "", "\t7\t8"][: 5 if random.random() < 0.1 else 3]))
    end = random.choice(["\n", "\r\n", "\r"])
    text = "id\tcaption\th" + end + end.join(rows) + random.choice([end, ""])
    if random.random() < 0.1:
        text = text.replace(end, end + random.choice(["", "  "]) + end, 1)
    if random.random() < 0.05:
        text = "\ufeff" + text
    try:
        table = pd.read_csv(io.BytesIO(text.encode()), sep="\t", dtype={"caption": str}, keep_default_na=False)
        if len(table.index) and not isinstance(table.index, pd.RangeIndex):
            continue  # a first row that is longer makes pandas take its first column for the names of rows
        list = table["caption"].tolist()
        if any(not c.strip() for c in list):
            continue  # which is refused here
    except (pd.errors.ParserError, pd.errors.EmptyDataError):
        list = None
    cases.append({"table": text, "captions": list})
with open("tables.json.gz", "wb") as f:
    f.write(gzip.compress(("[\n" + ",\n".join(json.dumps(c) for c in cases) + "\n]\n").encode(), mtime=0))
