package run

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestAnAuditConfigWithTheModeOfOneTestDoesNotEndASearchUnsaid(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "audit.config")
	if err := os.WriteFile(conf, []byte("*.*.mode = 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := conf + ":1: the mode is that of each test: find-peak still searches"
	for mode, warned := range map[string]bool{FindPeak: true, "performance": false} {
		r, err := Resolve(Request{Model: "resnet50", Scenario: "server", Mode: mode, AuditConf: conf})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(r.Warnings, want); got != warned {
			t.Errorf("mode %s: warnings %q, want the one about the search: %v", mode, r.Warnings, warned)
		}
	}
}
