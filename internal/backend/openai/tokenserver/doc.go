// Package tokenserver is a server that speaks OpenAI's protocol and knows when each of its
// tokens leaves: token n of an answer is sent Prefill + n·PerToken after a slot was free for the
// request, neither earlier nor, as far as the machine allows, later. What a client measures can
// so be compared with the truth.
//
//	server := tokenserver.New(tokenserver.Options{Prefill: 20 * time.Millisecond, PerToken: 10 * time.Millisecond, Slots: 8})
//	err := http.Serve(listener, server)
//
// It answers completions and chat, streamed or whole, prompts of text or of token ids, and goes
// wrong on command: a Fault is what it does instead of answering a request well. What it says
// follows from the prompt. It computes nothing.
//
// Tests of clients use it, on real and on fake time, and so does mlperf selftest --endpoint.
package tokenserver
