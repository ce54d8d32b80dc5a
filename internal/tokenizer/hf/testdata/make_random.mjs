// Writes random.json.gz: tokenizers put together at random of all components that this package knows, and what
// HuggingFace's tokenizers makes of random texts with them.
//
//     npm install tokenizers@0.23.2 && node make_random.mjs [SEED COUNT FILE]
//
// Each tokenizer has a process of its own, as some end the library with a panic; those are left out, and so is what
// doc.go says is otherwise here: decoded tokens that are normalized.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import path from "node:path";

const { Tokenizer } = createRequire(path.join(process.cwd(), "x.js"))("tokenizers");
const [seed, count, out, index] = process.argv.length > 3 ? [+process.argv[2], +process.argv[3], process.argv[4], process.argv[5]] : [7, 130, import.meta.dirname + "/random.json.gz"];
let state = (seed * 1000003 + (index || 0) * 7919) >>> 0; // mulberry32
const random = (n) => { state = (state + 0x6d2b79f5) >>> 0; let t = Math.imul(state ^ (state >>> 15), 1 | state); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t; return ((t ^ (t >>> 14)) >>> 0) % n; };
const pick = (l) => l[random(l.length)], yes = (n = 2) => random(n) === 0;
const alpha = ["a","a","b","b","c","A","B","1","2"," "," ","\n","\t",".",",","'","_","é","e\u0301","ß","İ","Σ","你","好","🙂","▁","<","0","x",">","-","\u00a0","\u3000","\u200d","\u0000","ﬁ","½","²","ǅ","한","ก","ำ","़","\u0085","\u200b","+","$","~","｡","ſ","K"];
const charsmap = "AAQAAAAsAAAKDQAAAQAAgAAAAICBDQAABgAAgA0VAAAIAACAYgUAABIAAIDMAAIAgR0AABQAAICfDQAADwAAgIBQAgCLTQAAgAgCAKwcAgCARQAAgQUAAAwAAICfYAIAmTQCAIIFAAADAACAGwAAABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABIAAAAQT0BAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABhAAAAagAAAG0AAABsAAAAZaACAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAKMAAACiAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAw2gBAMwwAQDLAAAAygAAAM0AAADMAAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAO9oAQDkAAAA5wAAAOYAAADj5AEA4pgBAOsAAADqAAAA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA+QAAAPgAAAD7AAAA8MgBAP0AAAD8AAAA/wAAAP4AAAAAIAA6KQBhAGFiYwBmaQBzcwB4AMOpAA=="; // of make_charsmap.py
const str = (n) => Array.from({ length: random(n + 1) }, () => pick(alpha)).join("");
const some = (n) => { let s = ""; while (!s) s = str(n); return s; };
const bytes = Array.from({ length: 256 }, (_, b) => "<0x" + b.toString(16).toUpperCase().padStart(2, "0") + ">");
const byteChars = (() => { const c = []; let next = 256; for (let b = 0; b < 256; b++) c.push(String.fromCodePoint((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174 ? b : next++)); return c; })();
const uniq = (l) => [...new Set(l)];
function bpeModel() {
  const prefix = yes(4) ? pick(["##", "@", "a"]) : pick([null, null, ""]), suffix = yes(4) ? pick(["</w>", "#", "b"]) : pick([null, null, ""]);
  const base = uniq(yes() ? byteChars : [...alpha.flatMap((c) => [...c]), ...(yes() ? bytes.filter(() => !yes(9)) : [])].filter(() => !yes(8)));
  let forms = [...base];
  if (prefix) forms.push(...base.map((c) => prefix + c));
  if (suffix) forms.push(...base.map((c) => c + suffix));
  if (prefix && suffix) forms.push(...base.map((c) => prefix + c + suffix));
  forms = uniq(["?", ...forms]);
  const vocab = {}; forms.forEach((t, i) => (vocab[t] = i));
  const merges = [], toks = forms.filter((t) => t != "?");
  const small = toks.filter((t) => /^(##|@)?[abcĠé1.]/.test(t));
  const from = small.length > 3 ? small : toks;
  for (let k = random(40); k > 0; k--) {
    const l = pick(from), r = pick(from);
    if (prefix && !r.startsWith(prefix)) continue;
    const j = l + (prefix ? r.slice(prefix.length) : r);
    if (j.length > 12) continue;
    if (!(j in vocab)) { vocab[j] = Object.keys(vocab).length; from.push(j); }
    merges.push([l, r]);
  }
  return { type: "BPE", dropout: null, unk_token: yes() ? "?" : null, continuing_subword_prefix: prefix, end_of_word_suffix: suffix, fuse_unk: yes(), byte_fallback: yes(), ignore_merges: yes(4), vocab, merges };
}
const wordish = () => { const v = {}; ["?", ...alpha.flatMap((c) => [...c]), ...alpha.map((c) => "##" + c), ...Array.from({ length: 30 }, () => some(4)), ...Array.from({ length: 30 }, () => "##" + some(3))].filter((c) => c === "?" || !yes(6)).forEach((t) => { if (!(t in v)) v[t] = Object.keys(v).length; }); return v; };
const models = [bpeModel, bpeModel, bpeModel,
  () => ({ type: "WordPiece", unk_token: "?", continuing_subword_prefix: pick(["##", "##", "", "@"]), max_input_chars_per_word: pick([100, 100, 3, 5]), vocab: wordish() }),
  () => ({ type: "WordLevel", unk_token: "?", vocab: wordish() }),
  () => ({ type: "Unigram", unk_id: 0, byte_fallback: yes(3), vocab: uniq(["?", ...(yes() ? bytes : []), ...alpha.flatMap((c) => [...c]).filter(() => !yes(6)), ...Array.from({ length: 40 }, () => some(4))]).map((t) => [t, t === "?" ? 0 : -random(200) / 8]) }),
];
const regexes = [...["\\s+", "\\d", "[aeiou]+", "x*", "(?=b)", "\\p{L}+", "\\p{N}{1,2}", " ?[^\\s\\p{L}\\p{N}]+", "\\s+(?!\\S)|\\s+", ".", "[\\r\\n]", "\\p{M}", "a|ab", "(a)(b)?", "[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t)?", "[一-龥]+", "\\p{Han}", "\\S", "\\p{P}", "(?<=a)", "\\p{Sc}|\\p{Sm}", "\\D+"], ...["\\w", "\\W+", "[\\W_]", "[^\\W\\d_]", "\\b", "\\B", "^", "$", "^a", "a$", "(?m:.)", "(?m).+", "(?i:a|é)", "[a-c&&[^b]]", "[a-z&&[^aeiou]&&\\w]", "[^a-z&&[^b]]+", "[ab[12]]", "[^ab[12]]", "a++b", "a*+a", "(?:ab)?+a", "[ab]++b", "\\p{L}{1,2}+", "a{2}?", "a{,2}b", "[\\w.]+", "[^\\w\\s]+", "[\\p{Lu}\\p{M}&&[^\\p{Han}]]|\\p{Han}+", "\\bA\\b", "(?<=\\w)\\s", "(?!\\w)", "{", "a{b", "\\p{N}{1,3}+", "[]a]", "[a\\]]", "\\.+", "\\u0061", "\\x{61}|\\x62", "a|^|b", "(a|b)++", "((a)b?)*+", "[^\\n]$", "\\Aa", "a\\z", "a\\Z", "(?i)A|B", "a(?i)B", "(?-i:a)B","(?<x>a)\\k<x>", "(a)\\1", "[a-]", "[-a]", "[\\b]", "[[a-c]&&[bc]]", "[^[a-c]]", "a{1,2}?b", "a+?b", "a??", "x*$", "[é-ﬁ]", "\\t|\\n", "(?>a+)a", "[[^a]b]", "[a[^b]&&c]"]];
const pattern = () => (yes() ? { String: pick(["a", "ab", " ", "é", "▁", "🙂", "aa", "\u0301"]) } : { Regex: pick(regexes) });
const behavior = () => pick(["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]);
const normalizers = [() => ({ type: pick(["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents"]) }), () => ({ type: "Strip", strip_left: yes(), strip_right: yes() }), () => ({ type: "Prepend", prepend: pick(["▁", "ab", " "]) }),
  () => ({ type: "Replace", pattern: pattern(), content: pick(["", " ", "▁", "ab", "é", "a"]) }), () => ({ type: "BertNormalizer", clean_text: yes(), handle_chinese_chars: yes(), strip_accents: pick([true, false, null]), lowercase: yes() }), () => ({ type: pick(["ByteLevel", "Nmt"]) }), () => ({ type: "Precompiled", precompiled_charsmap: charsmap })];
const pres = [() => ({ type: "ByteLevel", add_prefix_space: yes(), trim_offsets: yes(), use_regex: yes() }), () => ({ type: "Split", pattern: pattern(), behavior: behavior(), invert: yes(4) }),
  () => ({ type: "Metaspace", replacement: pick(["▁", "_"]), prepend_scheme: pick(["always", "first", "never"]), split: yes() }), () => ({ type: pick(["BertPreTokenizer", "Whitespace", "WhitespaceSplit"]) }),
  () => ({ type: "Punctuation", behavior: behavior() }), () => ({ type: "Digits", individual_digits: yes() }), () => ({ type: "CharDelimiterSplit", delimiter: pick([" ", "a", "é"]) })];
const decoders = [() => ({ type: "ByteLevel", add_prefix_space: yes(), trim_offsets: yes(), use_regex: yes() }), () => ({ type: "ByteFallback" }), () => ({ type: "Fuse" }), () => ({ type: "Metaspace", replacement: pick(["▁", "_"]), prepend_scheme: pick(["always", "first", "never"]), split: yes() }),
  () => ({ type: "WordPiece", prefix: pick(["##", "@", ""]), cleanup: yes() }), () => ({ type: "BPEDecoder", suffix: pick(["</w>", "#"]) }), () => ({ type: "Strip", content: pick([" ", "a", "é"]), start: random(3), stop: random(3) }), () => ({ type: "Replace", pattern: pattern(), content: pick(["", " ", "x"]) })];
const oneOf = (kinds, key, name) => {  const k = random(6); if (k === 0) return null; if (k < 4) return pick(kinds)(); const n = 1 + random(3); return { type: "Sequence", [key]: Array.from({ length: n }, () => (yes(6) ? { type: "Sequence", [key]: [pick(kinds)()] } : pick(kinds)())) }; };

async function one() {
  const model = pick(models)();
  const size = Array.isArray(model.vocab) ? model.vocab.length : Object.keys(model.vocab).length;
  const has = (t) => (Array.isArray(model.vocab) ? model.vocab.findIndex(([u]) => u === t) : t in model.vocab ? model.vocab[t] : -1);
  const contents = uniq(Array.from({ length: random(5) }, () => pick([some(3), "<s>", "</s>", " ", "a b", "ab", "the", "é", "A", some(6)])));
  let next = size;
  const added_tokens = contents.map((content) => { const h = has(content); return { id: h >= 0 ? h : next++, content, single_word: yes(4), lstrip: yes(4), rstrip: yes(4), normalized: yes(3), special: yes() }; });
  added_tokens.sort((a, b) => a.id - b.id);
  const t0 = pick([null, null, "t", "b", "s", "r"]);
  const tokOf = (id) => (Array.isArray(model.vocab) ? model.vocab[id][0] : Object.keys(model.vocab)[id]);
  const r1 = random(size), r2 = random(size);
  let post = null;
  if (t0 === "t" || t0 === "s") post = { type: "TemplateProcessing", single: [{ SpecialToken: { id: "x", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }, ...(yes() ? [{ SpecialToken: { id: "y", type_id: 0 } }] : [])], pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 0 } }], special_tokens: { x: { id: "x", ids: [r1, r2], tokens: [tokOf(r1), tokOf(r2)] }, y: { id: "y", ids: [r2], tokens: [tokOf(r2)] } } };
  if (t0 === "b") post = { type: "BertProcessing", cls: [tokOf(r1), r1], sep: [tokOf(r2), r2] };
  if (t0 === "r") post = { type: "RobertaProcessing", cls: [tokOf(r1), r1], sep: [tokOf(r2), r2], trim_offsets: yes(), add_prefix_space: yes() };
  if (t0 === "s") post = { type: "Sequence", processors: [{ type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true }, post] };
  const file = { added_tokens, normalizer: oneOf(normalizers, "normalizers"), pre_tokenizer: oneOf(pres, "pretokenizers"), post_processor: post, decoder: oneOf(decoders, "decoders"), model };
  const t = Tokenizer.fromString(JSON.stringify({ version: "1.0", truncation: null, padding: null, ...file }));
  const decoded = async (ids) => (file.normalizer && added_tokens.some((a) => a.normalized) ? {} : { skipped: await t.decode(ids, true), decoded: await t.decode(ids, false) });
  const cases = [];
  for (let k = 0; k < 8; k++) {
    const text = Array.from({ length: random(8) }, () => (yes(4) && contents.length ? pick(contents) : str(4))).join("");
    const ids = (await t.encode(text)).getIds(), plain = (await t.encode(text, null, { addSpecialTokens: false })).getIds();
    cases.push({ text, ids, plain, ...(await decoded(ids)) });
  }
  for (let k = 0; k < 4; k++) {
    const ids = Array.from({ length: random(8) }, () => random(t.getVocabSize())).filter((i) => t.idToToken(i) !== null);
    cases.push({ ids, ...(await decoded(ids)) });
  }
  console.log(JSON.stringify({ claim: "tokenizer " + index, tokenizer: file, cases }));
}

if (index) {
  random(2);
  await one();
} else {
  const lines = [];
  for (let i = 1; i <= count; i++) {
    try {
      const line = execFileSync(process.argv[0], [process.argv[1], seed, count, out, i], { stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 26 }).toString().trim();
      lines.push(line);
    } catch {} // it ended with a panic
  }
  writeFileSync(out, gzipSync("[" + lines.join(",\n") + "]\n", { level: 9 }));
}
