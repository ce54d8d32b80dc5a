package hf_test

import (
	"fmt"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tokenizer/hf"
)

const file = `{
  "added_tokens": [{"id": 5, "content": "<s>", "special": true}],
  "pre_tokenizer": {"type": "Metaspace", "replacement": "_"},
  "post_processor": {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "special_tokens": {"<s>": {"ids": [5]}}},
  "model": {"type": "BPE", "vocab": {"_": 0, "a": 1, "b": 2, "_a": 3, "ab": 4}, "merges": ["_ a", "a b"]},
  "decoder": {"type": "Metaspace", "replacement": "_"}
}`

func Example() {
	t, err := hf.Read(strings.NewReader(file), "tokenizer.json")
	if err != nil {
		panic(err)
	}
	ids, err := t.Append(nil, "ab bab", hf.AddSpecial)
	fmt.Println(ids, err)
	text, err := t.Decode(ids, hf.SkipSpecial)
	fmt.Println(text, err)
	// Output:
	// [5 3 2 0 2 4] <nil>
	// ab bab <nil>
}

func ExampleTokenizer_Fits() {
	t, err := hf.Read(strings.NewReader(file), "tokenizer.json")
	if err != nil {
		panic(err)
	}
	fmt.Println(t.Size(), t.Fits(6))
	fmt.Println(t.Fits(5))
	// Output:
	// 6 <nil>
	// the tokenizer has tokens up to 5, the model a vocabulary of 5: they do not belong together
}

func ExampleRead() {
	_, err := hf.Read(strings.NewReader(`{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}, "normalizer": {"type": "Rot13"}}`), "tokenizer.json")
	fmt.Println(err)
	// Output:
	// tokenizer.json: normalizer: type "Rot13" is not supported, expected Sequence, NFC, NFD, NFKC, NFKD, Precompiled, Prepend or Replace
}
