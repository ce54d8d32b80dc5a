package pytext

import (
	"os"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// jsoncases.json has texts with what json.loads of Python 3.11 makes of them, or its error (jsoncases.py).
func TestParseJSON(t *testing.T) {
	data, err := os.ReadFile("testdata/jsoncases.json")
	testenv.Must(t, err)
	var cases []struct {
		Text, Error string
		Value       any
		True        bool
	}
	testenv.Must(t, json.Unmarshal(data, &cases, json.MatchCaseInsensitiveNames(true)))
	if len(cases) < 100 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		v, err := ParseJSON(c.Text)
		switch {
		case err != nil && err.Error() != c.Error, err == nil && c.Error != "":
			t.Errorf("%q: error %v, want %q", c.Text, err, c.Error)
		case err == nil && !cmp.Equal(v, c.Value), Truth(v) != c.True:
			t.Errorf("%q: %#v, want %#v", c.Text, v, c.Value)
		}
	}
}

// What it accepts survives a round trip through another library, and errors lie in the text.
func FuzzParseJSON(f *testing.F) {
	f.Add(`{"a": [1, -2.5e3, "x\u00e9\ud83d\ude00", true, null], "b": {}}`)
	f.Add("[1,]")
	f.Add(`"\ud800`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := ParseJSON(text)
		if e, ok := err.(*JSONError); ok && (e.At < 0 || e.At > len([]rune(text)) || e.Error() == "") {
			t.Fatalf("%q: %v", text, err)
		}
		if err != nil {
			return
		}
		written, err := json.Marshal(v)
		if err != nil {
			return // NaN and Infinity
		}
		again, err := ParseJSON(string(written))
		if err != nil || !cmp.Equal(again, v) {
			t.Fatalf("%q: %#v, %#v, %v", text, v, again, err)
		}
	})
}
