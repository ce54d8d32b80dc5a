package main

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheManualNamesEveryEnvironmentVariable finds those that the program and the scripts
// read by name. Flags as variables are told of as a rule.
func TestTheManualNamesEveryEnvironmentVariable(t *testing.T) {
	manual, err := os.ReadFile("../../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	read := regexp.MustCompile(`"(MLPERF_\w+)"|\$\{?(MLPERF\w*)`)
	tree := os.DirFS("../..")
	found := map[string]string{}
	err = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sh") {
			return err
		}
		text, err := fs.ReadFile(tree, path)
		for _, match := range read.FindAllStringSubmatch(string(text), -1) {
			found[match[1]+match[2]] = path
		}
		return err
	})
	if err != nil || len(found) < 4 {
		t.Fatalf("%v: found %v, want at least the folders, the configuration and the library", err, found)
	}
	for name, path := range found {
		if name != "MLPERF_LONG_TESTS" && !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("%s reads %s, which docs/data.md does not name", path, name)
		}
	}
}
