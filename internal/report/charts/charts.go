package charts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
)

// schema names the form of the file.
const schema = "mlperf-go/charts/2"

// FileName is the name of the file in the folder of a run.
const FileName = "charts.json"

// Charts are what can be drawn of a run. Times are nanoseconds, instants are since the start of
// the traffic.
type Charts struct {
	Schema string `json:"schema"`
	// Latency is that of queries in MultiStream and of samples otherwise.
	Latency *backend.Times `json:"latency,omitempty"`
	// IssueDelay is how much later than scheduled queries were issued, and GeneratorDelay the
	// part of it that is not the SUT's. Server, and MultiStream at fixed intervals.
	IssueDelay     *backend.Times `json:"issue_delay,omitempty"`
	GeneratorDelay *backend.Times `json:"generator_delay,omitempty"`
	// With token latencies.
	FirstToken         *backend.Times `json:"first_token_latency,omitempty"`
	TimePerOutputToken *backend.Times `json:"time_per_output_token,omitempty"`

	Timeline *Timeline `json:"timeline,omitempty"`
	// Batches are 20 consecutive parts of the run with equally many queries, and Percentiles what
	// follows from them. None in Offline: its latencies are instants.
	Batches     []Batch      `json:"batches,omitempty"`
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// BatchSizes says how often the model ran with how many samples.
	BatchSizes []Size `json:"batch_sizes,omitempty"`
	// Gauges are what was read from time to time while the test ran.
	Gauges *Gauges `json:"gauges,omitempty"`
}

// A Timeline is a run over time, in buckets of equal length. Columns have an entry for each.
type Timeline struct {
	BucketNS int64 `json:"bucket_ns"`
	// Issued and Completed count samples, by when they were scheduled and completed.
	Issued    Column `json:"issued_samples"`
	Completed Column `json:"completed_samples"`
	// Outstanding is the most samples that were under way at 16 instants of the bucket.
	Outstanding Column `json:"outstanding_samples"`
	// Latencies are those of what was scheduled in the bucket. None in Offline.
	P50 Column `json:"latency_p50_ns,omitempty"`
	P90 Column `json:"latency_p90_ns,omitempty"`
	P99 Column `json:"latency_p99_ns,omitempty"`
	Max Column `json:"latency_max_ns,omitempty"`

	DelayP50 Column `json:"issue_delay_p50_ns,omitempty"`
	DelayMax Column `json:"issue_delay_max_ns,omitempty"`

	FirstTokenP50 Column `json:"first_token_p50_ns,omitempty"`
	FirstTokenP90 Column `json:"first_token_p90_ns,omitempty"`
	PerTokenP50   Column `json:"time_per_output_token_p50_ns,omitempty"`
	PerTokenP90   Column `json:"time_per_output_token_p90_ns,omitempty"`
}

// A Size counts batches of so many samples.
type Size struct {
	Samples int    `json:"samples"`
	Batches uint64 `json:"batches"`
}

// Gauges are numbers that were read at the same instants.
type Gauges struct {
	AtNS   Column  `json:"at_ns"`
	Series []Gauge `json:"series"`
}

// A Gauge is a number over time.
type Gauge struct {
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Values Column `json:"values"` // as many as there are instants
}

// Write stores the charts in the folder of a run.
func (c *Charts) Write(dir string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("writing %s: %w", FileName, err)
	}
	path := filepath.Join(dir, FileName)
	err = fileio.WriteAtomic(path, 0o644, func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
	if err != nil {
		return fmt.Errorf("writing the charts: %s: %w", path, err)
	}
	return nil
}

// maxFile is how long the file may be.
const maxFile = 8 << 20

// Read reads the charts of a run from its folder; nil if it has none, or those of an earlier form.
func Read(dir string) (*Charts, error) {
	path := filepath.Join(dir, FileName)
	data, err := fileio.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the charts: %w", err)
	}
	c, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return c, nil
}

// Parse reads charts from the content of their file; nil if their form is an earlier one. All columns of what it returns
// are as long as they have to be.
func Parse(data []byte) (*Charts, error) {
	var form struct{ Schema string }
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, err
	}
	switch form.Schema {
	case schema:
	case "mlperf-go/charts/1":
		return nil, nil
	default:
		return nil, fmt.Errorf("schema is %q, this program reads %q", form.Schema, schema)
	}
	c := &Charts{}
	if err := json.Unmarshal(data, c); err != nil {
		return nil, err
	}
	if err := c.Timeline.check(); err != nil {
		return nil, fmt.Errorf("timeline: %w", err)
	}
	for i, b := range c.Batches {
		if len(b.QuantilesNS) != len(BatchPercentiles()) {
			return nil, fmt.Errorf("batch %d has %d quantiles, want %d", i+1, len(b.QuantilesNS), len(BatchPercentiles()))
		}
	}
	if err := c.Gauges.check(); err != nil {
		return nil, fmt.Errorf("gauges: %w", err)
	}
	return c, nil
}

// mostBuckets is how many entries a column of a file may have.
const mostBuckets = 100_000

func (t *Timeline) check() error {
	if t == nil {
		return nil
	}
	n := len(t.Issued)
	if t.BucketNS < 1 || n < 1 || n > mostBuckets {
		return fmt.Errorf("%d buckets of %d ns, want 1 to %d of a positive length", n, t.BucketNS, mostBuckets)
	}
	return t.checkColumns(n)
}

// checkColumns finds columns that have not as many entries as there are buckets.
func (t *Timeline) checkColumns(n int) error {
	for _, c := range t.columns() {
		if len(*c) != n && len(*c) != 0 {
			return fmt.Errorf("a column has %d entries, another %d", len(*c), n)
		}
	}
	if len(t.Completed) != n || len(t.Outstanding) != n {
		return errors.New("there are no completed or no outstanding samples")
	}
	return nil
}

func (t *Timeline) columns() []*Column {
	return []*Column{
		&t.Issued, &t.Completed, &t.Outstanding, &t.P50, &t.P90, &t.P99, &t.Max, &t.DelayP50, &t.DelayMax,
		&t.FirstTokenP50, &t.FirstTokenP90, &t.PerTokenP50, &t.PerTokenP90,
	}
}

func (g *Gauges) check() error {
	if g == nil {
		return nil
	}
	if len(g.AtNS) > mostBuckets {
		return fmt.Errorf("%d instants, want at most %d", len(g.AtNS), mostBuckets)
	}
	for _, s := range g.Series {
		if len(s.Values) != len(g.AtNS) {
			return fmt.Errorf("%q has %d values for %d instants", s.Name, len(s.Values), len(g.AtNS))
		}
	}
	return nil
}
