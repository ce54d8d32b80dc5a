// Package prompts reads data sets of prompts: JSON, a line of JSON for each (JSONL), Parquet,
// and the pickles of pandas' tables that MLPerf's reference publishes, also with .gz.
//
//	table, err := prompts.Read("open_orca_gpt4_tokenized_llama.sampled_24576.pkl.gz", prompts.Options{})
//	ids, err := table.Tokens(0, "tok_input")
//	text, err := table.Text(0, "output")
//
// A Table has rows and columns, whose names are those of the file; a benchmark asks for what it
// needs by name.
//
// What a file is follows from its content, not from its name. What is wrong is an *Error with
// the file, the row and the column. Nothing in a pickle is run; see package pickle.
//
// The package leaves out templates of prompts and tokenizers: a text is as the file has it.
package prompts
