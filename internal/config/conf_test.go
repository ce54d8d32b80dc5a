package config

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

func TestParseConf(t *testing.T) {
	c := mustParse(t, "user.conf", strings.Join([]string{
		"# a comment",
		"#another, with no space",
		"",
		"\t resnet50.Server.target_qps\t=  250.5 \r",
		"*.*.min_query_count = 0x400",
		"my.own.model.Offline.min_query_count = 1 2 010",
		"  # and an indented one = 5",
		"*.*.min_query_count = 1024",
	}, "\n"))
	want := []Entry{
		{"resnet50", "Server", "target_qps", "250.5", 4},
		{"*", "*", "min_query_count", "0x400", 5},
		{"my.own.model", "Offline", "min_query_count", "010", 6},
	}
	if diff := cmp.Diff(want, c.entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{
		`user.conf:2: LoadGen refuses the whole file because of "#another,": put a space after the #`,
		"user.conf:6: my.own.model.Offline.min_query_count has 3 values, LoadGen takes the last, 010",
	}, c.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestLookupOrder(t *testing.T) {
	c := mustParse(t, "user.conf", `
*.*.min_query_count = 1
m.*.min_query_count = 2
*.Server.min_query_count = 3
m.Server.min_query_count = 4
`)
	for _, lookup := range []struct{ model, scenario, want string }{
		{"m", "Server", "4"},
		{"other", "Server", "3"},
		{"m", "Offline", "2"},
		{"other", "Offline", "1"},
		{"*", "Server", "3"},
		{"*", "Offline", "1"},
	} {
		if e, ok := c.Lookup(lookup.scenario, "min_query_count", lookup.model); !ok || e.Value != lookup.want {
			t.Errorf("Lookup(%s, %s) = %v, %v, want %s", lookup.model, lookup.scenario, e, ok, lookup.want)
		}
	}
	if e, ok := c.Lookup("Server", "max_query_count", "m"); ok {
		t.Errorf("Lookup finds %v, which is not in the file", e)
	}
}

func TestWrongLines(t *testing.T) {
	for _, c := range []struct{ name, line, want string }{
		{"key without value", "*.Server.target_qps", `expected model.scenario.key = value, got only "*.Server.target_qps"`},
		{"comment instead of value", "*.Server.target_qps # 5", `expected model.scenario.key = value, got only`},
		{"nothing after the equals sign", "*.Server.target_qps =", "*.Server.target_qps has no value"},
		{"no equals sign", "*.Server.target_qps 5", `expected an = between spaces after "*.Server.target_qps", got "5"`},
		{"equals sign without spaces", "*.Server.target_qps=5 = 6", `unknown key "target_qps=5"; did you mean "target_qps"?`},
		{"comment behind the value", "*.Server.target_qps = 5 # fast", `a comment needs a line of its own: LoadGen reads "#" as a value`},
		{"comment as the value", "*.Server.target_qps = #5", "a comment needs a line of its own"},
		{"no scenario", "target_qps = 5", `expected model.scenario.key before the =, got "target_qps"`},
		{"no model", ".Server.target_qps = 5", "expected model.scenario.key before the ="},
		{"no key", "*.Server. = 5", "expected model.scenario.key before the ="},
		{"unknown scenario", "*.Sever.target_qps = 5", `unknown scenario "Sever"; did you mean "Server"? (known: SingleStream, MultiStream, Server, Offline, *)`},
		{"Interactive", "llama2-70b.Interactive.ttft_latency = 5", "write model-interactive.Server instead"},
		{"unknown key", "*.Server.target_qsp = 5", `unknown key "target_qsp"; did you mean "target_qps"? (known: accuracy_log_probability, `},
		{"key that only flags have", "*.Server.num_issue_query_threads = 5", `unknown key "num_issue_query_threads"`},
		{"fraction as count", "*.*.min_query_count = 1.5", "expected a whole number, got 1.5"},
		{"decimal with a leading zero", "*.*.min_query_count = 089", "089 is not an octal number, which is what a leading 0 makes of it"},
		{"one bad of several values", "*.*.min_query_count = x 5", `"x" is not a number`},
		{"underscores in a number", "*.*.min_query_count = 1_000", `"1_000" is not a number`},
		{"Arabic digits", "*.Server.target_qps = ٥٠", `"٥٠" is not a number`},
		{"wide digits", "*.Server.target_qps = １００", `"１００" is not a number`},
		{"not a number", "*.Server.target_qps = NaN", "expected a finite number, got NaN"},
		{"minus zero", "*.Server.min_query_count = -0", "expected a whole number, got -0"},
		{"65 bits", "*.Server.min_query_count = 18446744073709551616", "18446744073709551616 does not fit into 64 bits"},
		{"300 million years", "*.Server.max_duration = 9223372036854775807", "are more than a run can last"},
		{"negative milliseconds", "*.Server.min_duration = -1", "must not be negative, is -1"},
		{"NUL", "*.Server.target_latency = 9\x00", `"9\x00" is not a number`},
		{"blanks that do not break", "*.Server.target_latency\u00a0=\u00a09", "expected model.scenario.key = value"},
		{"a letter that looks like another", "*.Server.tаrget_latency = 9", "unknown key"},
		{"fraction that Server would read too", "*.*.target_latency = 1.5", "expected a whole number, got 1.5"},
	} {
		if _, err := ParseConf("dir/user.conf", []byte("# first line\n"+c.line+"\n"), ParseOptions{}); err == nil || !strings.HasPrefix(err.Error(), "dir/user.conf:2: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q gives %v, want dir/user.conf:2: …%s…", c.line, err, c.want)
		}
	}
}

// The user.conf of e2e-rag in the reference has a rate of 0 for one of its benchmarks.
func TestRateOf0(t *testing.T) {
	for _, c := range []struct {
		line, model string
		scenario    loadgen.Scenario
		want        string // empty: no error
	}{
		{"db.Offline.target_qps = 0", "resnet50", loadgen.Offline, ""},
		{"db.Offline.target_qps = 0", "db", loadgen.Offline, "user.conf:2 … db.Offline.target_qps … 0"},
		{"db.*.target_qps = 0.0", "db", loadgen.Server, "user.conf:2 … db.*.target_qps … 0"},
		{"*.Server.target_qps = 1e-999", "resnet50", loadgen.Server, "user.conf:2 … *.Server.target_qps … 0"},
		{"*.SingleStream.target_latency = 0", "resnet50", loadgen.SingleStream, "user.conf:2 … *.SingleStream.target_latency … 0"},
		{"db.SingleStream.target_latency = -0", "resnet50", loadgen.SingleStream, ""},
	} {
		conf := mustParse(t, "user.conf", "# mine\n"+c.line+"\n")
		r, err := Resolve(Request{Model: Model{Name: c.model}, Known: []string{"db"}, Scenario: c.scenario, UserConf: conf})
		if !testenv.Names(err, c.want) {
			t.Errorf("%s for %s in %v: %+v, %v, want %q", c.line, c.model, c.scenario, r, err, c.want)
		}
	}
}

func TestAllErrorsAreReported(t *testing.T) {
	_, err := ParseConf("user.conf", []byte("a\n*.*.b = 1\n*.*.mode = 2\n*.C.mode = 1\n*.*.mode = x\n"), ParseOptions{})
	if err == nil {
		t.Fatal("no error")
	}
	for i, want := range []string{"user.conf:1: expected model", "user.conf:2: unknown key", "user.conf:4: unknown scenario", "user.conf:5: *.*.mode: "} {
		if lines := strings.Split(err.Error(), "\n"); len(lines) != 4 || !strings.HasPrefix(lines[i], want) {
			t.Errorf("ParseConf returns %v, want %s", err, want)
		}
	}
	c := mustParse(t, "user.conf", "*.Offline.max_async_queries = 8\n")
	if want := "user.conf:1: max_async_queries has no effect: LoadGen does not look it up in Offline"; strings.Join(c.Warnings, "\n") != want {
		t.Errorf("warnings: %q, want %q", c.Warnings, want)
	}
}

func TestFileOfAnotherKind(t *testing.T) {
	_, err := ParseConf("photo.jpg", []byte(strings.Repeat("noise\n", 1000)), ParseOptions{})
	if err == nil || strings.Count(err.Error(), "\n") != 20 || !strings.HasSuffix(err.Error(), "photo.jpg: 980 more lines are wrong") {
		t.Errorf("ParseConf = %v", err)
	}
}

func TestKeyTwice(t *testing.T) {
	for _, text := range []string{
		"*.*.min_query_count = 16\n*.*.min_query_count = 0x10\n*.*.min_query_count = 020\n",
		"*.Server.target_qps = 2.5\n*.Server.target_qps = 25e-1\n",
	} {
		if c := mustParse(t, "user.conf", text); len(c.entries) != 1 {
			t.Errorf("%q gives %v, want one entry", text, c.entries)
		}
	}
}

// Published files, and what LoadGen makes of them: TestSettings::FromConfig takes the last of two lines, and ignores keys that
// it does not look up.
func TestPublishedFiles(t *testing.T) {
	const key = "*.Server.target_qps"
	for _, c := range []struct {
		name, text string
		rate       string // of resnet50 in Server; empty: the rules'
		warning    string
		err        string
	}{
		{"a key twice", key + " = 100\n" + key + " = 120\n", "120", "user.conf:2: *.Server.target_qps = 120 replaces line 1, 100: LoadGen takes the last", ""},
		{"three times", key + " = 1\n" + key + " = 2\n# again\n" + key + " = 1\n", "1", "user.conf:4: *.Server.target_qps = 1 replaces line 2, 2", ""},
		{"twice the same", key + " = 100\n" + key + " = 1e2\n", "100", "", ""},
		{"0 at first", key + " = 0\n" + key + " = 5\n", "5", "replaces line 1, 0", ""},
		{"a model's wins over a later line of all", "resnet50.Server.target_qps = 7\n" + key + " = 9\n", "7", "", ""},
		{"a model's for all scenarios loses", "resnet50.*.target_qps = 7\n" + key + " = 9\n", "9", "", ""},
		{"comments", "# mine\n#\n" + key + " = 100\n", "100", "", ""},
		{"a comment without a space", "#" + key + " = 100\n" + key + " = 5\n", "5", "", ""},
		{"tabs", "\t" + key + "\t=\t100\t\n", "100", "", ""},
		{"lines as on Windows", key + " = 100\r\n\r\n", "100", "", ""},
		{"a byte order mark", "\ufeff# mine\n" + key + " = 100\n", "100", "byte order mark", ""},
		{"spaces behind", key + " = 100   \n", "100", "", ""},
		{"no line break at the end", key + " = 100", "100", "", ""},
		{"a second value", key + " = 100 200\n", "200", "has 2 values, LoadGen takes the last, 200", ""},
		{"scientific", key + " = 1.2e+3\n", "1200", "", ""},
		{"a key of older rounds", "*.Offline.performance_sample_count = 1024\n" + key + " = 3\n", "3",
			"user.conf:1: performance_sample_count is left out: LoadGen does not read it, its key is performance_sample_count_override", ""},
		{"another", "*.MultiStream.multi_stream_samples_per_query = 8\n" + key + " = 3\n", "3", "its key is samples_per_query", ""},
		{"upper case", "*.Server.TARGET_QPS = 100\n", "", "", `unknown key "TARGET_QPS"`},
		{"an unknown scenario", "*.server.target_qps = 100\n", "", "", `unknown scenario "server"`},
		{"no space before the =", "*.Server.target_qps= 100\n", "", "", "expected an = between spaces"},
		{"no spaces", "*.Server.target_qps=100\n", "", "", "got only"},
		{"no =", "*.Server.target_qps 100\n", "", "", "expected an = between spaces"},
		{"a comment behind the value", key + " = 100 # fast\n", "", "", "a comment needs a line of its own"},
		{"a unit", key + " = 100qps\n", "", "", "*.Server.target_qps: "},
		{"a thousands separator", key + " = 1,000\n", "", "", "*.Server.target_qps: "},
	} {
		conf, err := ParseConf("user.conf", []byte(c.text), ParseOptions{})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: %v, want %q", c.name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if text := strings.Join(conf.Warnings, "\n"); !strings.Contains(text, c.warning) || c.warning == "" && text != "" {
			t.Errorf("%s: warnings %q, want %q", c.name, text, c.warning)
		}
		r, err := Resolve(Request{Model: Model{Name: "resnet50"}, Scenario: loadgen.Server, UserConf: conf})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := strconv.FormatFloat(r.Settings.ServerTargetQPS, 'g', -1, 64); got != c.rate {
			t.Errorf("%s: the rate is %s, want %s", c.name, got, c.rate)
		}
	}
}

func TestUnknownKeysAllowed(t *testing.T) {
	text := []byte("*.*.frobnicate = x\n*.*.min_query_count = 7\n")
	c, err := ParseConf("user.conf", text, ParseOptions{AllowUnknownKeys: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{`user.conf:1: unknown key "frobnicate" is left out`}, c.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if len(c.entries) != 1 {
		t.Errorf("entries = %v, want min_query_count alone", c.entries)
	}
	if _, err := ParseConf("user.conf", []byte("*.Sever.mode = 1\n"), ParseOptions{AllowUnknownKeys: true}); err == nil {
		t.Error("an unknown scenario is accepted too")
	}
}

func FuzzParseConf(f *testing.F) {
	for _, seed := range []string{
		"", "*.*.mode = 2", "m.Server.target_qps = 0x1p3\n# c\n", "a.b.Server.target_latency = 010\r\n*.*.min_duration = 1 2",
		"*.*.unknown = 1\n", "*.*.mode = 2\n*.*.mode = 02", "\x00.*.mode = 1", "é.*.mode = 1",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	for _, version := range Versions() {
		f.Add(mustRules(f, version).Conf.Format(), false)
	}
	f.Fuzz(func(t *testing.T, text []byte, allow bool) {
		c, err := ParseConf("fuzz.conf", text, ParseOptions{AllowUnknownKeys: allow})
		if err != nil {
			if !strings.Contains(err.Error(), "fuzz.conf") {
				t.Fatalf("error without a place: %v", err)
			}
			return
		}
		again, err := ParseConf("again.conf", c.Format(), ParseOptions{})
		if err != nil {
			t.Fatalf("the formatted file is refused: %v\n%s", err, c.Format())
		}
		if string(again.Format()) != string(c.Format()) || len(again.entries) != len(c.entries) {
			t.Fatalf("formatting again gives\n%s, want\n%s", again.Format(), c.Format())
		}
	})
}

func TestCommentWithoutSpace(t *testing.T) {
	for _, c := range []struct {
		name, line, want string // of the warning; empty: none
	}{
		{"a comment", "# text more", ""},
		{"one word, which LoadGen takes for a key without a value", "#text", ""},
		{"a setting that is commented out, which LoadGen takes for one of another name", "#*.*.min_query_count = 5", ""},
		{"two words", "#text more", `LoadGen refuses the whole file because of "#text": put a space after the #`},
		{"no number", "#a = b", `LoadGen refuses the whole file because of "#a": put a space after the #`},
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
