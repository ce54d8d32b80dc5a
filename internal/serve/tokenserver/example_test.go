package tokenserver_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
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
	// Output: {"id":"1","model":"m","choices":[{"index":0,"text":" token50 😀 token33","finish_reason":"length"}],"usage":{"prompt_tokens":4,"completion_tokens":3,"total_tokens":7}}
}
