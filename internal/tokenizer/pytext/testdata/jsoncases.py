"""Writes jsoncases.json: what json.loads makes of texts. Python 3.11."""
import json, math, random
base = ['{"queries": ["Ada Lane",]}', '{"relevance": [1,]}', '{"sufficient": true', '{}', '[]', '{ }', '[ ]', '', ' ', '{', '[', '"', '"a', '"a\\', '"\\u12', '"\\u12"', '"\\u1234', '"\\u1234"', '"\\ud83d\\ude00"', '"\\ud83d\\u00zz"', '"\\ud83dx"', '"\\x"', '"a\nb"', '{"a"}', '{"a":}', '{"a":1,}', '{"a":1 "b":2}', '{"a" 1}', "{'a': 1}", '{a:1}', '[1 2]', '[1,,2]', '[1', '[1,', '1 2', '{"correct": true}{"correct": false}', '{"correct": True}', '{x} then {"correct": true}', 'nul', 'true', 'false', 'null', '-', '-1', '01', '1.', '1.5', '1e5', '1e', '1E+2', '.5', '+1', '1e999', '0', '0.0', '-0', '""', '"\\"\\\\\\/\\b\\f\\n\\r\\t"', '{"a":1,"a":2}', '{"a": {"b": [1, {"c": null}]}}', '\n\n{"a":\n  [1,\n x]}', '{"é": "ü", }', '{"é": ü}', '{"a": "b\tc"}', '[[[[', '{"a":[', '{"a":"', '{"a', '{"a":1', '{"a":1,', '{"a":1,"', '{"a":1,"b"', '{"a":1,"b":', '[true, false, null]', '[truefalse]', '{"a":-}', '{"a":"\\u"}', '{"a":"\\uD83D\\uDE00 x"}', '{}x', ' {} ', '{}\x0b', '[1]\u00a0', '{"a":1}\n', '"\x7f"', '"\x1f"']
r = random.Random(1)
whole = ['{"queries": ["Ada Lane", "x\\n"], "feedback": "f: é", "n": [1, -2.5, true, null, {"k": []}]}', '{"relevance": [1, 0, 1.0, "1"], "a": {"b": false}}']
for i in range(150):
    t = list(r.choice(whole))
    for _ in range(r.randint(1, 2)):
        k = r.randrange(len(t))
        if r.random() < .5: del t[k]
        else: t.insert(k, r.choice('{}[]",:\\u1 \n'))
    base.append("".join(t))
out = []
for t in base:
    try:
        v = json.loads(t)
        if isinstance(v, float) and not math.isfinite(v): continue
        json.dumps(v).encode().decode()
        if any(0xd800 <= ord(c) < 0xe000 for c in json.dumps(v, ensure_ascii=False)): continue
        out.append({"text": t, "value": v, "true": bool(v)})
    except ValueError as e: out.append({"text": t, "error": str(e)})
json.dump(out, open(__file__.replace(".py", ".json"), "w"), indent=0, ensure_ascii=True)
