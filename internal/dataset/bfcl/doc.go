// Package bfcl reads what qwen3.6-27b is asked: the questions of the Berkeley Function Calling Leaderboard for accuracy, and recorded
// conversations for performance, as the client of mlcommons/endpoints does (dataset_manager/predefined/bfcl_v4 and
// agentic_inference_dataset.py of mlcommons/endpoints, examples/11_Edge_Agentic_Example).
//
//	questions, err := bfcl.Read("bfcl")          // 995 of the questions of BFCL_v4_….json
//	turns, err := bfcl.ReadConversations("bfcl") // the 1,007 requests of agentic_coding_2.5h.jsonl
//
// The files: questions.go, with the selection of the benchmark; tools.go makes tools of the descriptions of functions; conversations.go.
// Conversations of several turns that the model itself goes on with (multi_turn_base …), web search and memory belong to no benchmark and are
// left out.
package bfcl
