// Package openai is the engine behind endpoints: servers that speak OpenAI's protocol, such as
// vLLM, SGLang, TensorRT-LLM's, TGI, llama.cpp's and Ollama.
//
//	engine, err := openai.New(openai.Config{Servers: endpoint.Options{URLs: []string{"http://127.0.0.1:8000"}}, Model: "tiny", Stream: true})
//	session, err := engine.Open(ctx, backend.Options{})
//	err = session.(backend.Generator).Generate(ctx, &backend.Prompt{Text: "once upon a time", MaxTokens: 32}, sink)
//
// Opening finds out what the server understands (dialect.go): which of the two routes, prompts
// of token ids or of text, and which fields; what it refuses with status 400 is left out and
// said. An answer is read as a stream of server-sent events (sse.go, event.go) without
// allocating for each: the instant of a piece is that of the read that brought it.
//
// An answer counts if it is whole: status 200, the type that was asked for, events that are
// JSON, [DONE] at the end, and no more pieces than it says it has tokens. All else fails its
// request, with a kind to count it by (failure.go). How much a server sends is bounded: an
// event by maxEvent, an answer by maxAnswer; who says nothing for too long is cut off (watch.go).
//
// The package knows no schedule and no scenario.
package openai
