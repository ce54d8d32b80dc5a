#!/usr/bin/env python3
"""Compares the tables of the tests with Jinja2 3.1, with the options that HuggingFace's apply_chat_template has.

    JINJA_TABLES=/tmp/tables.json go test ./internal/jinja
    python3 tables.py /tmp/tables.json

Each line of the file is a template, the values that it gets and its text; null: Jinja2 has an error. Keys of dicts come with role and content first, as the package has them.
"""
import json, sys, warnings
from jinja2.exceptions import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

warnings.simplefilter("ignore")


def refuse(why):
    raise TemplateError(why)


def ordered(value):
    if isinstance(value, list):
        return [ordered(v) for v in value]
    if isinstance(value, dict):
        usual = ["role", "content"]
        return {k: ordered(value[k]) for k in sorted(value, key=lambda k: (usual.index(k) if k in usual else len(usual), k))}
    return value


def render(case):
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
    environment.filters["tojson"] = lambda x, ensure_ascii=False, indent=None, separators=None, sort_keys=False: json.dumps(
        x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
    environment.globals["raise_exception"] = refuse
    try:
        return environment.from_string(case["template"]).render(**ordered(case["values"])), None
    except Exception as e:
        return None, f"{type(e).__name__}: {e}"


wrong = total = 0
for line in open(sys.argv[1], encoding="utf-8"):
    case = json.loads(line)
    text, error = render(case)
    total += 1
    if text != case["text"]:
        wrong += 1
        print(f"{case['test']}: {case['template']!r}\n  is   {text!r} {error or ''}\n  want {case['text']!r}")
print(f"{total} templates, {wrong} wrong")
