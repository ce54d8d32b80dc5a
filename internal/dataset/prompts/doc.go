// Package prompts reads data sets of prompts: JSON, JSONL, CSV, Parquet, and the pickles of pandas tables that MLPerf's
// reference publishes, also with .gz.
//
//	table, err := prompts.Read("open_orca_gpt4_tokenized_llama.sampled_24576.pkl.gz", prompts.Options{})
//	ids, err := table.Tokens(0, "tok_input")
//	text, err := table.Text(0, "output")
//
// A Table has rows, and columns with the names of the file: table.go, which also reads pickles, json.go, csv.go and parquet.go.
// Rows may be requests of a trace, which have lengths and time stamps: schedule.go.
// The format follows from the content, not from the file's name. An *Error has the file, line or row, and column of a fault.
// Reading a pickle runs nothing; see package pickle.
//
// The package leaves out templates of prompts and tokenizers: it returns texts unchanged.
package prompts
