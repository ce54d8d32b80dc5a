// Package openai is the client of servers that speak OpenAI's protocol: vLLM, SGLang, TensorRT-LLM's,
// TGI, llama.cpp's, Ollama and others. It is an engine whose sessions are backend.Generators.
//
//	engine, err := openai.New(openai.Config{URLs: []string{"http://127.0.0.1:8000"}, Model: "tiny", Stream: true})
//	session, err := engine.Open(ctx, backend.Options{})
//	err = session.(backend.Generator).Generate(ctx, &backend.Prompt{Text: "once upon a time", MaxTokens: 32}, sink)
//
// servers.go has the addresses, the key and the choice of the server with the fewest outstanding
// requests. engine.go opens them: it makes connections and asks for the name of the model.
// dialect.go finds out what a server understands (the route, token ids or text, fields that are not
// OpenAI's), and writes requests. session.go sends a request and sends it again where that is wanted.
// answer.go reads answers, and event.go server-sent events and their JSON: the time of a token is that
// of the read that brought it. stats.go counts, and failure.go names what went wrong.
//
// An answer counts if it is complete: status 200, the content type that was asked for, events that are
// JSON, [DONE] at the end, nothing behind the reason why it ended, no more pieces than it says it has
// tokens, and no more of these than bytes. Anything else fails its prompt. Time and size of an answer are bounded.
//
// The package knows no schedule and no scenario.
package openai
