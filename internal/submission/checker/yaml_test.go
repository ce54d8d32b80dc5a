package checker

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
)

// otherNames are names that are no texts, as they are kept.
var otherNames = regexp.MustCompile(`'\\x00(.*?)'`)

// TestYAMLIsReadAsPythonReadsIt compares with testdata/make_yaml.py.
func TestYAMLIsReadAsPythonReadsIt(t *testing.T) {
	data, err := os.ReadFile("testdata/yaml.json")
	if err != nil {
		t.Fatal(err)
	}
	var golden map[string]*string
	if err := json.Unmarshal(data, &golden); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for text, want := range golden {
		writeFile(t, dir+"/f.yaml", []byte(text))
		v, err := readYAML(tree.Tree{Root: dir}, "f.yaml")
		switch got := otherNames.ReplaceAllString(python.Repr(v), "$1"); {
		case (err != nil) != (want == nil):
			t.Errorf("%q: %v %s, Python says %s", text, err, got, show(want))
		case err == nil && got != *want:
			t.Errorf("%q: %s, Python says %s", text, got, *want)
		}
	}
}

func show(text *string) string {
	if text == nil {
		return "an exception"
	}
	return *text
}
