// Package tokenserver is a server with OpenAI's protocol whose tokens leave at known times: token n of an answer
// is sent Prefill + n·PerToken after the request got a slot. What a client measures can be compared with that.
//
//	server := tokenserver.New(tokenserver.Options{Prefill: 20 * time.Millisecond, PerToken: 10 * time.Millisecond, Slots: 8})
//	err := http.Serve(listener, server)
//
// It answers completions and chat, streamed or whole, to prompts of text or of token ids. What it says follows
// from the prompt; it computes nothing. A Fault is what it does instead of answering well. server.go has the
// options and reads requests, answer.go sends answers, and package vocab has the tokens.
//
// mlperf selftest serves and measures it, and tests of clients use it on real and on fake time.
package tokenserver
