package report

import (
	"fmt"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Schema names the form of results.json. It changes when a reader of the old form
// would misread the new one.
const Schema = "mlperf-go/results/2"

// FileName is the name of the document in the folder of a run.
const FileName = "results.json"

// Results describe one run.
type Results struct {
	Schema  string    `json:"schema"`
	Program string    `json:"program"` // name and version
	Created time.Time `json:"created"`
	Host    string    `json:"host,omitempty"`
	// Command is what was called, argument by argument.
	Command []string `json:"command,omitempty"`

	Model    string `json:"model"`
	Scenario string `json:"scenario"`
	Mode     string `json:"mode"`
	Rules    string `json:"rules"`
	// Interactive is set if a Server run has the bounds of the model's Interactive, a scenario
	// that LoadGen does not know.
	Interactive bool `json:"interactive,omitempty"`

	// Result is VALID, INVALID or INTERRUPTED.
	Result string `json:"result"`
	// Caveats are what speaks against using the numbers as those of the rules: settings that
	// are easier, a model or data that are not the official ones, a simulated engine.
	Caveats []string `json:"caveats"`
	// Notes are settings that differ from the rules' and make nothing easier.
	Notes    []string `json:"notes,omitempty"`
	Marks    []string `json:"marks,omitempty"` // caveats, as older files have them
	Problems []string `json:"problems"`        // why the run is not VALID
	Warnings []string `json:"warnings"`

	// Fingerprint names everything that can change the result.
	Fingerprint string `json:"fingerprint,omitempty"`

	Metric      *Metric      `json:"metric,omitempty"` // the scenario's result
	Constraints []Constraint `json:"constraints,omitempty"`
	Performance *Performance `json:"performance,omitempty"`
	Accuracy    *Accuracy    `json:"accuracy,omitempty"`
	// AccuracyLogSHA256 is of the log as the test wrote it.
	AccuracyLogSHA256 string       `json:"accuracy_log_sha256,omitempty"`
	Calibration       *Calibration `json:"calibration,omitempty"`
	Peak              *Peak        `json:"find_peak,omitempty"`
	Runs              []RunOutcome `json:"runs,omitempty"` // if there were several: the lowest metric counts

	Settings   []Setting     `json:"settings"`
	Test       *Test         `json:"test,omitempty"` // the settings that the test really had
	Backend    Backend       `json:"backend"`
	Input      Input         `json:"input"`
	Phases     []PhaseTime   `json:"phases"`
	Workers    []WorkerStats `json:"workers,omitempty"`
	Queue      *QueueStats   `json:"queue,omitempty"`
	Remote     *Remote       `json:"remote,omitempty"`     // of engines whose models run on servers
	Generation *Generation   `json:"generation,omitempty"` // where servers continued prompts
	Energy     *Energy       `json:"energy,omitempty"`     // if somebody asked for it
	System     any           `json:"system,omitempty"`

	Seal string `json:"seal,omitempty"` // digest of all above; empty but in files
}

// A Metric is a number with its name and unit.
type Metric struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Performance are the measurements of a performance phase. Times are nanoseconds.
type Performance struct {
	Queries              uint64             `json:"queries"`
	Samples              uint64             `json:"samples"`
	Overlatency          uint64             `json:"overlatency_samples"`
	Began                *time.Time         `json:"began,omitempty"` // the traffic
	DurationNS           int64              `json:"duration_ns"`     // until the last completion
	SamplesPerSecond     float64            `json:"samples_per_second,omitempty"`
	ScheduledPerSecond   float64            `json:"scheduled_samples_per_second,omitempty"`
	LatencyNS            *Latencies         `json:"latency_ns,omitempty"` // absent if nothing was answered
	QueryLatencyNS       *Latencies         `json:"query_latency_ns,omitempty"`
	FirstTokenNS         *Latencies         `json:"first_token_latency_ns,omitempty"`
	TimePerOutputTokenNS *Latencies         `json:"time_per_output_token_ns,omitempty"`
	Tokens               int64              `json:"tokens,omitempty"`
	EarlyStopping        map[string]float64 `json:"early_stopping,omitempty"`
	IssueDelayNS         *Latencies         `json:"issue_delay_ns,omitempty"`
	GeneratorDelayNS     *Latencies         `json:"generator_delay_ns,omitempty"` // the part that is not the SUT's
	IssuePriority        string             `json:"issue_priority,omitempty"`     // of the thread that keeps the schedule
	GCCycles             int                `json:"gc_cycles"`
	GCPauseNS            int64              `json:"gc_pause_ns"`
}

// Latencies describe a set of times in nanoseconds.
type Latencies struct {
	Min  int64 `json:"min"`
	Mean int64 `json:"mean"`
	P50  int64 `json:"p50"`
	P90  int64 `json:"p90"`
	P95  int64 `json:"p95"`
	P97  int64 `json:"p97"`
	P99  int64 `json:"p99"`
	P999 int64 `json:"p99.9"`
	Max  int64 `json:"max"`
}

// A Peak is what a search for the highest load found.
type Peak struct {
	Unit     string     `json:"unit"` // of loads
	Best     float64    `json:"best"` // 0: none was found
	UserConf string     `json:"user_conf,omitempty"`
	Steps    []PeakStep `json:"steps"` // in the order in which they were tried
}

// A PeakStep is a load that was tried.
type PeakStep struct {
	Load      float64 `json:"load"`
	Met       bool    `json:"met"`
	Full      bool    `json:"full_length,omitempty"` // as long as the rules want; else a short one
	Seconds   float64 `json:"seconds,omitempty"`
	LatencyNS int64   `json:"latency_ns,omitempty"` // of a query, at the target percentile
	Reason    string  `json:"reason,omitempty"`     // why it was not met
}

// A RunOutcome is one of several runs that make a result.
type RunOutcome struct {
	Folder string  `json:"folder"` // within that of the results
	Result string  `json:"result"`
	Metric *Metric `json:"metric,omitempty"`
}

// Calibration says how the target was chosen when nobody gave one.
type Calibration struct {
	BatchOneLatencyNS int64   `json:"batch_1_latency_ns"`
	SamplesPerSecond  float64 `json:"samples_per_second"`
	Chosen            Metric  `json:"chosen"`
	Reason            string  `json:"reason"`
}

// NotKnown stands for a name that nobody has told: logs of LoadGen do not say which model ran
// on what.
const NotKnown = "not known"

// Backend says what answered the queries.
type Backend struct {
	Engine    string         `json:"engine"`
	Library   string         `json:"library,omitempty"`
	Devices   map[string]int `json:"devices"` // nodes of the model; -1: not known
	Instances int            `json:"instances"`
	Threads   int            `json:"intra_op_threads"` // of an instance
	Sessions  int            `json:"sessions"`         // loaded models; instances may share one
	// ReservedCores are left to the load generator.
	ReservedCores int               `json:"reserved_cores,omitempty"`
	PinnedTo      []int             `json:"pinned_to,omitempty"` // processors, one for each thread; none: any
	MaxBatch      int               `json:"max_batch_size"`
	MaxDelay      string            `json:"max_batch_delay"`
	Facts         map[string]string `json:"facts,omitempty"`
	WarmUp        WarmUp            `json:"warm_up"`
}

// WarmUp says how the model was run before the test.
type WarmUp struct {
	Runs      int   `json:"runs"`
	Stable    bool  `json:"stable"`     // the last runs took about as long as each other
	LatencyNS int64 `json:"latency_ns"` // of one sample, the median of the last runs
}

// Input says which model and data were used.
type Input struct {
	ModelPath   string   `json:"model_path"`
	ModelSHA256 string   `json:"model_sha256,omitempty"`
	ModelBytes  int64    `json:"model_bytes,omitempty"`
	Precision   string   `json:"precision,omitempty"` // fp32, fp16, int8 or int4; empty: not known, of a file that only the engine reads
	BuiltIn     bool     `json:"built_in_model"`
	DatasetPath string   `json:"dataset_path"`
	BuiltInData bool     `json:"built_in_data"`
	Samples     int      `json:"samples"`
	Part        bool     `json:"part,omitempty"`       // the samples are not the whole data set
	Reference   float64  `json:"reference,omitempty"`  // score of the FP32 model on this data; absent: the official one
	Binding     []string `json:"binding,omitempty"`    // how the model file was understood
	EndTokens   []int32  `json:"end_tokens,omitempty"` // that end answers; of language models
}

// NoTarget says why a score of the samples is not compared with a target; empty: it is.
func (i Input) NoTarget() string {
	if !i.Part {
		return ""
	}
	return fmt.Sprintf("the %d samples are a part of the data set, and the target is one of the whole", i.Samples)
}

// PhaseTime is how long a part of the run took.
type PhaseTime struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// WorkerStats are what one worker did.
type WorkerStats struct {
	Batches int64   `json:"batches"`
	Samples int64   `json:"samples"`
	Busy    float64 `json:"busy_seconds"`
}

// QueueStats tell whether the system kept up. Times are since the start of the
// traffic; of a SubmissionRun, of the test.
type QueueStats struct {
	Peak        int     `json:"peak_samples"`
	PeakSeconds float64 `json:"peak_at_seconds"`
	// Backlog is what waited when the last query had been issued, and GrewSeconds when that
	// began to gather: samples waited without a break from then on. Server only.
	Backlog     int     `json:"backlog_samples,omitempty"`
	GrewSeconds float64 `json:"grew_from_seconds,omitempty"`
}

// newLatencies converts what package loadgen measured.
func newLatencies(s loadgen.LatencyStats) Latencies {
	p := s.Percentiles
	return Latencies{
		Min: int64(s.Min), Mean: int64(s.Mean), Max: int64(s.Max),
		P50: int64(p[0]), P90: int64(p[1]), P95: int64(p[2]), P97: int64(p[3]), P99: int64(p[4]), P999: int64(p[5]),
	}
}

// Valid reports whether the result may be used under the rules that it was run with.
func (r *Results) Valid() bool { return r.Result == Valid }

// The values of Results.Result.
const (
	Valid       = "VALID"
	Invalid     = "INVALID"
	Interrupted = "INTERRUPTED"
)

// BelowTarget is the verdict on a VALID run whose accuracy misses its target.
const BelowTarget = "BELOW TARGET"
