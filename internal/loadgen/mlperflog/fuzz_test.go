package mlperflog

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzReadDetail(f *testing.F) {
	f.Add(messageOf("k", "v") + messageOf("n", 1.5))
	f.Add(readTestdata(f, "old", "v0.7-server.detail.txt.gz"))
	f.Add(`:::MLLOG {"key": "k", "value": "a "b" c", "time_ms": 0.5}`)
	f.Add(`:::MLLOG {"key": "k", "value": -nan, "time_ms": 0}`)
	f.Add(`"pid": 1, "tid": 1, "ts": 1ns : GeneratedQueries: "queries" : 2`)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := parseDetail("fuzz", text)
		if err != nil && !strings.Contains(err.Error(), "fuzz:") {
			t.Fatalf("error without a line: %v", err)
		}
		_, _ = d.Effective()
		_, _, _ = d.Valid()
		for _, e := range d.Entries {
			again, err := parseDetail("again", messageOf(e.Key, e.Value))
			if err != nil || len(again.Entries) != 1 {
				t.Fatalf("%v: %q = %#v cannot be written and read", err, e.Key, e.Value)
			}
			if got := again.Entries[0].Value; survives(e.Value) && !cmp.Equal(got, e.Value) {
				t.Fatalf("%q = %#v is read back as %#v", e.Key, e.Value, got)
			}
		}
	})
}

// survives reports whether a log keeps a value as it is: reals are rounded, and
// what is not UTF-8 is replaced.
func survives(value any) bool {
	switch v := value.(type) {
	case float64:
		return false
	case string:
		return utf8.ValidString(v)
	case map[string]string:
		return utf8.ValidString(fmt.Sprint(v))
	}
	return true
}

func FuzzReadSummary(f *testing.F) {
	for _, name := range []string{"server-tokens", "singlestream-equal-issue", "accuracy", "multistream-few-queries"} {
		f.Add(readTestdata(f, "reference", name+".summary.txt"))
	}
	f.Add(readTestdata(f, "old", "v0.7-multistream.summary.txt"))
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseSummary("fuzz", text)
		lines := strings.Count(text, "\n") + 1
		for _, field := range s.Fields {
			if field.Line < 1 || field.Line > lines || field.Label == "" {
				t.Fatalf("field %+v of %d lines", field, lines)
			}
		}
		if err == nil && (s.Warnings < 0 || s.Errors < 0 || len(s.Fields) > 0 && !s.HasResult) {
			t.Fatalf("accepted %+v", s)
		}
		s.Estimate(90)
	})
}
