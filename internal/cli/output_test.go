package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestPrintJSON(t *testing.T) {
	for _, c := range []struct {
		document any
		want     string
	}{
		{map[string]any{"a": 5}, "{\n  \"schema\": \"mlperf-go/x/1\",\n  \"a\": 5\n}\n"},
		{[]int{1}, "{\n  \"schema\": \"mlperf-go/x/1\",\n  \"rows\": [\n    1\n  ]\n}\n"},
		{[]int(nil), "{\n  \"schema\": \"mlperf-go/x/1\",\n  \"rows\": []\n}\n"},
		{struct {
			A []string `json:"a"`
			B *int     `json:"b"`
		}{}, "{\n  \"schema\": \"mlperf-go/x/1\",\n  \"a\": [],\n  \"b\": null\n}\n"},
		{struct{}{}, "{\n  \"schema\": \"mlperf-go/x/1\"\n}\n"},
	} {
		var b strings.Builder
		if err := printJSON(&b, "x", c.document); err != nil || b.String() != c.want {
			t.Errorf("%v: %s, %v, want %s", c.document, b.String(), err, c.want)
		}
	}
	var b strings.Builder
	if err := printJSON(&b, "x", math.NaN()); err == nil || b.Len() > 0 {
		t.Errorf("NaN: %v, and %q was printed", err, b.String())
	}
}

// Names and texts that others wrote do not steer a terminal.
func TestOutputDoesNotSteerTerminal(t *testing.T) {
	const hostile = "fast\x1b[2J\u009b1A\r"
	var b strings.Builder
	if err := say(&b, "%s\n", hostile); err != nil {
		t.Fatal(err)
	}
	if err := printTable(&b, tableRow{"name"}, []string{hostile}, func(s string) tableRow { return tableRow{s} }); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(b.String(), "\x1b\u009b\r") || strings.Count(b.String(), `fast\x1b[2J`) != 2 {
		t.Errorf("printed %q", b.String())
	}
	b.Reset()
	if err := sayDocument(&b, func(w io.Writer) error { _, err := io.WriteString(w, hostile); return err }); err != nil || b.String() != hostile {
		t.Errorf("a document for a program is %q, %v", b.String(), err)
	}
}

// A pipe is not a user: its text is not an answer.
func TestAskNeedsTerminal(t *testing.T) {
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	fmt.Fprintln(w, "y")
	w.Close()
	var stderr strings.Builder
	cmd := &cobra.Command{}
	cmd.SetErr(&stderr)
	for _, in := range []io.Reader{pipe, strings.NewReader("y\n")} {
		cmd.SetIn(in)
		if yes, asked := ask(cmd, "Go on?"); yes || asked || stderr.Len() > 0 {
			t.Errorf("%T: %v, %v, %q", in, yes, asked, stderr.String())
		}
	}
}

func TestBuiltFrom(t *testing.T) {
	for _, c := range []struct{ commit, module, want string }{
		{"0123456789", "v0.0.0-2026+dirty", " (0123456789)"}, // a checkout
		{"", "v0.3.1", " (v0.3.1)"},                          // go install
		{"", "(devel)", ""},                                  // an archive of the source
	} {
		if got := builtFrom(c.commit, c.module); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
