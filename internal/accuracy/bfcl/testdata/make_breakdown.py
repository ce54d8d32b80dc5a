"""Makes breakdown.json: how the scorer of mlcommons/endpoints adds up the answers of cases.json, all of them and without each seventh.

Needs: pip install --no-deps bfcl-eval==2026.3.23 and the packages of mlcommons/endpoints ea332753, whose checkout is in EP.
Run: EP=~/endpoints python make_breakdown.py
"""
import asyncio, json, os, pathlib, sys, types

table = types.ModuleType("bfcl_eval.constants.model_config")
table.MODEL_CONFIG_MAPPING = {"gpt-4o-2024-11-20-FC": types.SimpleNamespace(underscore_to_dot=True)}
sys.modules[table.__name__] = table
asyncio.eager_task_factory = getattr(asyncio, "eager_task_factory", None)  # Python 3.11
sys.path.insert(0, os.environ["EP"] + "/src")
import pandas as pd
from inference_endpoint.evaluation.bfcl_v4_scorer import BFCLv4Scorer
from inference_endpoint.evaluation.extractor import FunctionCallExtractor

here = pathlib.Path(__file__).parent
cases = json.loads((here / "cases.json").read_text())
frame = pd.DataFrame([{"subset": c["subset"], "ground_truth": json.dumps(c["ground_truth"]), "func_description": json.dumps(c["function"])} for c in cases])
made = {}
for name, left_out in (("all", 0), ("missing", 7)):
    scorer = BFCLv4Scorer.__new__(BFCLv4Scorer)
    scorer.extractor, scorer.ground_truth_column, scorer._breakdown = FunctionCallExtractor, "ground_truth", None
    scorer.dataset = types.SimpleNamespace(dataframe=frame, num_samples=lambda: len(frame))
    scorer.sample_index_map = {str(i): i for i in range(len(cases))}
    outputs = [{"sample_uuid": str(i), "output": c["output"]} for i, c in enumerate(cases) if not left_out or i % left_out]
    scorer.get_scoring_outputs = lambda: pd.DataFrame(outputs)
    score, _ = scorer.score()
    made[name] = {"score": score, "breakdown": scorer.score_breakdown()}
(here / "breakdown.json").write_text(json.dumps(made, indent=1) + "\n")
