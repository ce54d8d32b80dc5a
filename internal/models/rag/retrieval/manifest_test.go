package retrieval

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// testdata/manifest.json.gz is the head of the reference's scripts/db_manifest_intel_xpu.json.gz (mlcommons/inference b66003e10e, Apache 2.0): its
// questions without their texts but the first, and no answers but the first. The numbers of the questions are those that Python draws from 824.
func TestProbesEqualReference(t *testing.T) {
	m, err := ReadManifest("testdata/manifest.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	prompts := make([]string, 824)
	for i := range prompts {
		prompts[i] = "q"
	}
	for i, p := range ProbesOf(prompts) {
		if p.Index != m.Queries[i].Index {
			t.Fatalf("question %d is number %d, in the reference %d", i, p.Index, m.Queries[i].Index)
		}
	}
	if want := NewIndex(768).Params(); m.Index != want || m.Passages != 108711 {
		t.Errorf("the manifest has the index %+v and %d passages, want %+v and 108711", m.Index, m.Passages, want)
	}
	if got := pythonSample(probeSeed, 64, 50); !slices.Equal(got, smallSample) {
		t.Errorf("50 of 64 are %v, in Python %v", got, smallSample)
	}
}

// Addresses and file names of a page are equal (db_manifest.py, _norm_url).
func TestArticles(t *testing.T) {
	for _, u := range []string{"https://en.wikipedia.org/wiki/James_Cameron#Filmography", "en.wikipedia.org_wiki_James_Cameron#Filmography.html", "http://en.wikipedia.org/wiki/james_cameron"} {
		if got := article(u); got != "james_cameron" {
			t.Errorf("article(%q) = %q, want james_cameron", u, got)
		}
	}
}

func TestManifestOfDatabase(t *testing.T) {
	d := plainDatabase(t)
	fill(t, d)
	m, err := d.Manifest(t.Context(), "e5", ProbesOf([]string{"Elba", "who is born", "town", "river?"}))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "m.json.gz")
	if err := m.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	if m, err = ReadManifest(path); err != nil {
		t.Fatal(err)
	}
	c, err := d.Verify(t.Context(), m)
	if err != nil || len(c.Failures) > 0 || c.Overlap != 1 || c.First != 1 || c.Questions != 4 || !c.SameCorpus {
		t.Errorf("the database and its own manifest: %+v, %v", c, err)
	}
	other := plainDatabase(t)
	passages, _ := pageOf("Other", "Thun").Passages()
	if err := other.Add(t.Context(), passages); err != nil {
		t.Fatal(err)
	}
	c, err = other.Verify(t.Context(), m)
	if err != nil || len(c.Failures) != 2 || !testenv.Tells(strings.Join(c.Failures, "; "), "total_passages is 1 … 5 … overlap by 0.0000 … 0.95") || c.SameCorpus {
		t.Errorf("another database: %+v, %v", c, err)
	}
}

// The corpus' sum is that of db_manifest.py over "b", "a" and "a": sha256 of the sorted sums, each with a zero behind it.
func TestCorpusSum(t *testing.T) {
	d := plainDatabase(t)
	d.passages = []Passage{{Text: "b"}, {Text: "a"}, {Text: "a"}}
	if got := d.corpusSHA(); got != corpusSum {
		t.Errorf("sum %s, want %s", got, corpusSum)
	}
}

func TestDamagedManifests(t *testing.T) {
	good := map[string]any{
		"version": 2, "embedding_model": "e5", "total_passages": 1, "embedding_dim": 8, "index_params": map[string]any{"class": "IndexHNSWFlat"},
		"corpus_set_sha256": "", "probe_top_k": 10, "reference_queries": []any{map[string]any{"index": 0, "prompt": "q"}}, "reference_top_k": []any{},
	}
	for name, c := range map[string]struct {
		key   string
		value any
		facts string
	}{
		"good": {"version", "v2-behavioral", ""}, "old": {"version", 1, "m.json … version is 1 … 2"}, "no version": {"version", nil, "m.json … version is null"},
		"top": {"probe_top_k", 0, "probe_top_k is 0 … 1"}, "none": {"reference_queries", []any{}, "reference_queries … 0"},
		"kind": {"total_passages", "many", "m.json … total_passages"},
	} {
		changed := map[string]any{}
		for k, v := range good {
			changed[k] = v
		}
		changed[c.key] = c.value
		data, err := json.Marshal(changed)
		path := filepath.Join(t.TempDir(), "m.json")
		if err == nil {
			err = os.WriteFile(path, data, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadManifest(path); !testenv.Names(err, c.facts) {
			t.Errorf("%s: %v, want %q", name, err, c.facts)
		}
	}
	path := filepath.Join(t.TempDir(), "m.gz")
	if err := os.WriteFile(path, []byte{0x1f, 0x8b, 8, 0}, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadManifest(path); !testenv.Names(err, "m.gz … unpacking") {
		t.Errorf("a gzip file that is cut: %v", err)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"version": 2, "probe_top_k": 10, "reference_queries": [{"index": 0, "prompt": "q"}], "reference_top_k": [{"index": 0, "top_k_urls": ["u"]}]}`))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := parseManifest(data); err == nil && (len(m.Queries) == 0 || m.ProbeTopK < 1) {
			t.Errorf("%+v", m)
		}
	})
}

var smallSample = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 15, 16, 19, 20, 21, 22, 23, 24, 26, 27, 28, 29, 30, 32, 33, 34, 36, 38, 40, 41, 42, 43, 45, 46, 47, 49, 50, 51, 52, 53, 55, 57, 58, 59, 60, 61, 63} // sorted(random.Random(0xC0FFEE).sample(range(64), 50))

const corpusSum = "8395f641af379bee2a6f022c79f33c3399ea2278bc81cb646e56eef0d3540d68"
