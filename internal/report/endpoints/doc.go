// Package endpoints writes the files of a run of mlcommons/endpoints (at ea332753), so that its tools and
// the submission checker read a run whose traffic LoadGen made:
//
//	config.yaml                            the request (endpoints.go)
//	performance/result_summary.json        counts, rates, and the spread of TTFT, TPOT, latency and tokens (summary.go)
//	accuracy/accuracy_results.json         the score, of a test of accuracy
//	events.jsonl, sample_idx_map.json      when each request was issued, had its first token, and ended
//
//	err := endpoints.Write("endpoints/", endpoints.Run{Test: test, Results: results, Model: "m"})
//
// The definitions are those of that program, not of LoadGen: TTFT and latency count from when a
// request was issued, and TPOT is the time from the first token to the end by the tokens behind the
// first one. Numbers of tokens, which that program counts with a tokenizer, are those of the servers here: of answers, and of prompts
// that have no token ids. Events have the prompts, as that program writes them, and no texts of answers,
// which a test of performance does not keep.
package endpoints
