package report

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Schema names the form of results.json. It changes when a reader of the old form
// would misread the new one. Older documents are read too (older.go).
const (
	Schema    = schemas + "4"
	schemas   = "mlperf-go/results/"
	beginning = "{\n  \"schema\": \"" + schemas
)

// FileName is the name of the document in the folder of a run.
const FileName = "results.json"

// Results describe one run.
type Results struct {
	Schema  string    `json:"schema"`
	Program string    `json:"program"` // name and version
	Created time.Time `json:"created"`
	Host    string    `json:"host,omitempty"`
	// Command is the command line, argument by argument.
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
	// Limitations limit the use of the numbers as results under the rules: easier settings,
	// a model or data that are not the official ones, a simulated engine.
	Limitations Limitations `json:"limitations"`
	// Notes are settings that differ from the rules' and make nothing easier.
	Notes    []string `json:"notes,omitempty"`
	Problems []string `json:"problems"` // why the run is not VALID
	Warnings []string `json:"warnings"`

	// Fingerprint names everything that can change the result.
	Fingerprint string `json:"fingerprint,omitempty"`

	Metric      *Metric       `json:"metric,omitempty"` // the scenario's result
	Constraints []Constraint  `json:"constraints,omitempty"`
	Performance *Performance  `json:"performance,omitempty"`
	Steady      *Steady       `json:"steady,omitempty"` // without a beginning and an end that were cut off; absent: nothing was
	SLO         *ServiceLevel `json:"slo,omitempty"`    // absent: no objective was given
	Accuracy    *Accuracy     `json:"accuracy,omitempty"`
	NotScored   string        `json:"not_scored,omitempty"` // why answers that were to be scored are not; absent: they are, or were not to be
	Calibration *Calibration  `json:"calibration,omitempty"`
	Peak        *Peak         `json:"find_peak,omitempty"`
	Runs        []RunOutcome  `json:"runs,omitempty"` // if there were several: the lowest metric counts

	Settings   []Setting     `json:"settings"`
	Test       *Test         `json:"test,omitempty"` // the settings that the test really had
	Backend    Backend       `json:"backend"`
	Input      Input         `json:"input"`
	Phases     []PhaseTime   `json:"phases"`
	Workers    []WorkerStats `json:"workers,omitempty"`
	Queue      *QueueStats   `json:"queue,omitempty"`
	Remote     *Remote       `json:"remote,omitempty"`     // of engines whose models run on servers
	Generation *Generation   `json:"generation,omitempty"` // where servers continued prompts
	// Speculation is speculative decoding at the servers, as the user declared it; absent: none was declared.
	Speculation *rounds.Speculation `json:"speculative_decoding,omitempty"`
	// ServerMetrics are what servers told of themselves during the traffic, once a second. Nothing is judged by them.
	ServerMetrics []ServerMetric `json:"server_metrics,omitempty"`
	Energy        *Energy        `json:"energy,omitempty"` // if the run was to measure it
	// Preparation is that of samples inside the latency; absent: samples were made before the test, as the rules allow.
	Preparation *Preparation `json:"timed_preprocessing,omitempty"`
	Operations  *Operations  `json:"operations,omitempty"` // absent: the model is not an ONNX graph that this program reads
	System      any          `json:"system,omitempty"`

	// Files are the SHA-256 sums of the logs, the score and the charts as the run wrote them, by their paths in its folder.
	// Absent while the test runs.
	Files map[string]string `json:"files_sha256,omitempty"`
	Seal  string            `json:"seal,omitempty"` // digest of all above; empty but in files

	// UnderWay says that the test has not ended: the record is what was known at the last checkpoint, as that of an interrupted
	// test. Readers set it who know.
	UnderWay bool `json:"-"`
}

// A ServerMetric sums up readings of a figure that a server tells.
type ServerMetric struct {
	Server   string  `json:"server"`
	Name     string  `json:"name"`
	Unit     string  `json:"unit"`
	Readings int     `json:"readings"`
	Min      float64 `json:"min"`
	Mean     float64 `json:"mean"`
	Max      float64 `json:"max"`
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
	LatencyTrend         *Trend             `json:"latency_trend,omitempty"` // of the time to the first token, where tokens have latencies; Server
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

// A Peak is the result of a search for the highest load.
type Peak struct {
	Unit     string         `json:"unit"`           // of loads
	Best     float64        `json:"best,omitempty"` // confirmed at full length; 0: none was
	UserConf userinput.Text `json:"user_conf,omitempty"`
	// How the rules confirm a load: by how many tests, and what follows one that fails; empty: they do not say.
	Procedure string `json:"procedure,omitempty"`
	// Bounds are what the search keeps; none: not known, of an older record or of LoadGen's own search.
	Bounds []Objective `json:"bounds,omitempty"`
	Steps  []PeakStep  `json:"steps"` // in the order in which they were tried
}

// A PeakStep is a load that was tried.
type PeakStep struct {
	Load      float64 `json:"load"`
	Met       bool    `json:"met"`
	Full      bool    `json:"full_length,omitempty"` // as long as the rules want; else a short one
	Seconds   float64 `json:"seconds,omitempty"`
	LatencyNS int64   `json:"latency_ns,omitempty"` // of a query, at the target percentile
	// Where tokens have bounds: the time to the first token and the time per further token, at the same percentile.
	FirstTokenNS int64  `json:"first_token_ns,omitempty"`
	PerTokenNS   int64  `json:"per_token_ns,omitempty"`
	Grew         bool   `json:"queue_grew,omitempty"` // latency rose from the beginning of the traffic to its end
	Reason       string `json:"reason,omitempty"`     // why it was not met
}

// A RunOutcome is one of several runs that make a result.
type RunOutcome struct {
	Folder string  `json:"folder"` // within that of the results
	Result string  `json:"result"`
	Metric *Metric `json:"metric,omitempty"`
}

// Calibration says how a target that was not given was chosen.
type Calibration struct {
	BatchOneLatencyNS int64   `json:"batch_1_latency_ns"`
	SamplesPerSecond  float64 `json:"samples_per_second"`
	Chosen            Metric  `json:"chosen"`
	Reason            string  `json:"reason"`
}

// NotKnown stands for a name that is not known: logs of LoadGen do not say which model ran
// on which engine.
const NotKnown = "not known"

// Backend is the engine that answered the queries.
type Backend struct {
	Engine    string         `json:"engine"`
	Simulated bool           `json:"simulated,omitempty"` // it computes nothing
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
	Precision   string   `json:"precision,omitempty"` // fp32, fp16, bf16, int8 or int4; empty: not known, of a file that only the engine reads
	BuiltIn     bool     `json:"built_in_model"`
	DatasetPath string   `json:"dataset_path"`
	BuiltInData bool     `json:"built_in_data"`
	Samples     int      `json:"samples"`
	Part        bool     `json:"part,omitempty"`            // the samples are not the whole data set
	Reference   float64  `json:"reference,omitempty"`       // score of the FP32 model on this data; absent: the official one
	Binding     []string `json:"binding,omitempty"`         // how the model file was understood
	RunSamples  int      `json:"samples_per_run,omitempty"` // that one run of the model takes; absent: any number, up to max_batch_size
	EndTokens   []int32  `json:"end_tokens,omitempty"`      // that end answers; of language models

	Conversion *Conversion `json:"conversion,omitempty"` // of the model from FP32, as its file tells it; absent: it tells none
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

// WorkerStats is the work of one worker.
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

// Valid reports whether the result may be used under the rules that it was run with.
func (r *Results) Valid() bool { return r.Result == Valid }

// Incomplete makes a record INVALID if something could not be written: it cannot be checked. It does nothing without an error.
func (r *Results) Incomplete(what string, err error) {
	if err == nil {
		return
	}
	r.Problems = append(r.Problems, what+": "+strings.Join(userinput.ErrorLines(err), "; "))
	if r.Result == Valid {
		r.Result = Invalid
	}
}

// The values of Results.Result.
const (
	Valid       = "VALID"
	Invalid     = "INVALID"
	Interrupted = "INTERRUPTED"
)

// UnderWay is the verdict on a run that has not ended.
const UnderWay = "UNDER WAY"

// BelowTarget is the verdict on a VALID run whose accuracy misses its target.
const BelowTarget = "BELOW TARGET"

// WithoutScore is the verdict on a VALID run whose answers were to be scored and are not: scoring failed, or was interrupted.
const WithoutScore = "NOT SCORED"

// A Constraint is a rule that a run was judged by.
type Constraint struct {
	loadgen.Constraint
	// Words replace the numbers of a constraint that imported logs do not have.
	Words *ConstraintWords `json:"words,omitempty"`
}

// ConstraintWords is a constraint in words.
type ConstraintWords struct {
	Required string `json:"required"`
	Observed string `json:"observed"`
}

// RequiredText says what the rule requires.
func (c Constraint) RequiredText() string {
	if c.Words != nil {
		return c.Words.Required
	}
	return c.Constraint.RequiredText()
}

// ObservedText says what was measured.
func (c Constraint) ObservedText() string {
	if c.Words != nil {
		return c.Words.Observed
	}
	return c.Constraint.ObservedText()
}

// Sentence says in one sentence how the rule was kept, and if it was not, what to do.
func (c Constraint) Sentence() string {
	if c.Words == nil {
		return c.String()
	}
	text := c.ID.String() + ": " + c.Words.Observed + ", must be " + c.Words.Required
	if c.Advice != "" {
		text += "; " + c.Advice
	}
	return text
}

// A Setting is one of the test's settings and where it comes from.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"` // with its unit
	Origin string `json:"origin"`
	// Role is what Origin is to the run, whatever its file is called: rules, mlperf.conf, user.conf, audit.config, flag, environment,
	// mlperf.yaml, quick run, prompts, calibration or log. Absent: another part of the program.
	Role limitation.Role `json:"role,omitempty"`
}

// defaultOrigin is the origin of the settings of LoadGen.
const defaultOrigin = "default"

// MadeBy returns the setting of a key, of several the last, which counts; one of origin "default" if none was made.
func MadeBy(settings []Setting, key string) Setting {
	for _, s := range slices.Backward(settings) {
		if s.Key == key {
			return s
		}
	}
	return Setting{Key: key, Origin: defaultOrigin}
}

// Quantity is the value as a number with its unit; nil if it is not a number.
func (s Setting) Quantity() *loadgen.Quantity {
	number, unit, _ := strings.Cut(s.Value, " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.Contains(unit, " ") || !units.Finite(v) {
		return nil
	}
	return &loadgen.Quantity{Value: v, Unit: unit}
}

// MarshalJSON writes the setting, with its quantity if it has one.
func (s Setting) MarshalJSON() ([]byte, error) {
	type plain Setting // has no MarshalJSON
	return json.Marshal(struct {
		plain
		Quantity *loadgen.Quantity `json:"quantity,omitempty"`
	}{plain(s), s.Quantity()})
}

// Accuracy is the score of an accuracy run.
type Accuracy struct {
	Metric    string   `json:"metric"`
	Value     float64  `json:"value"`
	Unit      string   `json:"unit,omitempty"`
	Top5      *float64 `json:"top5,omitempty"` // in percent, beside Top-1; absent: not known
	Reference float64  `json:"reference"`      // of the FP32 model on the same data
	Target    float64  `json:"target"`
	Met       bool     `json:"met"`
	Lines     []string `json:"lines"` // as the official script prints them
	Samples   uint64   `json:"samples"`
	Partial   bool     `json:"partial,omitempty"` // the log lacks samples
	// Right has one bit for each sample, the lowest first, which is set if the answer is right, in base64.
	// Absent if the metric is not a share of right answers.
	Right []byte `json:"right,omitempty"`
	// Resampled has the values of sets of samples that were drawn with replacement, as little-endian
	// float32 in base64: those of two runs over the same samples pair up. Absent if the metric has none.
	Resampled []byte   `json:"resampled,omitempty"`
	Classes   *Classes `json:"classes,omitempty"`  // absent if the metric has none
	Warnings  []string `json:"warnings,omitempty"` // of the score
	// NoTarget says why the score is not compared with a target; empty: it is.
	NoTarget  string     `json:"no_target,omitempty"`
	Breakdown *Breakdown `json:"breakdown,omitempty"` // of calls of functions
	// AlsoMissed names further values of the score that miss their bounds.
	AlsoMissed []string    `json:"also_missed,omitempty"`
	Sets       []ScoredSet `json:"data_sets,omitempty"` // absent: the benchmark has one
	// Endpoints is the value as mlcommons/endpoints computes it; absent: as the reference's script does.
	Endpoints *float64 `json:"endpoints_value,omitempty"`
}

// A ScoredSet is the score of one of several data sets.
type ScoredSet struct {
	Name    string  `json:"name"`
	Score   float64 `json:"score"`   // share of right answers, 0 to 1
	Samples int     `json:"samples"` // that were scored, repeats included
	Repeats int     `json:"repeats"` // how often each question is asked
}

// A Breakdown has the shares of right calls of functions in percent, as mlcommons/endpoints writes them into accuracy_results.json.
type Breakdown struct {
	Overall    float64            `json:"overall_accuracy"`             // of all samples
	Normalized float64            `json:"normalized_single_turn_score"` // mean of the categories
	Categories map[string]float64 `json:"category_scores"`
	Subsets    map[string]float64 `json:"subset_scores"`
	Unscored   map[string]float64 `json:"unscored_subsets"` // in no category
	Completed  int                `json:"total_samples"`
	Issued     int                `json:"issued_samples"`
}

// Resamples are the numbers of Resampled; nil if there are none.
func (a *Accuracy) Resamples() []float64 {
	if len(a.Resampled)%4 != 0 {
		return nil
	}
	var list []float64
	for b := a.Resampled; len(b) > 0; b = b[4:] {
		list = append(list, float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	}
	return list
}

// Classes are scores class by class, by the names of the classes.
type Classes struct {
	Metric string             `json:"metric"` // Top-1, AP or IoU
	Unit   string             `json:"unit,omitempty"`
	Of     string             `json:"of"` // the unit of Counts: samples, objects or pixels
	Values map[string]float64 `json:"values"`
	Counts map[string]int     `json:"counts"` // in the ground truth
}

// Below reports whether the score misses a target that it has, or lacks its metric, or is of an incomplete log.
func (a *Accuracy) Below() bool {
	return a != nil && !a.Met && (a.NoTarget == "" || a.Partial || len(a.AlsoMissed) > 0)
}

// Energy is the energy that the machine took during the traffic.
type Energy struct {
	Source string `json:"source"`
	// NotMeasured says why there are no numbers; then all of them are 0.
	NotMeasured     string  `json:"not_measured,omitempty"`
	Joules          float64 `json:"joules,omitempty"`
	JoulesPerSample float64 `json:"joules_per_sample,omitempty"`
	MeanWatts       float64 `json:"mean_watts,omitempty"`
	PeakWatts       float64 `json:"peak_watts,omitempty"`
	// ClockOffsetNS was added to the times of a meter that has a clock of its own.
	ClockOffsetNS int64        `json:"clock_offset_ns,omitempty"`
	Parts         []EnergyPart `json:"parts,omitempty"` // none contains another
}

// An EnergyPart is the energy of one part of the machine.
type EnergyPart struct {
	Name      string    `json:"name"`
	Joules    float64   `json:"joules"`
	MeanWatts float64   `json:"mean_watts"`
	PeakWatts float64   `json:"peak_watts"`
	Watts     []PowerAt `json:"watts,omitempty"`
}

// PowerAt is a power at a time since the traffic began.
type PowerAt struct {
	Seconds float64 `json:"seconds"`
	Watts   float64 `json:"watts"`
}

// Remote counts the traffic to servers, here and there.
type Remote struct {
	Endpoints     []Endpoint   `json:"endpoints"`
	Requests      uint64       `json:"requests"`           // that were answered
	RoundTripNS   int64        `json:"mean_round_trip_ns"` // of these, as seen from here
	Retried       int64        `json:"retried_requests,omitempty"`
	Connections   int64        `json:"new_connections"`
	SentBytes     int64        `json:"sent_bytes"` // on the wire, as are those that were received
	ReceivedBytes int64        `json:"received_bytes"`
	Server        *RemoteCount `json:"server_statistics,omitempty"` // absent: the servers have none
}

// An Endpoint is a server.
type Endpoint struct {
	URL      string `json:"url"`
	Requests int64  `json:"requests"` // that were sent to it
}

// RemoteCount sums up the servers' statistics of the model during the traffic.
type RemoteCount struct {
	Inferences uint64 `json:"inferences"` // samples
	Executions uint64 `json:"executions"` // runs of the model
	CacheHits  uint64 `json:"cache_hits"`
	QueueNS    int64  `json:"mean_queue_ns"`
	ComputeNS  int64  `json:"mean_compute_ns"`
}

// A Generation has measurements beside the test where servers continued prompts. Times FromSend
// count from when a request was sent, as clients without a schedule do; all others
// count from when the request should have been issued.
type Generation struct {
	Servers []GenerationServer `json:"servers"`
	Limit   int                `json:"concurrency_limit,omitempty"` // requests under way at once; 0: none
	Most    int64              `json:"most_under_way"`
	Answers int64              `json:"answers"`
	Retries int64              `json:"retries,omitempty"`
	// Resent are requests that went out again on a new connection: the server had closed one that was open before.
	Resent int64 `json:"resent,omitempty"`
	// Cancelled are requests whose answers were given up on purpose; absent: none was.
	Cancelled *Cancelled           `json:"cancelled,omitempty"`
	Failures  []GenerationFailures `json:"failures,omitempty"`
	Finished  map[string]int64     `json:"finished,omitempty"` // answers by why they ended, in the servers' words

	Tokens int64 `json:"tokens"`
	Pieces int64 `json:"pieces,omitempty"`
	// Gathered are answers with more than 16 tokens in a piece on average; absent: none.
	Gathered     *Gathered `json:"gathered,omitempty"`
	PromptTokens int64     `json:"prompt_tokens,omitempty"`
	CachedTokens int64     `json:"cached_prompt_tokens,omitempty"` // of these, as far as the servers tell
	Counted      string    `json:"tokens_counted_by"`
	Tokenized    int64     `json:"answers_tokenized_here,omitempty"` // whose token ids the local tokenizer made of their text

	TokenCheck *TokenCheck `json:"token_check,omitempty"`
	Prompts    int64       `json:"different_prompts,omitempty"` // that were answered
	Distinct   int64       `json:"different_answers,omitempty"` // to these

	Turns  []Turn  `json:"turns,omitempty"`  // of conversations, by their number; the last one has those after the 64th too
	Replay *Replay `json:"replay,omitempty"` // of recorded conversations

	FirstTokenFromSendNS *Latencies `json:"first_token_from_send_ns,omitempty"`
	PerTokenNS           *Latencies `json:"per_token_ns,omitempty"`
	LatencyFromSendNS    *Latencies `json:"latency_from_send_ns,omitempty"`
	BetweenPiecesNS      *Latencies `json:"inter_token_ns,omitempty"`
	HandoverNS           *Latencies `json:"handover_ns,omitempty"` // from issue until the request is made

	RequestsPerSecond      float64  `json:"requests_per_second,omitempty"`
	Inputs                 int64    `json:"inputs,omitempty"` // texts with an embedding, documents with a score
	Videos                 int64    `json:"videos,omitempty"` // answers that are videos, or their paths
	InputsPerSecond        float64  `json:"inputs_per_second,omitempty"`
	ConversationsPerSecond float64  `json:"conversations_per_second,omitempty"`      // each of several requests
	TokensPerSecond        float64  `json:"tokens_per_second,omitempty"`             // until the last answer
	TokensPerSecondIssued  float64  `json:"tokens_per_second_last_issued,omitempty"` // until the answer to the last request
	Goodput                *Goodput `json:"goodput,omitempty"`

	CPUCores float64 `json:"client_cpu_cores"` // that this client kept busy, on average
	Cores    int     `json:"client_cores"`
}

// Gathered are answers whose pieces have so many tokens each that their times are not those of tokens.
type Gathered struct {
	Answers int64 `json:"answers"`
	Tokens  int64 `json:"tokens"`
	Pieces  int64 `json:"pieces"`
}

// ReplayFile compares the answers of a test with recorded ones turn by turn, in the folder of a run and of a submission: scores.json of
// mlcommons/endpoints.
const ReplayFile = "scores.json"

// A Replay compares the answers to the turns of recorded conversations with the recorded ones: by the programs that both start. Nothing is
// judged by it.
type Replay struct {
	Score    float64 `json:"score"`    // mean agreement, 0 to 1; an answer that is missing has 0
	Issued   int     `json:"issued"`   // turns
	Compared int     `json:"compared"` // of these, with a program in the recorded answer
	Missing  int     `json:"missing"`  // of these, without an answer
}

// A Turn has the answers to the turns of conversations with one number. Times count from when a turn was due: the first from its issue, the
// others from the end of the answer before and the delay.
type Turn struct {
	Answers      int64      `json:"answers"`
	FirstTokenNS *Latencies `json:"first_token_ns,omitempty"`
	LatencyNS    *Latencies `json:"latency_ns,omitempty"`
}

// Cancelled counts requests whose answers were given up on purpose. They are in no figure but those of the test as a whole (performance).
type Cancelled struct {
	Requests int64 `json:"requests"`
	Pieces   int64 `json:"pieces"` // that had come, usually tokens
	// StillRunning is how many requests the servers said to run ServerNS after the last answer; absent: they do not tell.
	StillRunning *float64 `json:"servers_still_running,omitempty"`
	ServerNS     int64    `json:"servers_looked_at_after_ns"`
}

// String is what was given up, and what the servers did then.
func (c *Cancelled) String() string {
	text := fmt.Sprintf("%s given up on purpose, after %s; ", units.Count(c.Requests, "answer"), units.Count(c.Pieces, "piece"))
	switch {
	case c.StillRunning == nil:
		return text + "what the servers did then they do not tell"
	case *c.StillRunning == 0:
		return text + fmt.Sprintf("the servers ran nothing %s after the last answer", nanoseconds(c.ServerNS))
	}
	return text + fmt.Sprintf("the servers still ran %s %s after the last answer", units.Count(*c.StillRunning, "request"), nanoseconds(c.ServerNS))
}

// A TokenCheck compares the numbers of tokens that servers tell with others.
type TokenCheck struct {
	Answers int64  `json:"answers,omitempty"`                    // that were sampled and counted with the tokenizer
	Told    int64  `json:"tokens_as_told,omitempty"`             // of these
	Counted int64  `json:"tokens_counted,omitempty"`             // of these
	Allowed int64  `json:"allowed_difference,omitempty"`         // one model may say a word in several ways
	Unknown string `json:"not_counted,omitempty"`                // why the tokenizer could not count an answer
	WithIDs int64  `json:"answers_with_usage_and_ids,omitempty"` // answers with both
	Usage   int64  `json:"tokens_by_usage,omitempty"`            // of these
	IDs     int64  `json:"tokens_by_ids,omitempty"`              // of these
}

// Fault says why the numbers that the servers tell cannot be true; empty: they may be.
func (c *TokenCheck) Fault() string {
	switch {
	case c == nil:
		return ""
	case c.Unknown != "":
		return "the tokenizer cannot read an answer: " + c.Unknown
	case c.Usage > c.IDs+c.WithIDs, c.IDs > c.Usage+c.WithIDs: // servers may leave out the token that ends an answer
		return fmt.Sprintf("tokens: the servers tell of %d in %d answers, and send the ids of %d", c.Usage, c.WithIDs, c.IDs)
	case c.Told > c.Counted+c.Allowed:
		return fmt.Sprintf("tokens: the servers tell of %d in %d answers, the tokenizer counts %d (%d more are allowed)",
			c.Told, c.Answers, c.Counted, c.Allowed)
	}
	return ""
}

// A GenerationServer is the load of one of several servers.
type GenerationServer struct {
	URL      string `json:"url"`
	Requests int64  `json:"requests"`
	Most     int    `json:"most_outstanding"`
}

// GenerationFailures are requests that failed in the same way.
type GenerationFailures struct {
	Kind  string `json:"kind"`
	Count int64  `json:"count"`
	First string `json:"first"` // error of the first one
}

// Goodput is the rate of requests that kept both bounds by themselves.
type Goodput struct {
	RequestsPerSecond float64 `json:"requests_per_second"`
	Requests          int64   `json:"requests"`
	Of                int64   `json:"of"`
	FirstTokenNS      int64   `json:"first_token_bound_ns"`
	PerTokenNS        int64   `json:"per_token_bound_ns"`
}
