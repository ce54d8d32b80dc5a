package run

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/mlperf-go/mlperf/internal/harness"
)

func TestWithoutADataSetTheFolderThatOneIsInDoesNotMatter(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("notes.txt", []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	p := &Prepared{bench: &harness.Config{}}
	if got, err := p.dataOf(t.Context()); got != "" || err != nil {
		t.Errorf("the data are %q, %v; there are none", got, err)
	}
}

func TestALinkThatLeadsNowhereIsNoPartOfADataSet(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("1"), 0o666); err != nil {
		t.Fatal(err)
	}
	before, err := listingOf(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"loop": "loop", "gone": "away"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if after, err := listingOf(t.Context(), dir); after != before || err != nil {
		t.Errorf("%q, %v, want %q", after, err, before)
	}
}
