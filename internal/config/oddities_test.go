package config

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// An oddity is a file that is written in an unusual way, and what LoadGen made of it.
type oddity struct {
	Text, Scenario string
	Accepted       bool
	Values         []string // of oddFields, for the model m
}

// oddFields are what testdata/oddities.cc prints, times in milliseconds.
func oddFields(s loadgen.TestSettings) []any {
	return []any{
		s.MinQueryCount, s.OfflineExpectedQPS, s.ServerMaxAsyncQueries, s.ServerTargetLatencyPercentile, s.SingleStreamExpectedLatencyNS / 1e6,
		uint64(s.MinDuration.Milliseconds()),
	}
}

func readOddities(t *testing.T) []oddity {
	t.Helper()
	data, err := os.ReadFile("testdata/oddities.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []oddity
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// What LoadGen silently reads as something else than what is written is refused here, and nothing else is.
var misread = []string{
	"unknown key", "unknown scenario", "want model.scenario.key", "want an = between spaces", "has no value", "is not an octal number", "want a whole number",
	"must be above 0", "want a percentile", "does not fit into 64 bits", "more than a run can last", "want at most", "must not be negative", "want a finite number",
	"is too large", " says ", // a key with two values
}

// A file that LoadGen accepts has the same settings here, or is refused for something that LoadGen misreads. One that
// LoadGen refuses, and then runs without, is refused or at least warned of.
func TestOddFilesAreReadAsLoadGenReadsThem(t *testing.T) {
	read := 0
	for _, o := range readOddities(t) {
		conf, err := ParseConf("user.conf", []byte(o.Text), ParseOptions{})
		switch {
		case err != nil && o.Accepted:
			checkMisread(t, o.Text, err)
		case err == nil && !o.Accepted:
			if len(conf.Warnings) == 0 {
				t.Errorf("%q is refused by LoadGen, and not warned of here", o.Text)
			}
		case err == nil && strings.HasPrefix(o.Text, byteOrderMark):
			if len(conf.Warnings) == 0 {
				t.Errorf("%q begins with a byte order mark, which is not warned of", o.Text)
			}
		case err == nil:
			read++
			checkOddity(t, o, conf)
		}
	}
	if read < 80 {
		t.Errorf("only %d of the files are read", read)
	}
}

// checkMisread looks at each of the errors that an accepted file gives.
func checkMisread(t *testing.T, text string, err error) {
	t.Helper()
	for line := range strings.Lines(err.Error()) {
		known := false
		for _, reason := range misread {
			known = known || strings.Contains(line, reason)
		}
		if !known {
			t.Errorf("%q is accepted by LoadGen, and refused here: %s", text, line)
		}
	}
}

func checkOddity(t *testing.T, o oddity, conf *Conf) {
	t.Helper()
	scenario, err := loadgen.ParseScenario(o.Scenario)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Resolve(Request{Model: Model{Name: "m"}, Scenario: scenario, MLPerfConf: conf})
	if err != nil {
		checkMisread(t, o.Text, err) // a rate of 0, which only matters here
		return
	}
	for i, got := range oddFields(r.Settings) {
		if !equalsC(reflect.ValueOf(got), o.Values[i]) {
			t.Errorf("%q: value %d is %v, want %s", o.Text, i, got, o.Values[i])
		}
	}
}

func TestACommentBesideItsSignIsWarnedOf(t *testing.T) {
	for _, c := range []struct {
		name, line, want string // of the warning; empty: none
	}{
		{"a comment", "# text more", ""},
		{"a sign alone", "#", ""},
		{"one word, which LoadGen takes for a key without a value", "#text", ""},
		{"several signs", "########", ""},
		{"a setting that is commented out, which LoadGen takes for one of another name", "#*.*.min_query_count = 5", ""},
		{"a comment behind one word", "#text # more", ""},
		{"two words", "#text more", `LoadGen refuses the whole file because of "#text": want a space after the #`},
		{"no number", "#a = b", `LoadGen refuses the whole file because of "#a": want a space after the #`},
		{"a number and a comment", "#a = 5 # b", `LoadGen refuses the whole file because of "#a": want a space after the #`},
		{"two numbers", "#a = 5 6", ""},
		{"indented", "\t#text more", `LoadGen refuses the whole file because of "#text": want a space after the #`},
	} {
		conf, err := ParseConf("user.conf", []byte("\n"+c.line+"\n*.*.min_query_count = 9\n"), ParseOptions{})
		if err != nil || len(conf.entries) != 1 {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		want := c.want
		if want != "" {
			want = "user.conf:2: " + want
		}
		if got := strings.Join(conf.Warnings, "\n"); got != want {
			t.Errorf("%s: warnings %q, want %q", c.name, got, want)
		}
	}
}

func ExampleParseConf() {
	conf, err := ParseConf("user.conf", []byte("# of this machine\nresnet50.Server.target_qps = 250.5\n*.*.min_duration = 0x927C0\n"), ParseOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	rate, _ := conf.Lookup("Server", "target_qps", "resnet50")
	fmt.Println(rate.Name(), rate.Value, rate.Line)
	_, err = ParseConf("user.conf", []byte("resnet50.Server.target_qsp = 250.5\n*.Server.target_qps = fast\n"), ParseOptions{})
	fmt.Println(strings.ReplaceAll(err.Error(), " (known: ", "\n\t(known: ")[:66])
	// Output:
	// resnet50.Server.target_qps 250.5 2
	// user.conf:1: unknown key "target_qsp"; did you mean "target_qps"?
}
