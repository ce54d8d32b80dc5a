package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A model whose batch is fixed takes requests of that batch, and none of them with others, however large batches may be.
func TestRequestsToAFixedModelRunAsTheyAre(t *testing.T) {
	for _, batch := range []int{1, 2, 4} {
		endpoint, _ := start(t, newSource(t, int64(batch), 2*time.Millisecond), 64, Web{})
		c := dial(t, endpoint)
		var all sync.WaitGroup
		for i := range 12 {
			all.Go(func() {
				in := tensor.New(tensor.Float32, int64(batch), 2)
				for k := range tensor.Data[float32](in) {
					tensor.Data[float32](in)[k] = float32(100*i + k)
				}
				out, err := ask(c, "m", "x", in)
				if err != nil || out.Shape[0] != int64(batch) {
					t.Errorf("batches of %d: request %d is %v, %v", batch, i, out, err)
					return
				}
				for k, got := range tensor.Data[float32](out) {
					if got != float32(2*(100*i+k)) {
						t.Errorf("batches of %d: request %d is %v", batch, i, tensor.Data[float32](out))
					}
				}
			})
		}
		all.Wait()
		for _, rows := range []int{batch - 1, batch + 1} {
			if _, err := ask(c, "m", "x", row(rows)); err == nil || !strings.Contains(err.Error(), "input x FP32") && !strings.Contains(err.Error(), "the model takes at most") {
				t.Errorf("%d rows for batches of %d: %v", rows, batch, err)
			}
		}
		stats, err := c.Statistics(t.Context(), "m", "")
		if err != nil || stats[0].InferenceCount != uint64(12*batch) || stats[0].ExecutionCount != 12 {
			t.Errorf("batches of %d: the server counts %+v, %v", batch, stats, err)
		}
	}
}

// How much was written comes after all, for who asks for it, with no choice.
func TestAStreamEndsWithItsUsageIfThatIsAskedFor(t *testing.T) {
	url := startTalk(t, letters{}, 4)
	for options, want := range map[string]bool{``: false, `,"stream_options":null`: false, `,"stream_options":{}`: false, `,"stream_options":{"include_usage":false}`: false, `,"stream_options":{"include_usage":true}`: true} {
		list := events(t, url, `{"prompt":"ab","stream":true`+options+`}`)
		var told []int
		for i, e := range list[:len(list)-1] {
			var d struct {
				Choices []any
				Usage   *struct {
					Prompt     int `json:"prompt_tokens"`
					Completion int `json:"completion_tokens"`
					Total      int `json:"total_tokens"`
				}
			}
			if err := json.Unmarshal([]byte(e), &d); err != nil {
				t.Fatal(err)
			}
			if d.Usage == nil {
				continue
			}
			told = append(told, i)
			if len(d.Choices) != 0 || d.Usage.Total != d.Usage.Prompt+d.Usage.Completion || d.Usage.Prompt != 2 {
				t.Errorf("%q: the usage is %+v, with %d choices", options, *d.Usage, len(d.Choices))
			}
		}
		if (len(told) == 1) != want || want && told[0] != len(list)-2 {
			t.Errorf("%q: the usage is told in the events %v of %d", options, told, len(list))
		}
	}
}

// A field of the wrong kind is named, and what is no request is none.
func TestRequestsForTextsThatAreNoneAreRefused(t *testing.T) {
	url := startTalk(t, letters{}, 4)
	for body, want := range map[string]string{
		``: "unexpected end", `[]`: "a list where an object should be", `"x"`: "a text where an object should be", `{"prompt":"a"} {}`: "invalid character",
		`{"prompt":"a","max_tokens":1.5}`:                         "max_tokens",
		`{"prompt":"a","stream":"yes"}`:                           "stream",
		`{"prompt":"a","echo":true}`:                              "echo: this is not done here, want false or nothing",
		`{"prompt":"a","best_of":2}`:                              "best_of: this is not done here, want 1 or nothing",
		`{"prompt":"a","logit_bias":{"1":2}}`:                     "logit_bias: this is not done here",
		`{"prompt":"a","logit_bias":[]}`:                          "logit_bias: this is not done here",
		`{"prompt":"a","suffix":"b"}`:                             "suffix: this is not done here",
		`{"prompt":"a","tools":[{}]}`:                             "tools: this is not done here",
		`{"prompt":"a","response_format":{"type":"json_object"}}`: "response_format: this is not done here",
	} {
		status, got := say(t, url+"/v1/completions", body)
		if status != 400 || !strings.Contains(got, want) {
			t.Errorf("%s: %d %s, want 400 and %q", body, status, got, want)
		}
	}
	var fields []string
	for name, value := range usual {
		fields = append(fields, fmt.Sprintf("%q:%s", name, value))
	}
	body := `{"prompt":"ab",` + strings.Join(fields, ",") + `}`
	if status, got := say(t, url+"/v1/completions", body); status != 200 {
		t.Errorf("%s: %d %s", body, status, got)
	}
}
