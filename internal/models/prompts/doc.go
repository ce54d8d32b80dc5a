// Package prompts makes a benchmark of any prompts, of a file or synthetic, for measuring servers of text without a benchmark of
// the rules.
//
//	model := prompts.Model(prompts.Config{Name: "llama-3.1-8b", Answer: 128})
//	w, err := model.Open(workload.Setup{DatasetDir: "prompts.jsonl"})
//	predictor, err := w.NewPredictor(sessions, 1) // of a backend.Generator
//
// The file is of any kind that package dataset/prompts reads (JSON, JSONL, Parquet, pickles). A row has "prompt" or another name
// of a text (textFields), token ids, "messages" of a chat, or "conversations" of ShareGPT, whose turns before the first
// answer are the prompt. A row may limit its answer.
//
// The prompts have no reference answers, and so no accuracy.
package prompts
