// Package artifacts writes what mlcommons/endpoints writes of a run (at ea332753), so that its tools and
// the submission checker read one that LoadGen's traffic made:
//
//	config.yaml                            what was asked for
//	performance/result_summary.json        counts, rates, and the spread of TTFT, TPOT, latency and tokens
//	accuracy/accuracy_results.json         the score, of a test of accuracy
//	events.jsonl, sample_idx_map.json      when each request was issued, had its first token, and ended
//
//	err := artifacts.Write("endpoints/", artifacts.Run{Test: test, Results: results, Model: "m"})
//
// The definitions are those of that program, not of LoadGen: TTFT and latency count from when a
// request was issued, and TPOT is the time from the first token to the end by the tokens behind the
// first one. What it makes with a tokenizer is what the servers told here: of answers, and of prompts
// that have no token ids. Events have the prompts, as that program writes them, and no texts of answers,
// which nobody keeps while a test of performance runs.
package artifacts
