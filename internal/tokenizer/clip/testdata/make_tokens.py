"""Makes vocab.json, merges.txt and cases.json: a small tokenizer in the form of CLIP's, and what
it makes of texts.

    PYTHONPATH=… /usr/bin/python3 make_tokens.py

Needs Debian's python3-regex, and on PYTHONPATH ftfy 6 (github.com/rspeer/python-ftfy), which
the reference's environment has. With CLIP_VOCABULARY=bpe_simple_vocab_16e6.txt.gz (of
github.com/openai/CLIP) and CAPTIONS=captions_source.tsv it writes the same for the real
vocabulary and the captions of the benchmark, into the folder of CLIP_OUT.
"""
import collections
import csv
import gzip
import html
import json
import os

import ftfy
import regex

TEXT = """
a man riding a wave on top of a surfboard. two dogs are standing in the snow next to a fence, and a cat's tail is
seen behind it! the street sign says "stop" in white letters; it's 10:30 and we'll see what they've got, i'm sure.
a plate of food with broccoli, carrots, and rice on it. people standing around a kitchen counter with a cake that is
decorated with 24 candles. a red fire hydrant isn't painted; they're blue & green elsewhere. she'd said that it was
eine straße in münchen bei nacht mit lichtern. un café près de la gare où l'on boit du thé. улица с машинами ночью.
дом у реки с лодками и людьми. 夜の街を歩く人々。 猫が窓の外を見ている。 한 남자가 파도를 타고 있다. رجل يركب الموج. 
एक आदमी लहर पर सवार है। ο σκύλος τρέχει στην παραλία. the man the man the dog the street the sign a man a dog a cat
"""

TEXTS = [
    "", " ", "a", "A man riding a wave.", "Two  dogs\tare\nstanding   in the snow", "IT'S 10:30, WE'LL SEE!",
    "they've i'm she'd isn't l'on 'tis o'clock 'S 'Re", "wow!!! what?! ...and--then", "cake decorated with 24 candles 1234567890 ½ ② ٣",
    "black &amp; white", "a &lt;b&gt; c", "a <b> &amp; c", "&amp;amp;", "&EACUTE; &eacute; &#233; &#xe9; &nosuch; &notit; &#0; &#x110000; &#", "S&B train",
    "“curly” ‘quotes’ ʼn", "ﬁre ﬂy ﬃ ǅ ĳ ﬅ", "ＦＵＬＬ　ｗｉｄｔｈ １２", "tab\x0bfeed\x0cpage\x1cfile\x1funit\x7fdel", "bell\x07 esc \x1b[31mred\x1b[0m \x1b[2J",
    "line\r\nnext\rmac\u2028sep\u2029par\u0085nel", "zero\u200bwidth \ufeffbom soft\u00adhyphen a\u00a0b\u3000c", "cafe\u0301 Å Å ﷺ",
    "STRASSE Straße ΣΊΣΥΦΟΣ İstanbul ǅ", "улица с МАШИНАМИ", "夜の街 猫が 한 남자가", "رجل يركب الموج", "एक आदमी", "👩‍👩‍👧 🐕🐕 ❤️", "\U0001f1e9\U0001f1ea \U00020000",
    "x" * 200, "the man " * 100, "a!b!c !", "!", "!!", "the <|endoftext|> of it", "<|startoftext|>", "<|ENDOFTEXT|>", "a<|endoftext|>!b", "< | >",
    "_under_score_ a_b 3d-unet x²y", "\u0301 alone", "a\u0000b", "\ud7ff \ue000", "naïve façade jalapeño", "it''s ''", "100% $5.00 #1 @home (a/b) [c] {d}",
]


def byte_characters():
    seen = [*range(ord("!"), ord("~") + 1), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    order, to = list(seen), {b: chr(b) for b in seen}
    for b in range(256):
        if b not in to:
            to[b] = chr(256 + len(order) - len(seen))
            order.append(b)
    return order, to


ORDER, TO = byte_characters()
WORDS = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+")
SPECIAL = ["<|startoftext|>", "<|endoftext|>"]


def clean(text, web=False):
    text = ftfy.fix_text(text)
    if web:
        text = html.unescape(html.unescape(text))
    return regex.sub(r"\s+", " ", text).strip().lower()


def symbols(word):
    chars = [TO[b] for b in word.encode("utf-8")]
    return chars[:-1] + [chars[-1] + "</w>"]


def join(parts, pair):
    out, i = [], 0
    while i < len(parts):
        if i + 1 < len(parts) and (parts[i], parts[i + 1]) == pair:
            out.append(parts[i] + parts[i + 1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out


def train(text, count):
    words = collections.Counter(tuple(symbols(w)) for w in WORDS.findall(clean(text)))
    merges = []
    while len(merges) < count:
        pairs = collections.Counter()
        for word, n in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += n
        if not pairs:
            break
        best = min(pairs, key=lambda p: (-pairs[p], p))
        merges.append(best)
        words = collections.Counter({tuple(join(list(w), best)): n for w, n in words.items()})
    return merges


class Tokenizer:
    def __init__(self, merges):
        tokens = [TO[b] for b in ORDER]
        tokens += [t + "</w>" for t in tokens] + ["".join(m) for m in merges] + SPECIAL
        self.ids = {t: i for i, t in enumerate(tokens)}
        assert len(self.ids) == len(tokens)
        self.ranks = {m: i for i, m in enumerate(merges)}

    def word(self, word):
        parts = symbols(word)
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda p: self.ranks.get(p, len(self.ranks)))
            if best not in self.ranks:
                break
            parts = join(parts, best)
        return [self.ids[p] for p in parts]

    def text(self, text, web=False):
        return [i for w in WORDS.findall(clean(text, web)) for i in self.word(w)]

    def encode(self, text, specials, pad, web=False):
        ids = []
        for part in regex.split("(" + "|".join(map(regex.escape, specials)) + ")", text) if specials else [text]:
            ids += [self.ids[part]] if part in specials else self.text(part, web)
        ids = [self.ids[SPECIAL[0]]] + ids[:75] + [self.ids[SPECIAL[1]]]
        return ids + [pad] * (77 - len(ids))


def captions():
    path = os.environ.get("CAPTIONS")
    if not path:
        return TEXTS
    with open(path, newline="", encoding="utf-8") as f:
        return TEXTS + [row["caption"] for row in csv.DictReader(f, delimiter="\t")]


def main():
    out = os.environ.get("CLIP_OUT", ".")
    real = os.environ.get("CLIP_VOCABULARY")
    if real:
        lines = gzip.open(real).read().decode("utf-8").split("\n")
        merges = [tuple(line.split()) for line in lines[1:49152 - 256 - 2 + 1]]
    else:
        merges = train(TEXT, 300)
    t = Tokenizer(merges)
    end = t.ids[SPECIAL[1]]
    cases = [{
        "text": text,
        "first": t.encode(text, SPECIAL, end),
        "second": t.encode(text, SPECIAL + ["!"], t.ids["!"]),
        "open": t.encode(text, [], 0, web=True),
    } for text in captions()]
    with open(os.path.join(out, "vocab.json"), "w", encoding="utf-8") as f:
        json.dump(t.ids, f, ensure_ascii=False)
    with open(os.path.join(out, "merges.txt"), "w", encoding="utf-8") as f:
        f.write("#version: 0.2\n" + "".join(" ".join(m) + "\n" for m in merges))
    with open(os.path.join(out, "cases.json"), "w", encoding="utf-8") as f:
        json.dump(cases, f, separators=(",", ":"))


main()
