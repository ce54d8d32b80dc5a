"""Makes mutated.json.gz: right answers to questions of BFCL with seeded changes, and what the official checker says of them.

Needs: pip install --no-deps bfcl-eval==2026.3.23; a checkout of mlcommons/endpoints ea332753 in EP.
Run: EP=~/endpoints python make_mutated.py

The checker's table of models, which imports the client of each vendor, is replaced by the one entry that the scorer of
mlcommons/endpoints names; its extractor is taken from its file without the package around it.
"""
import ast, copy, gzip, json, os, pathlib, random, re, sys, types

table = types.ModuleType("bfcl_eval.constants.model_config")
NAME = "gpt-4o-2024-11-20-FC"
table.MODEL_CONFIG_MAPPING = {NAME: types.SimpleNamespace(underscore_to_dot=True)}
sys.modules[table.__name__] = table
import bfcl_eval
from bfcl_eval.constants.enums import Language
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker

DATA = pathlib.Path(bfcl_eval.__file__).parent / "data"
source = pathlib.Path(os.environ["EP"], "src/inference_endpoint/evaluation/extractor.py").read_text()
body = [n for n in ast.parse(source).body if isinstance(n, (ast.Import, ast.Assign)) or isinstance(n, ast.ImportFrom) and not n.level
        and not n.module.startswith("inference_endpoint") or isinstance(n, ast.ClassDef) and n.name in ("Extractor", "FunctionCallExtractor")]
space = {}
exec(compile(ast.Module(body, []), "extractor", "exec"), space)
extractor = space["FunctionCallExtractor"]

SUBSETS = ["simple_python", "simple_java", "simple_javascript", "multiple", "parallel", "parallel_multiple", "live_simple", "live_parallel",
           "irrelevance"]
LANGUAGES = {"simple_java": Language.JAVA, "simple_javascript": Language.JAVASCRIPT}


def rows(subset):
    read = lambda path: [json.loads(line) for line in path.open() if line.strip()]
    name, truths = f"BFCL_v4_{subset}.json", {}
    if (DATA / "possible_answer" / name).exists():
        truths = {t["id"]: t["ground_truth"] for t in read(DATA / "possible_answer" / name)}
    return [(subset, {**row, "ground_truth": truths.get(row["id"])}) for row in read(DATA / name)]


def plain(value):
    """The first possible value, without the lists around values of keys."""
    if isinstance(value, dict) and all(isinstance(v, list) for v in value.values()):
        return {k: plain([x for x in v if x != ""][0]) for k, v in value.items() if [x for x in v if x != ""]}
    if isinstance(value, list):
        return [plain(v) if isinstance(v, dict) else v for v in value]
    return value


def literal(value, kind, items, java):
    """A value as a literal of Java or JavaScript."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value}L" if kind == "long" else f"{value}n" if kind == "Bigint" else str(value)
    if isinstance(value, list):
        inside = ", ".join(f'"{v}"' if isinstance(v, str) and (not java or items == "String") else literal(v, items, None, java) for v in value)
        if not java:
            return f"[{inside}]"
        return f"new ArrayList<>(Arrays.asList({inside}))" if kind == "ArrayList" else "new Object[]{" + inside + "}"
    if isinstance(value, dict):
        pairs = [(k, f'"{v}"' if isinstance(v, str) else literal(v, None, None, java)) for k, v in value.items()]
        if java:
            return "new HashMap<>() {{ " + " ".join(f'put("{k}", {v});' for k, v in pairs) + " }}"
        return "{" + ", ".join(f"'{k}': {v}" for k, v in pairs) + "}"
    return str(value)


def right(subset, row):
    calls = []
    for truth in row["ground_truth"] or []:
        name = list(truth)[0]
        arguments = {k: plain([v for v in values if v != ""][0]) for k, values in truth[name].items() if [v for v in values if v != ""]}
        if subset in LANGUAGES:
            described = row["function"][0]["parameters"]["properties"]
            arguments = {k: literal(v, described[k]["type"], described[k].get("items", {}).get("type"), subset == "simple_java") if k in described else v
                         for k, v in arguments.items()}
        calls.append({"name": name.replace(".", "_"), "arguments": arguments})
    return calls or [{"name": row["function"][0]["name"].replace(".", "_") if row["function"] else "f", "arguments": {"x": 1}}]


OTHER = [None, True, 0, 1, -1, 1.0, 2.5, "", "a", "true", "1", [], [1], ["a"], {}, {"a": 1}, [[1]], [{}], 1e30, 12345678901234567890]


def changed(rng, value):
    """A value with a change that the checker may or may not see."""
    choices = [rng.choice(OTHER), str(value), [value]]
    if isinstance(value, str):
        choices += [value.upper(), value + ".", value.replace(" ", ""), value + "x", value[:-1], value.replace("'", '"'), f"'{value}'", f'"{value}"',
                    value + "\n", value.replace(",", ", ").replace("(", "( "), value.replace("new ", "").replace("L", "")]
    elif isinstance(value, bool):
        choices += [not value, int(value)]
    elif isinstance(value, int):
        choices += [float(value), value + 1, -value, value + 0.5, bool(value)]
    elif isinstance(value, float):
        choices += [int(value), value + 1]
    elif isinstance(value, list) and value:
        choices += [value[::-1], value[:-1], value + value[:1], [str(v) for v in value], [changed(rng, value[0])] + value[1:], json.dumps(value)]
    elif isinstance(value, dict) and value:
        key = rng.choice(list(value))
        choices += [{k: v for k, v in value.items() if k != key}, {**value, key: changed(rng, value[key])}, {**value, key + "_": 1}]
    return rng.choice(choices)


def mutated(rng, calls):
    calls = copy.deepcopy(calls)
    for _ in range(rng.choice([0, 1, 1, 1, 2])):
        call = rng.choice(calls)
        arguments, how = call["arguments"], rng.randrange(9)
        if how == 0:
            call["name"] = rng.choice([call["name"] + "x", call["name"].upper(), "", None])
        elif how == 1 and isinstance(arguments, dict) and arguments:
            del arguments[rng.choice(list(arguments))]
        elif how == 2 and isinstance(arguments, dict):
            arguments["unheard_of"] = rng.choice(OTHER)
        elif how == 3:
            rng.shuffle(calls)
        elif how == 4:
            calls = rng.choice([calls + calls[:1], calls[:-1] or calls])
        elif how == 5 and rng.random() < 0.2:
            call["arguments"] = rng.choice([[1], "text", 5, None, '{"a": 1}'])
        elif isinstance(arguments, dict) and arguments:
            key = rng.choice(list(arguments))
            arguments[key] = changed(rng, arguments[key])
    return calls


def written(rng, calls):
    """Calls as an answer has them: calls of tools, a plain list, or Python."""
    how = rng.randrange(10)
    if how < 5:
        return json.dumps([{"type": "function", "function": {"name": c["name"], "arguments": json.dumps(c["arguments"])}} for c in calls])
    if how == 5:
        return json.dumps(calls)
    texts = []
    for c in calls:
        arguments = c["arguments"] if isinstance(c["arguments"], dict) else {}
        values = [rng.choice([repr, repr, repr, str, json.dumps])(v) for v in arguments.values()]
        texts.append(f"{c['name']}({rng.choice([', ', ',', ',  '])}".rstrip(", ") + ", ".join(f"{k}={v}" for k, v in zip(arguments, values)) + ")")
    return rng.choice(["{}", "Sure (of course): {}.", "```python\n{}\n```", "print({})", "[{}]"]).format(", ".join(texts))


def verdict(subset, row, output):
    try:
        calls = json.loads(extractor.extract(output, default="[]"))
        if subset == "irrelevance":
            native = extractor.has_native_tool_calls(output)
            return not native, "hallucination" if native else None
        checked = []
        for c in calls:
            arguments = c["arguments"]
            if isinstance(arguments, str):
                try:
                    arguments = json.loads(arguments)
                except ValueError:
                    arguments = {}
            checked.append({c["name"]: arguments})
        result = ast_checker(row["function"], checked, row["ground_truth"], LANGUAGES.get(subset, Language.PYTHON), subset, NAME)
    except Exception as e:
        return None, type(e).__name__
    return result["valid"], None if result["valid"] else result["error_type"]


rng = random.Random(20261130)
questions = {subset: rows(subset) for subset in SUBSETS}
cases = []
for n in range(600):
    subset, row = rng.choice(questions[SUBSETS[n % len(SUBSETS)]])
    output = written(rng, mutated(rng, right(subset, row)))
    valid, why = verdict(subset, row, output)
    cases.append({"subset": subset, "id": row["id"], "output": output, "valid": valid, "error_type": why, "function": row["function"],
                  "ground_truth": row["ground_truth"]})
with open(pathlib.Path(__file__).parent / "mutated.json.gz", "wb") as f:
    with gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(json.dumps(cases).encode())
