#!/usr/bin/env python3
"""Writes schema.json: the messages and fields of ONNX files.

    python3 make_schema.py onnx.proto > schema.json

onnx.proto is that of github.com/onnx/onnx (here of f7546912, IR version 14). Of each message the fields
are listed as [name, number, type, label, oneof]; the label is "repeated" or "optional", enumerations are
int32, as they are in files, and messages within messages have both names.
"""
import json
import re
import sys

SCALARS = {"int32", "int64", "uint64", "float", "double", "string", "bytes"}


def main():
    text = re.sub(r"//[^\n]*", "", open(sys.argv[1]).read())
    tokens = re.findall(r"[A-Za-z_][\w.]*|-?\d\w*|\"[^\"]*\"|\S", text)
    messages, stack, at = {}, [], 0
    while at < len(tokens):
        token = tokens[at]
        if token in ("message", "oneof", "enum"):
            stack.append((token, tokens[at + 1]))
            if token == "message":
                messages[".".join(n for k, n in stack if k == "message")] = []
            at += 3
            continue
        if token == "}":
            if stack:
                stack.pop()
            at += 1
            continue
        end = at
        while tokens[end] not in (";", "}", "{"):
            end += 1
        statement = tokens[at:end]
        if stack and stack[-1][0] != "enum" and "=" in statement and statement[0] not in ("reserved", "option"):
            label = statement.pop(0) if statement[0] in ("optional", "repeated") else "optional"
            kind, name, _, number = statement[:4]
            oneof = stack[-1][1] if stack[-1][0] == "oneof" else ""
            messages[".".join(n for k, n in stack if k == "message")].append([name, int(number), kind, label, oneof])
        at = end + (tokens[end] == ";")
    for name, fields in messages.items():
        for field in fields:
            if field[2] not in SCALARS:
                inner = [m for m in (name + "." + field[2], field[2]) if m in messages]
                field[2] = inner[0] if inner else "int32"
    print("{")
    print(",\n".join(json.dumps(m) + ": " + json.dumps(f, separators=(",", ":")) for m, f in messages.items()))
    print("}")


main()
