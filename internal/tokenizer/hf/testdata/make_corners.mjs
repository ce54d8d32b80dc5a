// Writes corners.json: tokenizers of a few tokens, each for one thing that the texts of
// golden.json.gz hardly come upon, and what HuggingFace's tokenizers makes of texts with them.
//
//     npm install tokenizers@0.23.2 && node make_corners.mjs
//
// A case is the numbers with and without special tokens, and their text without and with them.
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import path from "node:path";

const { Tokenizer } = createRequire(path.join(process.cwd(), "x.js"))("tokenizers");

const numbered = (tokens) => Object.fromEntries(tokens.map((t, i) => [t, i]));
const bpe = (tokens, merges, more = {}) => ({ type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null, end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, vocab: numbered(tokens), merges, ...more });
const unigram = (vocab, more = {}) => ({ type: "Unigram", unk_id: 0, vocab, byte_fallback: false, ...more });
const scored = [["<unk>", 0], ["_", -2.5], ["_a", -3], ["a", -4], ["b", -4], ["ab", -5.5], ["_ab", -7], ["abab", -11], ["é", -6], ["_the", -5], ["the", -6.25], ["t", -5], ["he", -4.5]];
// The map that SentencePiece 0.2.3 makes of the rules FF21→41, FB01→66 69, 65 301→E9, 200B→nothing, 9→20, 1F1E9 1F1EA→44 45 and 41→61 (normalization_rule_tsv).
const charsmap = "AAQAAAAgAAAJDQAAAQAAgAgAAIDMAAIAgQ0AAA0AAICAEAIAiwUAAAAAAICsAAIAgR0AAAoAAIChDQAAAwAAgJ9gAgCHoAIAqcwDAPB4AgCfAAIAh6wCAKoNAAAFAACAFgAAABkAAAAYAAAAvNgCABoAAAAdAAAAHAAAAB8AAAAeAAAAIQAAACAAAAAjAAAAIgAAACUAAAAkAAAAJwAAACYAAAApAAAAKAAAACsAAAAqAAAALQAAACwAAAAvAAAALgAAADEAAAAwAAAAMwAAADIAAAA1AAAANAAAADcAAAA2AAAAOQAAADgAAAA7AAAAOgAAAD0AAAA8AAAAPwAAAD4AAABBAAAAQAAAAEMAAABCAAAARQAAAEQAAABHAAAARgAAAEkAAABBKQEASwAAAEoAAABNAAAATAAAAE8AAABOAAAAUQAAAFAAAABTAAAAUgAAAFUAAABUAAAAVwAAAFYAAABZAAAAWAAAAFsAAABaAAAAXQAAAFwAAABfAAAAXgAAAGEAAABgAAAAYwAAAGIAAABlAAAAZAAAAGcAAABmAAAAaQAAAGgAAABrAAAAagAAAG0AAABllAIAbwAAAG4AAABxAAAAcAAAAHMAAAByAAAAdQAAAHQAAAB3AAAAdgAAAHkAAAB4AAAAewAAAHoAAAB9AAAAfAAAAH8AAAB+AAAAgQAAAIAAAACDAAAAggAAAIUAAACEAAAAhwAAAIYAAACJAAAAiAAAAIsAAACKAAAAjQAAAIwAAACPAAAAjgAAAJEAAACQAAAAkwAAAJIAAACVAAAAlAAAAJcAAACWAAAAmQAAAJgAAACbAAAAmgAAAJ0AAACcAAAAnwAAAJ4AAAChAAAAoAAAAKMAAACiAAAApQAAAKQAAACnAAAApgAAAKkAAACoAAAAqwAAAKoAAACtAAAArAAAAK8AAACuAAAAsQAAALAAAACzAAAAsgAAALUAAAC0AAAAtwAAALYAAAC5AAAAuAAAALsAAAC6AAAAvQAAALwAAAC/AAAAvgAAAMEAAADAAAAAwwAAAMIAAADFAAAAxAAAAMcAAADGAAAAyQAAAMgAAADLAAAAygAAAM0AAADMAAAAzwAAAM4AAADRAAAA0AAAANMAAADSAAAA1QAAANQAAADXAAAA1gAAANkAAADYAAAA2wAAANoAAADdAAAA3AAAAN8AAADeAAAA4QAAAOAAAADjAAAA4gAAAOUAAADkAAAA5wAAAO8EAQDpAAAA6AAAAOK0AQDqAAAA7QAAAOwAAADvAAAA7gAAAPEAAADwAAAA8wAAAPIAAAD1AAAA9AAAAPcAAAD2AAAA8KABAPgAAAD7AAAA+gAAAP0AAAD8AAAA/wAAAP4AAAAAIABBAERFAGEAZmkAw6kA";
const letters = [..." abcdefghijklmnopqrstuvwxyz.,'"];
const spelled = bpe(["?", ...letters, "A", "B", "_"], [], { unk_token: "?" });
const words = (tokens) => bpe(["?", ...tokens], [], { unk_token: "?", fuse_unk: true, ignore_merges: true }); // a word is a token or unknown
const added = (id, content, more = {}) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...more });
const sequence = (...pretokenizers) => ({ type: "Sequence", pretokenizers });
const chars = { type: "Split", pattern: { Regex: "." }, behavior: "Isolated", invert: false };
const split = (pattern, behavior, invert = false) => ({ type: "Split", pattern, behavior, invert });
const blanks = split({ Regex: "\\s+" }, "Removed");
const metaspace = (more = {}) => ({ type: "Metaspace", replacement: "_", prepend_scheme: "always", split: true, ...more });
const bytes = Array.from({ length: 256 }, (_, b) => "<0x" + b.toString(16).toUpperCase().padStart(2, "0") + ">");
const template = (single, special) => ({ type: "TemplateProcessing", single, pair: [{ Sequence: { id: "A", type_id: 0 } }, { Sequence: { id: "B", type_id: 1 } }], special_tokens: special });
const token = (id) => ({ SpecialToken: { id, type_id: 0 } }), text = { Sequence: { id: "A", type_id: 0 } };
const stands = (id, ...ids) => ({ [id]: { id, ids, tokens: ids.map(String) } });

// claim: [tokenizer, texts, numbers to decode]
const corners = {
  "the longest added token wins": [{ model: spelled, added_tokens: [added(34, "<a"), added(35, "<ab>"), added(36, "<")] }, ["<ab>", "<a>", "<<a<ab<ab>", "x<"]],
  "an added token that is a single word": [{ model: spelled, added_tokens: [added(34, "the", { single_word: true })] }, ["the", "the.", ".the", "other", "them", "\u0301the", "the_", "the\u200d", "éthe", "thethe", "the the"]],
  "a word of two before a single word": [{ model: spelled, added_tokens: [added(34, "the", { single_word: true }), added(35, "the c")] }, ["the cat", "athe c", "the c"]],
  "blanks before an added token": [{ model: spelled, added_tokens: [added(34, "<m>", { lstrip: true })] }, [" <m>", "a \t\n<m> b", "<m> <m>", "<m><m>", "a<m>", "\u3000<m>"]],
  "blanks behind an added token": [{ model: spelled, added_tokens: [added(34, "<m>", { rstrip: true })] }, ["<m> ", "a<m> \t\nb", "<m> <m>", "<m>  ", " <m>"]],
  "blanks on both sides": [{ model: spelled, added_tokens: [added(34, "<m>", { lstrip: true, rstrip: true }), added(35, "<n>", { lstrip: true })] }, ["a <m> b", "a <m> <m> b", "a <m>  <n> b", "  <n>  <m>  "]],
  "blanks that are tokens, behind one that takes blanks": [{ model: spelled, added_tokens: [added(34, "<m>", { rstrip: true }), added(35, "  "), added(36, " \n", { lstrip: true })] }, ["<m>  a", "<m>   a", "<m>  ", "<m> a", "<m>    b<m>  \n  \n", "a   \n<m> \n"]],
  "normalized added tokens": [{ model: spelled, normalizer: { type: "Replace", pattern: { String: "A" }, content: "a" }, added_tokens: [added(34, "abc", { normalized: true }), added(35, "ABD"), added(36, "é", { normalized: true })] }, ["abc", "ABC Abc", "abd", "ABD", "É", "éÉ ABd"]],
  "an added token of the vocabulary": [{ model: spelled, added_tokens: [added(2, "a", { special: true })] }, ["bab", "a"], [[2, 3]]],
  "a normalized added token with the number 0": [{ model: spelled, normalizer: { type: "Replace", pattern: { String: "A" }, content: "?" }, added_tokens: [added(0, "?", { normalized: true, special: true })] }, ["aAb", "?"]],
  "special tokens in the text": [{ model: spelled, decoder: { type: "Fuse" }, added_tokens: [added(34, "<s>", { special: true }), added(35, "<t>")], post_processor: template([token("s"), text, token("t"), token("s")], { ...stands("s", 34, 35), ...stands("t", 35) }) }, ["", "a", "<s>a<t>"]],
  "a sequence of processors": [{ model: spelled, added_tokens: [added(34, "<s>", { special: true })], post_processor: { type: "Sequence", processors: [{ type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true }, template([token("s"), text], stands("s", 34))] } }, ["a", ""]],
  "equal merges are joined from the left": [{ model: bpe(["a", "aa", "aaa", "aaaa"], [["a", "a"], ["aa", "aa"], ["aa", "a"]]) }, ["a", "aa", "aaa", "aaaa", "aaaaa", "aaaaaa", "aaaaaaa", "aaaaaaaaaaa"]],
  "a merge that comes too late": [{ model: bpe(["a", "b", "c", "ab", "bc", "abc"], [["b", "c"], ["a", "b"], ["ab", "c"], ["a", "bc"]]) }, ["abc", "abcabc", "ababc", "aabcc", "bcab"]],
  "a merge that is there twice": [{ model: bpe(["a", "b", "c", "ab", "bc"], [["a", "b"], ["b", "c"], ["a", "b"]]) }, ["abc", "ab"]],
  "two ways to the same token": [{ model: bpe(["a", "b", "c", "ab", "bc", "abc", "abca"], [["a", "bc"], ["ab", "c"], ["b", "c"], ["a", "b"], ["abc", "a"]]) }, ["abc", "abca", "abcabc", "aabca"]],
  "ends of words": [{ pre_tokenizer: blanks, model: bpe(["?", "a", "b", "a#", "b#", "ab#", "ab"], [["a", "b#"], ["a", "b"]], { end_of_word_suffix: "#", unk_token: "?" }) }, ["a", "ab", "aab b", "abab", "ac ca"]],
  "unknown characters": [{ model: bpe(["?", "a"], [], { unk_token: "?" }) }, ["x", "xy", "axya", "xya", "é🙂a"]],
  "unknown characters are one": [{ model: bpe(["?", "a"], [], { unk_token: "?", fuse_unk: true }) }, ["x", "xy", "axya", "xyaxy", "é🙂a"]],
  "unknown characters are nothing": [{ model: bpe(["a", "b", "ab"], [["a", "b"]]) }, ["x", "axb", "ab", "xaby"]],
  "bytes of some unknown characters": [{ model: bpe(["?", "a", ...bytes.filter((b) => b !== "<0xA9>")], [], { unk_token: "?", byte_fallback: true }) , decoder: { type: "ByteFallback" } }, ["x", "aéa", "èx", "éé", "éxé"]],
  "bytes of unknown characters, joined": [{ model: bpe(["?", "a", ...bytes.filter((b) => b !== "<0xA9>")], [], { unk_token: "?", byte_fallback: true, fuse_unk: true }) }, ["éé", "éxé", "ééa", "xéé"]],
  "whole words before merges": [{ pre_tokenizer: blanks, model: bpe(["a", "b", "c", "ab", "abc"], [["a", "b"]], { ignore_merges: true }) }, ["abc", "ab abc", "abca"]],

  "tokens of the best sum of scores": [{ pre_tokenizer: metaspace(), model: unigram(scored) }, ["", "a", "ab", "abab", "ababab", "the", "athe", "a the ab", "bab", "é a"]],
  "the first of two sums that are equal": [{ model: unigram([["?", -9], ["a", -1], ["b", -1], ["c", -1], ["ab", -2], ["bc", -2], ["abc", -3]]) }, ["abc", "ab", "bc", "aabc"]],
  "unknown characters of a Unigram": [{ pre_tokenizer: metaspace(), model: unigram(scored) }, ["x", "xyz", "axyb x", "🙂a🙂🙂", "<unk>a", "xa<unk>"]],
  "bytes of a Unigram": [{ pre_tokenizer: metaspace(), decoder: { type: "ByteFallback" }, model: unigram([...scored, ...bytes.filter((b) => b !== "<0xA9>").map((b) => [b, -20])], { byte_fallback: true }) }, ["x", "axyb", "èé", "🙂a", "éèxé", "x©x"]],
  "a Unigram with an end": [{ pre_tokenizer: metaspace(), model: unigram([["<pad>", 0], ["</s>", 0], ["<unk>", 0], ...scored.slice(1)], { unk_id: 2 }), added_tokens: [added(0, "<pad>", { special: true }), added(1, "</s>", { special: true }), added(2, "<unk>", { special: true })], post_processor: template([text, token("</s>")], stands("</s>", 1)) }, ["a the", "", "a</s>b", "x"]],

  "characters of a map": [{ normalizer: { type: "Sequence", normalizers: [{ type: "Precompiled", precompiled_charsmap: charsmap }, { type: "Replace", pattern: { Regex: " {2,}" }, content: " " }] }, model: unigram([["?", -9], ...[..." abcfiDEé"].map((c) => [c, -1]), ["fi", -1.5], ["x", -2]]) }, ["Ａ", "A\u0301", "ﬁ", "e\u0301e", "e\u0302\u0301", "a\u200bb", "a\t\tb", "\u{1F1E9}\u{1F1EA}\u{1F1E9}", "ﬁ\u0301\u0301\u0301", "x", ""]],

  "an unknown word": [{ pre_tokenizer: blanks, model: words(["a", "b"]) }, ["a x b", "ab", ""]],

  "characters of white space": [{ pre_tokenizer: blanks, model: words(["a", "b", "a\u200bb"]) }, ["a\u00a0b", "a\u200bb", "a\u2003b", "a\u0085b", "a\u001cb", "a\u180eb", "a\ufeffb", "a\u2029b"]],
  "marks removed": [{ pre_tokenizer: { type: "Punctuation", behavior: "Removed" }, model: words(["a", "b", "ab", " b"]) }, ["a.b", "a..b", ".a", "a.", "."]],
  "marks with the word before": [{ pre_tokenizer: { type: "Punctuation", behavior: "MergedWithPrevious" }, model: words(["a", "b", "a.", ".", "..", "b.", "a.."]) }, ["a.b", "a..b", ".a", "..a", "a.b."]],
  "marks with the word behind": [{ pre_tokenizer: { type: "Punctuation", behavior: "MergedWithNext" }, model: words(["a", "b", ".a", ".", "..", ".b", "..a"]) }, ["a.b", "a..b", ".a", "..a", "a.", "a.."]],
  "marks in one piece": [{ pre_tokenizer: { type: "Punctuation", behavior: "Contiguous" }, model: words(["a", "b", ".", "..", "!.", "..."]) }, ["a.b", "a..b", ".a", "!.a...", "a!."]],
  "marks alone": [{ pre_tokenizer: { type: "Punctuation", behavior: "Isolated" }, model: words(["a", "b", ".", "..", "!"]) }, ["a.b", "a..b", ".a", "!.a", "a!"]],
  "digits one by one": [{ pre_tokenizer: { type: "Digits", individual_digits: true }, model: words(["1", "2", "12", "a", "½", "²"]) }, ["12", "a1", "½1", "1²a", "a"]],
  "digits together": [{ pre_tokenizer: { type: "Digits", individual_digits: false }, model: words(["1", "2", "12", "a", "½1", "1²"]) }, ["12", "a1", "½1", "1²a", "12a12"]],
  "a text as a pattern": [{ pre_tokenizer: split({ String: "ab" }, "Isolated"), model: words(["ab", "a", "b", "aab", "abab", "ba"]) }, ["abab", "aabb", "aab", "ba", "b"]],
  "a text as a pattern, inverted": [{ pre_tokenizer: split({ String: "ab" }, "Removed", true), model: words(["ab", "a", "b"]) }, ["abcab", "cab", "c"]],
  "matches of no length": [{ pre_tokenizer: split({ Regex: "x*" }, "Isolated"), model: words(["a", "x", "xx", "ab", "b"]) }, ["axb", "axxb", "ab", "xx", "xxa", ""]],
  "matches of no length, merged": [{ pre_tokenizer: split({ Regex: "(?=b)" }, "MergedWithNext"), model: words(["a", "b", "ab", "aa", "ba"]) }, ["ab", "baab", "aabb"]],
  "matches of no length, contiguous": [{ pre_tokenizer: split({ Regex: "x*" }, "Contiguous"), model: words(["a", "b", "ab", "x", "xx"]) }, ["ab", "axxb", "xa"]],
  "a beginning is replaced": [{ normalizer: { type: "Replace", pattern: { Regex: "^" }, content: "_" }, model: words(["_a", "a", "_", "_ab"]) }, ["a", "ab", ""]],
  "nothing is replaced": [{ normalizer: { type: "Replace", pattern: { Regex: "x*" }, content: "_" }, model: words(["_a_", "_", "_a_b_", "_a__", "__"]) }, ["a", "ab", "ax", "x", "axb", ""]],
  "characters outside of the first plane": [{ pre_tokenizer: split({ Regex: "🙂+" }, "Isolated"), model: words(["🙂🙂", "🙂", "𝔘", "a"]) }, ["a🙂🙂𝔘", "𝔘🙂", "🙂a"]],
  "a mark before the first word only": [{ pre_tokenizer: metaspace({ prepend_scheme: "first" }), decoder: metaspace({ prepend_scheme: "first" }), added_tokens: [added(6, "<s>")], model: words(["_a", "a", "_", "_b", "b"]) }, ["a", " a", "a b", "<s>a", "<s> a", "a<s>b", "", " ", "a  b"]],
  "a mark before every word": [{ pre_tokenizer: metaspace(), decoder: metaspace(), added_tokens: [added(6, "<s>")], model: words(["_a", "a", "_", "_b", "b"]) }, ["a", " a", "a b", "<s>a", "a<s>b", "", " ", "_a"]],
  "no mark before a word": [{ pre_tokenizer: metaspace({ prepend_scheme: "never" }), decoder: metaspace({ prepend_scheme: "never" }), model: words(["_a", "a", "_", "_b", "b"]) }, ["a", " a", "a b", "_a"]],
  "marks that do not cut": [{ pre_tokenizer: metaspace({ split: false }), decoder: metaspace(), model: words(["_a", "_a_b", "_"]) }, ["a b", "a", " a b"]],
  "a blank before words of bytes": [{ pre_tokenizer: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: false }, decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true }, model: words(["Ġa", "a", "Ċ", "Ġb", "ĠĊ", "ĠÃ©"]) }, ["a", " a", "\n", "é", ""]],

  "a beginning is put before": [{ normalizer: { type: "Prepend", prepend: "_" }, model: words(["_a", "_", "_ "]) }, ["a", "", " "]],
  "what matches is replaced": [{ normalizer: { type: "Replace", pattern: { Regex: "a+" }, content: "$0b" }, model: words(["$0b", "x$0b", "$0bx", "$0bx$0b"]) }, ["a", "aaa", "xa", "ax", "axaa"]],
  "forms of Unicode": [{ normalizer: { type: "Sequence", normalizers: [{ type: "NFKC" }] }, model: words(["fi", "1", "é", "ガ", "ṩ"]) }, ["ﬁ", "①", "e\u0301", "ｶﾞ", "s\u0307\u0323"]],
  "forms of Unicode, decomposed": [{ normalizer: { type: "NFKD" }, model: words(["fi", "e\u0301", "s\u0323\u0307"]) }, ["ﬁ", "é", "ṩ"]],

  "decoding without a decoder": [{ model: words(["a", "b"]), added_tokens: [added(3, "<s>", { special: true })] }, ["a"], [[1, 2], [3, 1, 3, 2], []]],
  "decoding with marks": [{ model: words(["_a", "b_", "_", "__c"]), decoder: metaspace() }, ["_a"], [[1, 2, 1], [3, 3], [4, 4], [2]]],
  "decoding bytes": [{ model: words(["a", "<0x0A>", "<0x0a>", "<0xC3>", "<0xA9>", "<0xFG>", "<0x0A", "<0xE2>", "0x0A>>", "<0x0A)"]), decoder: { type: "ByteFallback" } }, ["a"], [[1, 2, 1], [2, 3], [4, 5], [4, 1, 5], [5, 4], [6, 7], [4], [1, 4], [8, 5, 4, 5], [4, 5, 4], [9, 10], []]],
  "decoding joined": [{ model: words(["a", "b"]), decoder: { type: "Sequence", decoders: [{ type: "Fuse" }, { type: "Strip", content: "a", start: 1, stop: 0 }] } }, ["a"], [[1, 2], [1, 1, 2], [2, 1], []]],
  "decoding stripped": [{ model: words(["aaxa", "xaaa", "x", "éaé"]), decoder: { type: "Strip", content: "a", start: 1, stop: 2 } }, ["x"], [[1, 2], [2, 1], [3, 4, 1]]],
  "decoding stripped of longer characters": [{ model: words(["éax", "éé a", "xé"]), decoder: { type: "Strip", content: "é", start: 2, stop: 1 } }, ["x"], [[1, 2, 3]]],
  "decoding replaced": [{ model: words(["a_b", "__", "c"]), decoder: { type: "Sequence", decoders: [{ type: "Replace", pattern: { Regex: "_+" }, content: "-" }, { type: "Replace", pattern: { String: "c" }, content: "" }] } }, ["c"], [[1, 2, 3], [2, 2], [3]]],
  "decoding nothing, in which nothing is replaced": [{ model: words(["a"]), decoder: { type: "Sequence", decoders: [{ type: "Fuse" }, { type: "Replace", pattern: { Regex: "x*" }, content: "-" }] } }, ["a"], [[], [1]]],
  "decoding bytes as characters": [{ model: words(["Ġa", "Ã", "©", "â", "Ģ", "Ļ", "é", "a b", "日", "Ċ"]), decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true } }, ["Ġa"], [[1, 2, 3], [2, 1], [3, 2, 3], [4, 5, 6, 1], [4, 1], [4, 5, 1], [7], [8, 1], [9], [4, 4, 5], [10]]],
};

const out = [];
for (const [claim, [file, texts, decoded = []]] of Object.entries(corners)) {
  let t;
  const tokenizer = { version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, ...file };
  try { t = Tokenizer.fromString(JSON.stringify(tokenizer)); } catch (e) { throw new Error(claim + ": " + e.message); }
  const cases = [];
  for (const text of texts) {
    const ids = (await t.encode(text)).getIds(), plain = (await t.encode(text, null, { addSpecialTokens: false })).getIds();
    cases.push({ text, ids, plain, skipped: await t.decode(ids, true), decoded: await t.decode(ids, false) });
  }
  for (const ids of decoded) cases.push({ ids, skipped: await t.decode(ids, true), decoded: await t.decode(ids, false) });
  out.push({ claim, tokenizer: file, cases });
}
const line = (c) => "  " + JSON.stringify(c);
writeFileSync(import.meta.dirname + "/corners.json", "[\n" + out.map((c) => `{"claim": ${JSON.stringify(c.claim)},\n "tokenizer": ${JSON.stringify(c.tokenizer)},\n "cases": [\n${c.cases.map(line).join(",\n")}]}`).join(",\n") + "\n]\n");
