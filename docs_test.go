package mlperf_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The documents say which test shows what.
func TestTestsThatDocumentsNameAreThere(t *testing.T) {
	known := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			known[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	for _, path := range documents {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("`(Test[A-Z][a-z]\\w+)`").FindAllSubmatch(text, -1) {
			if !known[string(m[1])] {
				t.Errorf("%s: there is no %s", path, m[1])
			}
		}
	}
}

// Each page of docs has one place in the sidebar of the site.
func TestSidebarListsEachPage(t *testing.T) {
	text, err := os.ReadFile("docs/SUMMARY.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^- \[.+\]\((.+\.md)\)$`).FindAllSubmatch(text, -1) {
		listed[string(m[1])]++
	}
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range pages {
		if name := filepath.Base(path); name != "SUMMARY.md" && listed[name] != 1 {
			t.Errorf("docs/SUMMARY.md lists %s %d times, want once", name, listed[name])
		}
		delete(listed, filepath.Base(path))
	}
	if len(listed) != 0 {
		t.Errorf("docs/SUMMARY.md lists pages that are missing: %v", listed)
	}
}
