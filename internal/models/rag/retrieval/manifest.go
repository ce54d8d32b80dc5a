package retrieval

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"gonum.org/v1/gonum/mathext/prng"

	"github.com/mlperf-go/mlperf/internal/fileio"
)

// A Manifest says how a database answers, so that two databases of the same pages can be compared (e2e-rag, db_manifest.py). Its form is
// that of the reference.
type Manifest struct {
	Version   jsontext.Value  `json:"version"` // 2, or in older ones "v2-behavioral"
	Retriever string          `json:"retriever_model,omitempty"`
	Embedding string          `json:"embedding_model"`
	Passages  int             `json:"total_passages"`
	Dim       int             `json:"embedding_dim"`
	Index     IndexParams     `json:"index_params"`
	CorpusSHA string          `json:"corpus_set_sha256"`
	ProbeTopK int             `json:"probe_top_k"`
	Queries   []ProbeQuery    `json:"reference_queries"`
	TopK      []ProbeResponse `json:"reference_top_k"`
}

// IndexParams describe an index as FAISS does.
type IndexParams struct {
	Class          string `json:"class"`
	Dim            int    `json:"dim"`
	Metric         int    `json:"metric_type"` // 1: L2
	EfConstruction int    `json:"efConstruction"`
	EfSearch       int    `json:"efSearch"`
	M              int    `json:"M"`
}

// A ProbeQuery is a question of the data set.
type ProbeQuery struct {
	Index  int    `json:"index"`
	Prompt string `json:"prompt"`
}

// A ProbeResponse has the pages of the passages that are nearest to it, the nearest first.
type ProbeResponse struct {
	Index int      `json:"index"`
	URLs  []string `json:"top_k_urls"`
}

// Params describe the index.
func (x *Index) Params() IndexParams {
	return IndexParams{Class: "IndexHNSWFlat", Dim: x.width, Metric: 1, EfConstruction: indexConstruction, EfSearch: indexSearch, M: indexLinks}
}

// The numbers of the reference (db_manifest.py).
const (
	probeSeed    = 0xC0FFEE
	probeQueries = 50
	probeTopK    = 10
	leastOverlap = 0.95
)

const (
	mostManifest = 64 << 20 // bytes, also when unpacked
	mostProbes   = 10_000
)

// ReadManifest reads a manifest, of JSON or of JSON in gzip.
func ReadManifest(path string) (*Manifest, error) {
	data, err := fileio.ReadFile(path, mostManifest)
	var m *Manifest
	if err == nil {
		if m, err = parseManifest(data); err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the manifest: %w", err)
	}
	return m, nil
}

func parseManifest(data []byte) (*Manifest, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err == nil {
			data, err = io.ReadAll(io.LimitReader(z, mostManifest+1))
		}
		if err == nil && len(data) > mostManifest {
			err = fmt.Errorf("more than %d bytes", mostManifest)
		}
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
	}
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("not a manifest of a database: %w", err)
	}
	if v := string(m.Version); v != "2" && v != `"v2-behavioral"` {
		return nil, fmt.Errorf("version is %s: must be 2", cmp.Or(v, "missing"))
	}
	switch {
	case m.ProbeTopK < 1 || m.ProbeTopK > 1000:
		return nil, fmt.Errorf("probe_top_k is %d: must be 1 to 1000", m.ProbeTopK)
	case len(m.Queries) == 0 || len(m.Queries) > mostProbes:
		return nil, fmt.Errorf("reference_queries has %d questions: must be 1 to %d", len(m.Queries), mostProbes)
	}
	return m, nil
}

// WriteFile writes the manifest as the reference does, in gzip if the name ends in .gz.
func (m *Manifest) WriteFile(path string) error {
	text, err := json.Marshal(m, jsontext.WithIndent("  "), jsontext.SpaceAfterColon(true))
	if err == nil && strings.HasSuffix(path, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, err = z.Write(text)
		err = errors.Join(err, z.Close())
		text = b.Bytes()
	}
	if err == nil {
		err = fileio.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return nil
}

// ProbesOf chooses the questions of a manifest: 50 by the seed of the reference, in their order.
func ProbesOf(prompts []string) []ProbeQuery {
	var list []ProbeQuery
	for _, i := range pythonSample(probeSeed, len(prompts), min(probeQueries, len(prompts))) {
		list = append(list, ProbeQuery{i, prompts[i]})
	}
	return list
}

// pythonSample is sorted(random.Random(seed).sample(range(n), k)) of Python.
func pythonSample(seed uint32, n, k int) []int {
	mt := prng.NewMT19937()
	mt.SeedFromKeys([]uint32{seed})
	below := func(n int) int {
		width := bits.Len(uint(n))
		for {
			if r := int(mt.Uint32() >> (32 - width)); r < n {
				return r
			}
		}
	}
	var chosen []int
	limit := 21
	if k > 5 { // the size of a set of k numbers: 4^⌈log₄(3k)⌉
		size := 1
		for size < 3*k {
			size *= 4
		}
		limit += size
	}
	if n <= limit {
		pool := make([]int, n)
		for i := range pool {
			pool[i] = i
		}
		for i := range k {
			j := below(n - i)
			chosen = append(chosen, pool[j])
			pool[j] = pool[n-i-1]
		}
	} else {
		for range k {
			j := below(n)
			for slices.Contains(chosen, j) {
				j = below(n)
			}
			chosen = append(chosen, j)
		}
	}
	slices.Sort(chosen)
	return chosen
}

// Manifest makes the manifest of the database by questions.
func (d *Database) Manifest(ctx context.Context, model string, probes []ProbeQuery) (*Manifest, error) {
	top, err := d.topK(ctx, probes, probeTopK)
	if err != nil {
		return nil, err
	}
	return &Manifest{
		Version: jsontext.Value("2"), Retriever: model, Embedding: model, Passages: d.Len(), Dim: d.Width(), Index: d.index.Params(),
		CorpusSHA: d.corpusSHA(), ProbeTopK: probeTopK, Queries: probes, TopK: top,
	}, nil
}

// corpusSHA is a sum of the texts of all passages, in whatever order (_corpus_set_sha256).
func (d *Database) corpusSHA() string {
	sums := make([]string, len(d.passages))
	for i, p := range d.passages {
		sum := sha256.Sum256([]byte(p.Text))
		sums[i] = hex.EncodeToString(sum[:])
	}
	slices.Sort(sums)
	all := sha256.New()
	for _, s := range sums {
		io.WriteString(all, s+"\x00") // a hash returns no error
	}
	return hex.EncodeToString(all.Sum(nil))
}

// topK finds the pages of each question.
func (d *Database) topK(ctx context.Context, probes []ProbeQuery, k int) ([]ProbeResponse, error) {
	var list []ProbeResponse
	for _, q := range probes {
		found, err := d.Lookup(ctx, q.Prompt, k)
		if err != nil {
			return nil, err
		}
		list = append(list, ProbeResponse{q.Index, urls(found)})
	}
	return list, nil
}

// A Comparison says how far a database answers as a manifest says.
type Comparison struct {
	Overlap    float64 // mean share of the pages of a question that are found, in any order; at least 0.95 is wanted
	First      float64 // share of questions with the same first page
	Questions  int
	SameCorpus bool     // the same texts of passages, which is not asked for
	Failures   []string // what must be equal and is not; none: the database passes
}

// Verify compares the database with a manifest: its size and index have to be equal, and the pages that it finds about the same.
func (d *Database) Verify(ctx context.Context, m *Manifest) (*Comparison, error) {
	c := &Comparison{SameCorpus: d.corpusSHA() == m.CorpusSHA}
	fail := func(format string, args ...any) { c.Failures = append(c.Failures, fmt.Sprintf(format, args...)) }
	if n := d.Len(); n != m.Passages {
		fail("total_passages is %d: must be %d as in the manifest", n, m.Passages)
	}
	if d.Width() != m.Dim {
		fail("embedding_dim is %d: must be %d as in the manifest, which has another encoder", d.Width(), m.Dim)
	}
	if have := d.index.Params(); have != m.Index {
		fail("index_params are %+v: must be %+v as in the manifest", have, m.Index)
	}
	found, err := d.topK(ctx, m.Queries, m.ProbeTopK)
	if err != nil {
		return nil, err
	}
	want := map[int][]string{}
	for _, r := range m.TopK {
		want[r.Index] = r.URLs
	}
	for _, f := range found {
		urls, known := want[f.Index]
		if !known {
			continue
		}
		c.Questions++
		have, ref := articles(f.URLs, m.ProbeTopK), articles(urls, m.ProbeTopK)
		if len(have) > 0 && len(ref) > 0 && have[0] == ref[0] {
			c.First++
		}
		c.Overlap += overlap(have, ref)
	}
	if c.Questions > 0 {
		c.Overlap, c.First = c.Overlap/float64(c.Questions), c.First/float64(c.Questions)
	}
	if c.Overlap < leastOverlap {
		fail("the pages of %d questions overlap by %.4f: must be %g or more", c.Questions, c.Overlap, leastOverlap)
	}
	return c, nil
}

func articles(urls []string, most int) []string {
	var list []string
	for _, u := range urls[:min(len(urls), most)] {
		list = append(list, article(u))
	}
	return list
}

// overlap is the share of the different pages of ref that have has.
func overlap(have, ref []string) float64 {
	distinct, both := map[string]bool{}, 0
	for _, page := range ref {
		if !distinct[page] && slices.Contains(have, page) {
			both++
		}
		distinct[page] = true
	}
	return float64(both) / float64(max(len(distinct), 1))
}
