#!/usr/bin/env python3
"""Writes gptoss_table.txt: what language/gpt-oss-120b/eval_mlperf_accuracy.py of mlcommons/inference (b66003e1)
prints of one of two right answers to gpqa_diamond and none of one to aime25. Its lines from the counts on are run
as they are, without what loads models and logs.

    make_gptoss_table.py eval_mlperf_accuracy.py > gptoss_table.txt
"""
import sys
import textwrap

source = open(sys.argv[1]).read().split("\n")
at = lambda text: next(i for i, line in enumerate(source) if text in line)
exec("\n".join(source[at("DATASET_REPEATS ="):][:5]))
dataset_stats = {"gpqa_diamond": {"correct": 1, "total": 2}, "aime25": {"correct": 0, "total": 1}}
exec(textwrap.dedent("\n".join(source[at("total_correct = sum"):at("Save detokenized outputs to pickle if requested")])))
