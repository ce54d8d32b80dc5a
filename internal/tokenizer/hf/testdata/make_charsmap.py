#!/usr/bin/env python3
"""Prints the precompiled_charsmap of make_random.mjs and make_corners.mjs: SentencePiece (0.1.97) compiles it of a few rules.

    python3 make_charsmap.py              # or with the name of one of its own, as nmt_nfkc

A rule is the characters of a text and what takes their place, in hexadecimal numbers.
"""
import base64, io, sys, tempfile
import sentencepiece

RULES = "41\t61\n41 301\t61 62 63\nFB01\t66 69\n200B\t\n65 301\tE9\n1F642\t3A 29\nDF\t73 73\n61 62\t78\n3000\t20\nA\t20\nD\t\n"


def varint(data, at):
    n = shift = 0
    while True:
        n |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return n, at


def field(data, wanted):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            _, at = varint(data, at)
        elif key & 7 == 2:
            n, at = varint(data, at)
            if key >> 3 == wanted:
                return data[at:at + n]
            at += n
        else:
            at += {1: 8, 5: 4}[key & 7]


with tempfile.NamedTemporaryFile("w", suffix=".tsv") as rules:
    rules.write(RULES)
    rules.flush()
    model = io.BytesIO()
    how = {"normalization_rule_name": sys.argv[1]} if len(sys.argv) > 1 else {"normalization_rule_tsv": rules.name}
    sentences = ["hello world this is a text", "the quick brown fox jumps"] * 50
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(sentences), model_writer=model, vocab_size=36, hard_vocab_limit=False, minloglevel=2, **how)
print(base64.b64encode(field(field(model.getvalue(), 3), 2)).decode())
