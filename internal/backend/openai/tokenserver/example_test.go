package tokenserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
)

func ExampleNew() {
	server := httptest.NewServer(tokenserver.New(tokenserver.Options{Tokens: 3}))
	defer server.Close()
	answer, err := http.Post(server.URL+"/v1/completions", "application/json", strings.NewReader(`{"prompt":"once upon a time"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Println(string(text))
	// Output: {"id":"1","model":"m","choices":[{"index":0,"text":" token60 token03 token10","finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":3,"total_tokens":7}}
}

func ExampleSpelled() {
	fmt.Println(tokenserver.Spelled(tokenserver.Number(42)))
	fmt.Println(tokenserver.Spelled(tokenserver.Letter('D')))
	fmt.Println(tokenserver.Spelled(tokenserver.Program(7)))
	// Output:
	// \boxed{42}
	//  ANSWER: D
	// ```python
	// print(int(input()) + 7)
	// ```
}

func ExampleParseFault() {
	fault, err := tokenserver.ParseFault("Long-Line")
	fmt.Println(fault, err)
	_, err = tokenserver.ParseFault("flood")
	fmt.Println(err)
	// Output:
	// long-line <nil>
	// unknown fault "flood", want one of none, silence, 500, 429, break, error, stop, stall, garbage, twice, empty, long-line, wrong-type, compressed, redirect, redirect-lossy, endless, trickle, no-type, mute
}
