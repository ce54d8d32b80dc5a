// Package prompts makes a benchmark of any prompts: a file with one on each line, or prompts that
// are made up. It is for servers of text that are measured without a benchmark of the rules.
//
//	model := prompts.Model(prompts.Config{Name: "llama-3.1-8b", Answer: 128})
//	w, err := model.Open(workload.Setup{DatasetDir: "prompts.jsonl"})
//	predictor, err := w.NewPredictor(sessions, 1) // of a backend.Generator
//
// A file of any kind that package dataset/prompts reads (JSON, JSONL, Parquet, pickles) is read by
// what its rows have: "prompt" or another name of a text (textFields), token ids, "messages" as
// chats have them, "conversations" as ShareGPT has them, of which the turns up to the first one of the
// assistant are the prompt. A row may say how long its answer is.
//
// There is no truth to compare answers with, and so no accuracy.
package prompts
