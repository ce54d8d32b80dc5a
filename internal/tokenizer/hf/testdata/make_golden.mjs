// Writes golden.json.gz: small tokenizers of every kind that a language model has, texts of all
// scripts, and what HuggingFace's tokenizers (npm package tokenizers 0.23.2, the library itself)
// make of them.
//
//     npm install tokenizers@0.23.2 && node make_golden.mjs [SEED TEXTS FILE]
//
// The vocabularies are learnt here from sentences.txt, by merging the most frequent pair.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import path from "node:path";

const { Tokenizer } = createRequire(path.join(process.cwd(), "x.js"))("tokenizers");
const here = import.meta.dirname;
const [seed, count, out] = process.argv.length > 2 ? [+process.argv[2], +process.argv[3], process.argv[4]] : [5, 45, here + "/golden.json.gz"];
let state = seed >>> 0;
const random = (n) => { // mulberry32
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), 1 | state);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) % n;
};
const pick = (list) => list[random(list.length)];

const sentences = readFileSync(here + "/sentences.txt", "utf8").trim().split("\n");

// --- vocabularies ---
const byteChars = (() => {
  const chars = []; let next = 256;
  for (let b = 0; b < 256; b++) chars.push(String.fromCodePoint((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174 ? b : next++));
  return chars;
})();
const toBytes = (text) => [...Buffer.from(text)].map((b) => byteChars[b]);

// learn merges pairs of words, which are lists of symbols.
function learn(words, vocab, n) {
  const merges = [];
  while (merges.length < n) {
    const counts = new Map();
    for (const w of words) for (let i = 0; i + 1 < w.length; i++) { const k = w[i] + "\x00" + w[i + 1]; counts.set(k, (counts.get(k) || 0) + 1); }
    let best = null, most = 1;
    for (const [k, c] of counts) if (c > most || (c === most && best !== null && k < best)) { best = k; most = c; }
    if (best === null) break;
    const [a, b] = best.split("\x00"), joined = a + b;
    merges.push([a, b]);
    if (!(joined in vocab)) vocab[joined] = Object.keys(vocab).length;
    for (const w of words) for (let i = 0; i + 1 < w.length; i++) if (w[i] === a && w[i + 1] === b) w.splice(i, 2, joined);
  }
  return merges;
}
const add = (vocab, token) => { if (!(token in vocab)) vocab[token] = Object.keys(vocab).length; };

function byteLevel(n, suffix = "") {
  const vocab = {};
  byteChars.forEach((c) => add(vocab, c));
  if (suffix) byteChars.forEach((c) => add(vocab, c + suffix));
  const words = sentences.flatMap((s) => s.match(/ ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+/gu).map((w) => toBytes(suffix ? w.trim() : w))).filter((w) => w.length);
  if (suffix) words.forEach((w) => (w[w.length - 1] += suffix));
  const merges = learn(words, vocab, n);
  return { vocab, merges };
}
function spaced(n) { // SentencePiece's BPE
  const vocab = {};
  ["<unk>", "<s>", "</s>"].forEach((t) => add(vocab, t));
  for (let b = 0; b < 256; b++) add(vocab, "<0x" + b.toString(16).toUpperCase().padStart(2, "0") + ">");
  const words = sentences.flatMap((s) => s.split(" ").map((w) => ["▁", ...w]));
  const counts = {};
  words.flat().forEach((c) => (counts[c] = (counts[c] || 0) + 1));
  Object.keys(counts).filter((c) => counts[c] > 2).sort().forEach((c) => add(vocab, c));
  const merges = learn(words.map((w) => w.filter((c) => c in vocab)), vocab, n);
  return { vocab, merges };
}
const gpt2 = byteLevel(500), clip = byteLevel(300, "</w>"), llama = spaced(500);
const special = (id, content, more = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });
const size = (m) => Object.keys(m.vocab || m).length;
const bpe = (m, more = {}) => ({ type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, vocab: m.vocab, merges: m.merges, ...more });
const json = (more) => ({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...more });
const byte = (more = {}) => ({ type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true, ...more });
const split = (Regex, behavior = "Isolated", invert = false) => ({ type: "Split", pattern: { Regex }, behavior, invert });
const llama3Pattern = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";
const cl100k = "'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"; // as newer files have it
const o200k = ["[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
  "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?", "\\p{N}{1,3}", " ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*", "\\s*[\\r\\n]+", "\\s+(?!\\S)", "\\s+"].join("|");
const template = (before, after) => ({
  type: "TemplateProcessing",
  single: [...before.map(([id]) => ({ SpecialToken: { id, type_id: 0 } })), { Sequence: { id: "A", type_id: 0 } }, ...after.map(([id]) => ({ SpecialToken: { id, type_id: 0 } }))],
  pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }],
  special_tokens: Object.fromEntries([...before, ...after].map(([id, n]) => [id, { id, ids: [n], tokens: [id] }])),
});
const llamaTokens = [special(0, "<unk>"), special(1, "<s>"), special(2, "</s>")];
const llamaDecoder = { type: "Sequence", decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }, { type: "Strip", content: " ", start: 1, stop: 0 }] };
const llamaModel = (more = {}) => bpe(llama, { unk_token: "<unk>", fuse_unk: true, byte_fallback: true, ...more });
const metaspace = (more = {}) => ({ type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true, ...more });
const n = size(gpt2);
const levels = (pre, more = {}) => json({ pre_tokenizer: pre, model: bpe(gpt2, { unk_token: "Ġ" }), ...more });

const tokenizers = {
  "gpt-j": json({ added_tokens: [special(n, "<|endoftext|>", { normalized: true }), special(n + 1, "<|extratoken_1|>", { special: false, lstrip: true }), special(n + 2, "the", { special: false, single_word: true, normalized: true })],
    pre_tokenizer: byte(), post_processor: byte(), decoder: byte(), model: bpe(gpt2) }),
  "gpt-2 with a blank before": json({ pre_tokenizer: byte({ add_prefix_space: true }), decoder: byte(), model: bpe(gpt2) }),
  "llama-3": json({ added_tokens: [special(n, "<|begin_of_text|>"), special(n + 1, "<|eot_id|>"), special(n + 2, "<|eot|>", { rstrip: true })],
    pre_tokenizer: { type: "Sequence", pretokenizers: [split(llama3Pattern), byte({ use_regex: false })] },
    post_processor: { type: "Sequence", processors: [byte(), template([["<|begin_of_text|>", n]], [])] }, decoder: byte(), model: bpe(gpt2, { ignore_merges: true }) }),
  "qwen-2": json({ added_tokens: [special(n, "<|im_end|>")], normalizer: { type: "NFC" },
    pre_tokenizer: { type: "Sequence", pretokenizers: [split(llama3Pattern.replace("{1,3}", "")), byte({ use_regex: false })] }, post_processor: byte(), decoder: byte(), model: bpe(gpt2) }),
  "gpt-oss": json({ pre_tokenizer: { type: "Sequence", pretokenizers: [split(o200k), byte({ use_regex: false })] }, decoder: byte(), model: bpe(gpt2) }),
  "deepseek": json({ pre_tokenizer: { type: "Sequence", pretokenizers: [split("[\\r\\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), { type: "Digits", individual_digits: true }, byte({ use_regex: false })] },
    decoder: byte(), model: bpe(gpt2) }),
  "whisper": json({ added_tokens: [special(n, "<|endoftext|>"), special(n + 1, "<|startoftranscript|>"), special(n + 2, "<|en|>"), special(n + 3, "<|transcribe|>"), special(n + 4, "<|notimestamps|>"),
      ...Array.from({ length: 20 }, (_, i) => special(n + 5 + i, "<|" + (i * 0.02).toFixed(2) + "|>", { special: false }))],
    pre_tokenizer: byte(), post_processor: template([["<|startoftranscript|>", n + 1], ["<|notimestamps|>", n + 4]], [["<|endoftext|>", n]]), decoder: byte(), model: bpe(gpt2, { unk_token: "<|endoftext|>", vocab: { ...gpt2.vocab, "<|endoftext|>": n } }) }),
  "llama-2": json({ added_tokens: llamaTokens, normalizer: { type: "Sequence", normalizers: [{ type: "Prepend", prepend: "▁" }, { type: "Replace", pattern: { String: " " }, content: "▁" }] },
    post_processor: template([["<s>", 1]], []), decoder: llamaDecoder, model: llamaModel() }),
  "mixtral": json({ added_tokens: llamaTokens, pre_tokenizer: metaspace({ prepend_scheme: "first", split: false }), post_processor: template([["<s>", 1]], [["</s>", 2]]), decoder: llamaDecoder, model: llamaModel() }),
  "llama-2 without bytes": json({ added_tokens: llamaTokens, pre_tokenizer: metaspace(), decoder: metaspace(), model: llamaModel({ byte_fallback: false, fuse_unk: false }) }),
  "unknown joined": json({ added_tokens: llamaTokens, pre_tokenizer: metaspace({ prepend_scheme: "never" }), decoder: metaspace({ prepend_scheme: "never" }), model: llamaModel({ byte_fallback: false }) }),
  "clip": json({ pre_tokenizer: { type: "Sequence", pretokenizers: [split("'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", "Removed", true), byte({ use_regex: false })] }, model: bpe(clip, { end_of_word_suffix: "</w>" }) }),
  "gemma": json({ normalizer: { type: "Replace", pattern: { String: " " }, content: "▁" }, pre_tokenizer: { type: "Split", pattern: { String: " " }, behavior: "MergedWithPrevious", invert: false },
    decoder: { type: "Sequence", decoders: [{ type: "Replace", pattern: { String: "▁" }, content: " " }, { type: "ByteFallback" }, { type: "Fuse" }] }, model: llamaModel() }),
  "phi-4": levels({ type: "Sequence", pretokenizers: [split(cl100k), byte({ use_regex: false })] }, { decoder: byte() }),
  "forms of Unicode": json({ normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }, { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }, { type: "NFD" }] }, pre_tokenizer: metaspace(), decoder: metaspace(), post_processor: template([], [["</s>", 2]]), model: llamaModel() }),
  "removed": levels({ type: "Sequence", pretokenizers: [split("[aeiou]+|\\d", "Removed"), byte({ use_regex: false })] }),
  "contiguous": levels({ type: "Sequence", pretokenizers: [{ type: "Split", pattern: { String: "a" }, behavior: "Contiguous", invert: false }, byte({ use_regex: false })] }),
  "merged with previous": levels({ type: "Sequence", pretokenizers: [split("\\p{P}", "MergedWithPrevious"), byte({ use_regex: false })] }),
  "merged with next": levels({ type: "Sequence", pretokenizers: [split("\\s", "MergedWithNext"), byte({ use_regex: false })] }),
  "merged with next, inverted": levels({ type: "Sequence", pretokenizers: [split("\\s+", "MergedWithNext", true), byte({ use_regex: false })] }),
  "marks and digits": levels({ type: "Sequence", pretokenizers: [{ type: "Punctuation", behavior: "Contiguous" }, { type: "Digits", individual_digits: false }, byte({ use_regex: false })] }),
};

// --- texts ---
const odd = ["", " ", "  ", "\n", "\r\n", "\t \n\n  x", "a\u00a0b", "\u3000", "\u0085", "\u200b", "\ufeff", "x\u0301", "e\u0301\u0323", "İstanbul ISTANBUL ıi", "ΣΑΣ σας", "ß ẞ ſ", "ﬁ ﬂ ﬃ", "①②③ ½ ⅷ ٣٤٥ १२३ ๑๒", "'S 'ſ 'LL 'll't I'M we'Re x'd'D",
  "don't   you'll  12345 67", "🙂👩‍👩‍👧🏽🇩🇪", "<s></s> <unk>", "<|endoftext|>x<|extratoken_1|>  y  <|extratoken_1|>", "the then the, theory.the", "a <|eot_id|> b <|eot|>  c", "<|startoftext|> A <|0.02|><|0.1|> <|en|>", "[CLS] hello [SEP]world[MASK]", "▁▁ a▁b ▁", "<0x0A><0xFF>", "\u0000\u0001\u007f\ufffd",
  "def f(x):\n    return x ** 2  # ok\n\n\n", "http://example.org/a?b=c&d=%20", "你好，世界。今天天气很好！", "日本語とカタカナ、ひらがな。", "한국어 문장입니다.", "𝔘𝔫𝔦 𐍈 𠀀𠀁", "\u1e9b\u0323", "ＡＢＣ１２３", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "-- __ ** '' \"\" `` ...", " leading", "trailing ", " \u2028x\u2029", "ab".repeat(60)];
const ranges = [[0x20, 0x7e], [0x20, 0x7e], [0xa0, 0x17f], [0x300, 0x36f], [0x370, 0x3ff], [0x400, 0x4ff], [0x531, 0x556], [0x5d0, 0x5ea], [0x621, 0x669], [0x904, 0x96f], [0xe01, 0xe5b], [0xf00, 0xf47], [0x10a0, 0x10ff], [0x1100, 0x11ff], [0x13a0, 0x13f5],
  [0x1e00, 0x1eff], [0x2000, 0x206f], [0x20a0, 0x20bf], [0x2150, 0x218b], [0x2190, 0x21ff], [0x2460, 0x24ff], [0x3000, 0x303f], [0x3041, 0x30ff], [0x4e00, 0x9fef], [0xac00, 0xd7a3], [0xf900, 0xfa6d], [0xfb00, 0xfb06], [0xfe30, 0xfe4f], [0xff01, 0xffdc], [0x10400, 0x1044f], [0x1d400, 0x1d454], [0x1f300, 0x1f64f], [0x20000, 0x20010]];
const glue = [" ", " ", " ", "  ", "", "\n", "\t", " \n ", "'", "-", ". ", ", ", "\u00a0"];
const word = () => {
  const k = random(10);
  if (k < 4) return pick(pick(sentences).split(" "));
  if (k < 5) return pick(odd);
  if (k < 6) return String(random(1e6));
  if (k < 7) return pick(pick(sentences).split(" ")).toUpperCase();
  const [low, high] = pick(ranges);
  return Array.from({ length: 1 + random(5) }, () => String.fromCodePoint(low + random(high - low + 1))).join("");
};
const texts = [...odd, ...sentences.slice(0, 20), ...Array.from({ length: count }, () => Array.from({ length: 1 + random(12) }, () => word() + pick(glue)).join(""))]
  .filter((t) => /^[\p{Assigned}]*$/u.test(t));

const cases = {};
for (const [name, file] of Object.entries(tokenizers)) {
  let t;
  try { t = Tokenizer.fromString(JSON.stringify(file)); } catch (e) { throw new Error(name + ": " + e.message); }
  if (process.env.VERBOSE) console.error(name);
  cases[name] = [];
  for (const text of texts) {
    const ids = (await t.encode(text)).getIds(), plain = (await t.encode(text, null, { addSpecialTokens: false })).getIds();
    cases[name].push([ids, plain, await t.decode(ids, true), await t.decode(ids, false)]);
  }
  const limit = t.getVocabSize();
  cases[name].push(...(await Promise.all(Array.from({ length: 12 }, async () => { // tokens at random: bytes that are no text
    const ids = Array.from({ length: 1 + random(12) }, () => random(limit)).filter((id) => t.idToToken(id) !== null);
    return [ids, null, await t.decode(ids, true), await t.decode(ids, false)];
  }))));
}
writeFileSync(out, gzipSync(JSON.stringify({ tokenizers, texts, cases }), { level: 9 }));
