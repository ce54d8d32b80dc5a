// Writes patterns.json: into which parts HuggingFace's tokenizers cuts texts by patterns, most
// of which the engine of this package would read otherwise than Oniguruma does.
//
//     npm install tokenizers@0.23.2 && node make_patterns.mjs
import { createRequire } from "node:module";
import { writeFileSync } from "node:fs";
import path from "node:path";

const { Tokenizer } = createRequire(path.join(process.cwd(), "x.js"))("tokenizers");

const patterns = [
  "\\w", "\\w+", "\\W+", "\\b", "\\B", "\\bA\\b", "(?<=\\w)\\s", "(?!\\w)", "\\w+|[^\\w\\s]+", // words
  "[\\w]", "[\\w.]+", "[^\\w\\s]+", "[\\W_]", "[^\\W\\d_]", "[\\wก]", "[\\W]+",
  "^", "$", "^a", "a$", "^.", ".$", "^$", "a|^|b", "[^\\n]$", "\\Aa", "a\\z", "a\\Z", // lines
  "(?m:.)", "(?m).+", ".+", "(?i:a|é)", "(?i)A|B", "a(?i)B", "(?-i:a)B", "(?mi-i:A.)", "(?i:'s|'t)?", "(?i)s(?-i)s|t", "((?i)s)s", "(?i:[s])", "(?i:[^s])", "(?i:ſ|k)", "(?i:(?-i:s)s)",
  "(?i)ss", "(?i)ß", "(?i)[aß]+", "(?i)[ß]", "(?i)[^ß]", "(?i)st", "(?i)ffi", "(?i)ﬁ", "(?i)ss+", "(?i)s{2}", "(?i)İ", "(?i)i̇", "(?i)ŉ", "(?i)ssß", "(?i)(ss)+", "(?i)ass|'s", "(?i)sst", "(?i)sss", "(?i)ss?", "ss|ß", "(?i)ΐ", "(?i:ﬀ)i", // letters as good as several
  "[a-c&&[^b]]", "[a-z&&[^aeiou]&&\\w]", "[^a-z&&[^b]]+", "[ab[12]]", "[^ab[12]]", "[[a-c]&&[bc]]", "[^[a-c]]", "[[^a]b]", "[a[^b]&&c]", // sets
  "[\\p{Lu}\\p{M}&&[^\\p{Han}]]|\\p{Han}+", "[]a]", "[a\\]]", "[a-]", "[-a]", "[\\b]", "[é-ﬁ]", "[^]a]", "[\\u0061b]", "[a\\[b]", "[ก\\é]",
  "a++b", "a*+a", "(?:ab)?+a", "[ab]++b", "(a|b)++", "((a)b?)*+", "(?>a+)a", "\\p{L}{1,2}+", "\\p{N}{1,3}+", // repetitions
  "a{2}?", "a{,2}b", "a{1,2}?b", "a{2,}", "a+?b", "a??", "{", "a{b", "a{}", "a{,}", "x*$", "\\.+", "é{2}", "\\é+", "(ab){2}", "a{2}+b",
  "\\u0061", "\\x{61}|\\x62", "\\t|\\n", "(?<x>a)\\k<x>", "(a)\\1", "(?#a remark)a", "(?=a)", "(?<!a)b", "(?'n'a)", "\\p{L}\\P{L}", "\\p{^L}+",
  "[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s++$|\\s*[\\r\\n]|\\s+(?!\\S)|\\s", // the newer cl100k
];
const texts = ["", "a", "aab", "aaab aba", "b\na", "a\n", "\n", "\n\na", "A aB\nAb é\né", "x² ½¼ ª_1.2Ⓐ🄰ⅷ", "हिन्दी ำก़ \u200d\u200c e\u0301", "你好abc 漢字İß", "a]b-[1{2}a{b a{} a{,}", "12345 6789", "  a \n b\r\n\r\n  ", "\tééa\bﬁ", "abcdefXYZ, don't!?\n", "aéaba.b...", "a{2 AbaB", "it'ſ 'S't ss SſSs K\u212a", "aßbẞcssSSſs ﬆﬅST ﬃ ﬀi fﬁ FI", "i̇İ i ŉʼN ssß sst sﬆ ΐΐ mAß 'S"];

const out = [];
for (const pattern of patterns) {
  const file = { version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, post_processor: null, decoder: null,
    pre_tokenizer: { type: "Split", pattern: { Regex: pattern }, behavior: "Isolated", invert: false }, model: { type: "WordLevel", unk_token: "?", vocab: { "?": 0 } } };
  let t;
  try { t = Tokenizer.fromString(JSON.stringify(file)); } catch (e) { console.error(pattern, e.message); continue; }
  const parts = [];
  for (const text of texts) {
    const chars = [...text];
    parts.push((await t.encode(text)).getOffsets().map(([from, to]) => chars.slice(from, to).join("")));
  }
  out.push({ pattern, parts });
}
writeFileSync(import.meta.dirname + "/patterns.json", `{"texts": ${JSON.stringify(texts)},\n "patterns": [\n${out.map((o) => "  " + JSON.stringify(o)).join(",\n")}]}\n`);
