package jinja_test

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/jinja"
)

func Example() {
	t, err := jinja.Parse("{% for m in messages %}\n[{{ m.role | upper }}] {{ m.content }}\n{% endfor %}")
	if err != nil {
		panic(err)
	}
	text, err := t.Render(map[string]any{"messages": []map[string]any{{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}}})
	fmt.Print(text, err)
	// Output:
	// [USER] Hello
	// [ASSISTANT] Hi
	// <nil>
}

func ExampleParse() {
	_, err := jinja.Parse("{% for m in messages %}\n{{ m.content | shout }}{% endfor %}")
	fmt.Println(err)
	// Output: line 2: there is no filter "shout" here
}
