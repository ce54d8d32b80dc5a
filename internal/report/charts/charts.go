package charts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/units"
)

// schema names the form of the file.
const schema = "mlperf-go/charts/2"

// FileName is the name of the file in the folder of a run.
const FileName = report.ChartsFile

// Charts are the data of a run's diagrams. Times are nanoseconds, instants count from the start of
// the traffic.
type Charts struct {
	Schema string `json:"schema"`
	// Latency is per query in MultiStream and per sample otherwise.
	Latency *backend.Times `json:"latency,omitempty"`
	// IssueDelay is how much later than scheduled queries were issued, and GeneratorDelay the
	// generator's own part of it. Server, and MultiStream at fixed intervals.
	IssueDelay     *backend.Times `json:"issue_delay,omitempty"`
	GeneratorDelay *backend.Times `json:"generator_delay,omitempty"`
	// With token latencies.
	FirstToken         *backend.Times `json:"first_token_latency,omitempty"`
	TimePerOutputToken *backend.Times `json:"time_per_output_token,omitempty"`

	Timeline *Timeline `json:"timeline,omitempty"`
	// Batches are 20 consecutive parts of the run with equally many queries; the intervals of
	// Percentiles follow from them. None in Offline: all its samples start at once.
	Batches     []Batch      `json:"batches,omitempty"`
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// BatchSizes counts the model's batches by their size.
	BatchSizes []Size `json:"batch_sizes,omitempty"`
	// Gauges were read from time to time while the test ran.
	Gauges *Gauges `json:"gauges,omitempty"`
}

// A Timeline is a run over time, in buckets of equal length. Columns have an entry for each.
type Timeline struct {
	BucketNS int64 `json:"bucket_ns"`
	// Issued and Completed count samples, by when they were scheduled and completed.
	Issued    Column `json:"issued_samples"`
	Completed Column `json:"completed_samples"`
	// Outstanding is the largest number of unanswered samples at 16 instants of the bucket.
	Outstanding Column `json:"outstanding_samples"`
	// Latencies of the queries that were scheduled in the bucket. None in Offline.
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
	err := fileio.WriteIn(dir, FileName, func(w io.Writer) error { return json.NewEncoder(w).Encode(c) })
	if err != nil {
		return fmt.Errorf("writing the charts: %w", err)
	}
	return nil
}

// Sum is the SHA-256 of the file that Write writes; empty if the charts cannot be written.
func (c *Charts) Sum() string {
	sum := sha256.New()
	if json.NewEncoder(sum).Encode(c) != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// MaxFile is the largest file that is read.
const MaxFile = 8 << 20

// Read reads the charts of a run from its folder; nil if it has none.
func Read(dir string) (*Charts, error) {
	path := filepath.Join(dir, FileName)
	data, err := fileio.ReadFile(path, MaxFile)
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

// Parse reads charts from the content of their file. It checks that all columns are as long as they have to be.
func Parse(data []byte) (*Charts, error) {
	var form struct{ Schema string }
	if err := json.Unmarshal(data, &form); err != nil {
		return nil, err
	}
	if form.Schema != schema {
		return nil, fmt.Errorf("schema is %q, this program reads %q: repeat the run", form.Schema, schema)
	}
	var c Charts
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, err
	}
	if t := c.Timeline; t != nil {
		n := len(t.Issued)
		if t.BucketNS < 1 || n < 1 || len(t.Completed) != n || len(t.Outstanding) != n {
			return nil, fmt.Errorf(
				"timeline: %d issued, %d completed and %d outstanding samples in buckets of %d ns, expected as many of each in buckets of a positive length",
				n, len(t.Completed), len(t.Outstanding), t.BucketNS)
		}
		for _, column := range t.columns() {
			if len(*column) != n && len(*column) != 0 {
				return nil, fmt.Errorf("timeline: a column has %d entries, another %d", len(*column), n)
			}
		}
	}
	for i, b := range c.Batches {
		if len(b.QuantilesNS) != len(BatchPercentiles()) {
			return nil, fmt.Errorf("batch %d has %d quantiles, expected %d", i+1, len(b.QuantilesNS), len(BatchPercentiles()))
		}
	}
	if c.Gauges != nil {
		for _, s := range c.Gauges.Series {
			if len(s.Values) != len(c.Gauges.AtNS) {
				return nil, fmt.Errorf("gauges: %q has %d values for %d instants", s.Name, len(s.Values), len(c.Gauges.AtNS))
			}
		}
	}
	return &c, nil
}

func (t *Timeline) columns() []*Column {
	return []*Column{
		&t.Issued, &t.Completed, &t.Outstanding, &t.P50, &t.P90, &t.P99, &t.Max, &t.DelayP50, &t.DelayMax,
		&t.FirstTokenP50, &t.FirstTokenP90, &t.PerTokenP50, &t.PerTokenP90,
	}
}

// A Column is numbers that are kept to four digits. NaN means that nothing was measured; it is null in JSON.
type Column []float64

// MarshalJSON writes four digits of each number.
func (c Column) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 6*len(c)+2), '[')
	for i, v := range c {
		if i > 0 {
			out = append(out, ',')
		}
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'e', 3, 64), 64)
		if !units.Finite(v) { // four digits of the largest numbers are infinite
			out = append(out, "null"...)
			continue
		}
		out = strconv.AppendFloat(out, v, 'f', -1, 64)
	}
	return append(out, ']'), nil
}

// UnmarshalJSON reads numbers and nulls.
func (c *Column) UnmarshalJSON(data []byte) error {
	var values []*float64
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	*c = make(Column, len(values))
	for i, v := range values {
		if (*c)[i] = math.NaN(); v != nil {
			(*c)[i] = *v
		}
	}
	return nil
}

// Max is the largest number and its index; NaN and -1 if there is none.
func (c Column) Max() (value float64, at int) {
	value, at = math.NaN(), -1
	for i, v := range c {
		if !math.IsNaN(v) && (at < 0 || v > value) {
			value, at = v, i
		}
	}
	return value, at
}
