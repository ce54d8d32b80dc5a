package run_test

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run"
)

// Both saw an empty folder.
func TestOfTwoRunsThatBeginTogetherInAFolderOneIsRefused(t *testing.T) {
	q := request(t)
	q.Output = "out"
	first, second := prepared(t, q), prepared(t, q)
	if _, err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile("out/" + report.FileName)
	if err != nil {
		t.Fatal(err)
	}
	var exists *run.ExistsError
	if _, err := second.Run(t.Context()); !errors.As(err, &exists) || exists.Folder != "out" {
		t.Errorf("the second run: %v, want an ExistsError of out", err)
	}
	if after, err := os.ReadFile("out/" + report.FileName); err != nil || string(after) != string(before) {
		t.Errorf("the results of the first are no longer what they were: %v", err)
	}
}

// With --force too, and nothing of it is removed.
func TestAFolderThatAnotherProcessWritesToIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a folder cannot be locked there")
	}
	q := request(t)
	q.Output, q.Force = "out", true
	p := prepared(t, q)
	if err := os.Mkdir("out", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("out/"+report.FileName, []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := flock.New("out", flock.SetFlag(os.O_RDONLY))
	if got, err := other.TryLock(); !got || err != nil {
		t.Fatalf("TryLock = %v, %v", got, err)
	}
	if _, err := p.Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "out: another run writes its results there") {
		t.Errorf("Run = %v, want an error that says who is there", err)
	}
	if text, err := os.ReadFile("out/" + report.FileName); err != nil || string(text) != "half" {
		t.Errorf("what the other writes is %q, %v", text, err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Run(t.Context()); err != nil {
		t.Errorf("after the other: %v", err)
	}
	left, err := os.ReadDir("out")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		if strings.Contains(f.Name(), "lock") {
			t.Errorf("%s is left among the results", f.Name())
		}
	}
}
