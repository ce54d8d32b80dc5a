package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A command is what MergeOptions fills.
type command struct{ values, origins map[string]string }

func (c *command) options(names ...string) []Option {
	c.values, c.origins = map[string]string{}, map[string]string{}
	var list []Option
	for _, name := range names {
		list = append(list, Option{Name: name, Set: func(s, origin string, role limitation.Role) error {
			c.values[name], c.origins[name] = s, string(role)+" by "+origin
			return nil
		}})
	}
	return list
}

func writeYAML(t *testing.T, text string) OptionFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mlperf.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return OptionFile{Path: path}
}

func TestOrderOfSources(t *testing.T) {
	t.Setenv("MLPERF_SCENARIO", "Offline")
	t.Setenv("MLPERF_MODEL", "bert")
	t.Setenv("MLPERF_RULES", "")
	file := writeYAML(t, "scenario: Server\nmodel: resnet50\ntarget_qps: 250.5\nrules: v5.1\n")
	var c command
	options := c.options("scenario", "model", "target-qps", "rules", "device")
	options[0].Changed = true
	if _, err := MergeOptions(options, file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"model": "bert", "target-qps": "250.5", "rules": "v5.1"}, c.values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	origins := map[string]string{
		"model": "environment by environment MLPERF_MODEL", "target-qps": "mlperf.yaml by " + file.Path + ": target-qps", "rules": "mlperf.yaml by " + file.Path + ": rules",
	}
	if diff := cmp.Diff(origins, c.origins); diff != "" {
		t.Errorf("origins (-want +got):\n%s", diff)
	}
}

func TestYAMLValues(t *testing.T) {
	file := writeYAML(t, "a: 10s\nb: true\nc: 18446744073709551615\nd: 0x10\ne: 1e3\nf: [x, 2, 3.5]\ng: \"\"\n")
	var c command
	if _, err := MergeOptions(c.options("a", "b", "c", "d", "e", "f", "g"), file); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"a": "10s", "b": "true", "c": "18446744073709551615", "d": "16", "e": "1000", "f": "x,2,3.5", "g": ""}
	if diff := cmp.Diff(want, c.values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestWrongFiles(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "target-qsp: 5", `unknown key "target-qsp"; did you mean "target-qps"? (known: model, target-qps, trace-only)`},
		{"upper case", "Model: x", `unknown key "Model"; did you mean "model"?`},
		{"section", "run:\n  model: x", `unknown key "run"`},
		{"map as value", "model: {name: x}", "model: expected one value or a list of values"},
		{"no value", "model:", "model: has no value"},
		{"both spellings", "target-qps: 1\ntarget_qps: 2", "target-qps is given twice"},
		{"same key twice", "model: x\nmodel: y", "already defined"},
		{"a second document", "# mine\n---\nmodel: x\n---\nmodel: y\n", ":4: a second document begins, which nothing would read"},
		{"a second document after the end", "model: x\n...\n\nmodel: y\n", ":2: a second document begins, which nothing would read"},
		{"a list of maps", "model: [{a: b}]", "model: expected one value or a list of values"},
		{"not a document of keys", "- model", "cannot unmarshal"},
		{"not YAML", "model: [", "line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := writeYAML(t, c.text)
			file.Known = []string{"trace-only"}
			var cmd command
			_, err := MergeOptions(cmd.options("model", "target-qps"), file)
			if err == nil || !strings.Contains(err.Error(), file.Path) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q gives %v, want …%s…", c.text, err, c.want)
			}
		})
	}
}

func TestYAMLDocument(t *testing.T) {
	for _, text := range []string{"---\nmodel: x\n", "# mine\n\n%YAML 1.1\n--- # yes\nmodel: x\n...\n", "model: x\n---\n# nothing more\n", "\xef\xbb\xbfmodel: x\r\n", "model: |-\n  x\n"} {
		var c command
		if _, err := MergeOptions(c.options("model"), writeYAML(t, text)); err != nil || c.values["model"] != "x" {
			t.Errorf("%q: %v, %v", text, c.values, err)
		}
	}
}

func TestLists(t *testing.T) {
	for _, c := range []struct {
		text    string
		repeats bool
		want    []string
	}{
		{"endpoint: [http://a, 'http://b,c']", true, []string{"http://a", "http://b,c"}},
		{"endpoint:\n  - 1\n  - true\n", true, []string{"1", "true"}},
		{"endpoint: a,b", true, []string{"a,b"}},
		{"endpoint: []", true, nil},
		{"endpoint: [1, 2]", false, []string{"1,2"}},
	} {
		var got []string
		option := Option{Name: "endpoint", Repeats: c.repeats, Set: func(s, _ string, _ limitation.Role) error { got = append(got, s); return nil }}
		if _, err := MergeOptions([]Option{option}, writeYAML(t, c.text)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s, repeats %v: %q, %v; want %q", c.text, c.repeats, got, err, c.want)
		}
	}
	t.Setenv("MLPERF_ENDPOINT", "http://c")
	var got []string
	option := Option{Name: "endpoint", Repeats: true, Set: func(s, _ string, _ limitation.Role) error { got = append(got, s); return nil }}
	if _, err := MergeOptions([]Option{option}, writeYAML(t, "endpoint: [http://a, http://b]")); err != nil || !slices.Equal(got, []string{"http://c"}) {
		t.Errorf("the environment goes before the list: %q, %v", got, err)
	}
}

func TestKeysOfOtherCommands(t *testing.T) {
	file := writeYAML(t, "total-sample-count: 5\nmodel: x\n")
	file.Known = []string{"total-sample-count"}
	var c command
	if _, err := MergeOptions(c.options("model"), file); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"model": "x"}, c.values); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestRefusedValues(t *testing.T) {
	t.Setenv("MLPERF_COUNT", "many")
	refuse := func(s, _ string, _ limitation.Role) error { _, err := strconv.Atoi(s); return err }
	file := writeYAML(t, "limit: few\n")
	_, err := MergeOptions([]Option{{Name: "count", Set: refuse}, {Name: "limit", Set: refuse}}, file)
	var of *userinput.Error
	if !errors.As(err, &of) || of.Field != "count" || !strings.Contains(err.Error(), "environment MLPERF_COUNT: ") || !strings.Contains(err.Error(), file.Path+": limit: ") {
		t.Errorf("MergeOptions = %v", err)
	}
}

func TestMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	if _, err := MergeOptions(nil, OptionFile{Path: path}); err != nil {
		t.Errorf("an optional file: %v", err)
	}
	if _, err := MergeOptions(nil, OptionFile{Path: path, Required: true}); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a required file: %v", err)
	}
	if _, err := MergeOptions(nil, OptionFile{}); err != nil {
		t.Errorf("no file: %v", err)
	}
}

func TestUnknownVariables(t *testing.T) {
	for _, name := range []string{"MLPERF_LONG_TESTS", "MLPERF_ORT_LIB"} { // how these tests are run
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	t.Setenv("MLPERF_TARGET_QSP", "5")
	t.Setenv("MLPERF_SCRATCH_PATH", "/scratch")
	t.Setenv("MLPERF_CACHE_DIR", "/cache")
	t.Setenv("MLPERF_TARGET_LATENCY", "1ms")
	var c command
	warnings, err := MergeOptions(c.options("target-qps"), OptionFile{Known: []string{"target-latency"}, Variables: []string{"MLPERF_CACHE_DIR"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"environment variable MLPERF_SCRATCH_PATH is not used", "environment variable MLPERF_TARGET_QSP is not used; did you mean MLPERF_TARGET_QPS?"}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
