// Compares the tables of the tests with HuggingFace's tokenizers.
//
//     HF_TABLES=/tmp/tables.json go test ./internal/tokenizer/hf
//     npm install tokenizers@0.23.2 && node tables.mjs /tmp/tables.json
//
// Each line of the file is a component or a tokenizer, what goes into it, and what the table says that comes out; null: the library refuses it.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import path from "node:path";

const { Tokenizer } = createRequire(path.join(process.cwd(), "x.js"))("tokenizers");

const letters = { type: "WordLevel", vocab: { "?": 0 }, unk_token: "?" };
const whole = (parts) => ({ version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, model: letters, ...parts });
const made = (parts) => Tokenizer.fromString(JSON.stringify(whole(parts)));

const kinds = {
  normalizer: (component, text) => made({ normalizer: component }).getNormalizer().normalizeString(text),
  pre_tokenizer: (component, text) => made({ pre_tokenizer: component }).getPreTokenizer().preTokenizeString(text).map((p) => p[0]).filter((p) => p !== ""),
  decoder: (component, tokens) => made({ decoder: component }).getDecoder().decode(tokens),
  tokenizer: async (parts, text) => {
    const tokenizer = made(parts);
    return (await tokenizer.encode(text, null)).getIds().map((id) => tokenizer.idToToken(id));
  },
};

let wrong = 0, total = 0;
for (const line of readFileSync(process.argv[2], "utf8").trim().split("\n")) {
  const { kind, component, given, result } = JSON.parse(line);
  let got = null, why = "";
  try {
    got = await kinds[kind](component, given);
  } catch (e) {
    why = String(e);
  }
  total++;
  if (JSON.stringify(got) !== JSON.stringify(result)) {
    wrong++;
    console.log(`${kind} ${JSON.stringify(component)} of ${JSON.stringify(given)}\n  is   ${JSON.stringify(got)} ${why}\n  want ${JSON.stringify(result)}`);
  }
}
console.log(`${total} cases, ${wrong} wrong`);
