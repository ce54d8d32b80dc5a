package run

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/convert"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/prompts"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// An Observer shows how a job proceeds.
type Observer = harness.Observer

// A Request describes a run. Zero fields are chosen, unless the comment says otherwise.
type Request struct {
	Program string   // name and version, for the results
	Command []string // the command line, for the results

	Model    string        // of the catalogue; empty: the file of ModelPath by itself, a server's model by its name there, or prompts that go to servers
	Scenario string        // needed
	Mode     string        // performance, accuracy, submission or find-peak; empty: performance
	Rules    string        // version; empty: the newest
	Division string        // closed, open or network; empty: closed
	Quick    bool          // about ten seconds of traffic
	Longest  time.Duration // of the queries of a slow model in a quick run, also if that are too few for a verdict; 0: as long as those take
	Cores    int           // of a client of servers; 0: as many as goroutines run at once

	MLPerfConf       string // file instead of the rule set's mlperf.conf
	UserConf         string // file; empty: ./user.conf if there is one
	AuditConf        string // file
	AllowUnknownKeys bool   // of these files
	// WarmUp and CoolDown are cut off the figures at the beginning and the end of a test that no rules judge.
	WarmUp, CoolDown time.Duration
	// Settings override those of the files, in this order.
	Settings []config.Override
	// AutoLatency asks for a Server bound that this machine can keep, if the rules' is out of reach.
	AutoLatency bool
	// SLO are service level objectives. In Server the first of latency is the latency bound, and those of tokens at p99 are the
	// token bounds, unless Settings have others; the rest is compared with the results.
	SLO []report.Objective

	ModelPath   string // ONNX file; empty: the built-in model
	DatasetPath string // folder; empty: the built-in data
	Precision   string // fp32, fp16, bf16, int8 or int4; empty: as the model is
	Count       int    // of samples that are used; 0: all
	// TargetAccuracy is what an own model has to reach, in percent; 0: it has no target.
	TargetAccuracy float64
	FullSize       bool  // built-in models have all layers and rows of the real ones
	Rows           int64 // of the tables of a built-in model for recommendation, at most; 0: the default
	// Options say how the model is fed and read, by the names of workload.Option.
	Options map[string]string
	// AccuracyRun is the folder of the accuracy run of the same result, in which options of a performance run have their defaults
	// (workload.Option.AccuracyFile). Empty: none is known.
	AccuracyRun string

	Prompts     Prompts // for servers of text
	Engine      engine.Config
	Backend     backend.Options // ModelPath and Precision are filled in
	Instances   int
	MaxBatch    int
	MaxDelay    time.Duration
	ReserveCore bool
	// TimedPreprocessing has workers make samples of files and texts inside the latency.
	TimedPreprocessing bool
	Pin                bool // threads of workers have a processor each
	NewPacer           func() loadgen.Pacer
	// Profile has the findings of a search: a file, or auto for the one of this machine. It
	// sets the fields that are not in Given.
	Profile string

	// Power is where energy is read during the traffic: auto, rapl, nvml, ptd:HOST:PORT or
	// file:CSV; empty: nowhere.
	Power string
	// Ranging measures twice, as power is for submissions: a first run in which the analyser finds
	// its ranges, and the run itself. Below Output are the folders ranging, run_1 and power then.
	Ranging bool

	Output string // folder; empty: results/MODEL/SCENARIO/MODE/TIME
	Force  bool   // replace the results that are in Output
	Anyway bool   // run even if no rate can keep the latency bound
	// Unplugged makes external power a limitation, for a machine that has a battery.
	Unplugged bool
	Trace     bool // also write mlperf_log_trace.json
	// EachRequest also writes what became of each request: requests.jsonl.gz.
	EachRequest bool
	// NoReport leaves out the page beside the results.
	NoReport bool

	// Given has the fields that the user gave, with their origin: "flag --instances".
	Given map[string]string
}

// Prompts are the prompts for servers of text.
type Prompts struct {
	Synthetic int             // prompts that are made up; 0: they are in the file of DatasetPath
	Words     prompts.Lengths // of prompts that are made up, or their tokens where there is a tokenizer; empty: 256
	Answer    prompts.Lengths // tokens of an answer, where a prompt does not say; empty: 128
	// Prompts that are made up begin with one of so many texts, of so many words or tokens; 0: they share nothing.
	Prefixes    int
	PrefixWords prompts.Lengths
	// Conversations are made up like prompts, if there are any. Turns are how many turns they have, or those of the file at most; Delays come
	// before the turns after the first, which follow the answers of the server, or those of the file.
	Conversations int
	Turns         prompts.Lengths
	Delays        prompts.Delays
	Recorded      bool
	Inputs        int    // of a synthetic request for embeddings, or its documents to rank; 0: 1, or 10
	Route         string // auto, chat or completions; empty: auto
	Stream        string // auto, on or off; empty: auto
	Extras        openai.Extras
	Artifacts     string // folder for the files that mlcommons/endpoints writes; empty: none
}

// FindPeak is the mode that searches the highest load. It consists of tests in LoadGen's performance mode.
const FindPeak = "find-peak"

// Auto is the profile of this machine.
const Auto = "auto"

// origin is the origin of a field.
func (q *Request) origin(name string) string {
	if origin, ok := q.Given[name]; ok {
		return origin
	}
	return config.Default
}

// loadgenMode is the mode of the tests.
func (q *Request) loadgenMode() string {
	if q.Mode == FindPeak || q.Mode == "" {
		return "performance"
	}
	return q.Mode
}

// asksServers reports whether prompts go to servers of text.
func (q *Request) asksServers() bool { return q.Engine.Name == engine.OpenAI }

// freePrompts reports whether the prompts belong to no benchmark.
func (q *Request) freePrompts() bool { return q.asksServers() && q.Model == "" }

// ownModel reports whether the model is the user's, in a file or on a server of tensors, and no benchmark.
func (q *Request) ownModel() bool {
	return q.Model == "" && !q.asksServers() && (q.ModelPath != "" || q.Engine.Name == engine.OIP && q.Engine.Remote.Model != "")
}

// noBenchmark reports whether the run is of no benchmark.
func (q *Request) noBenchmark() bool { return q.freePrompts() || q.ownModel() }

// streams reports whether responses come in pieces: by default not in Offline, where only the last piece counts.
func (q *Request) streams(s loadgen.Scenario) bool {
	if openai.IsTask(q.Prompts.Route) {
		return false
	}
	if q.Prompts.Stream == "" || q.Prompts.Stream == "auto" {
		return s != loadgen.Offline
	}
	return q.Prompts.Stream == "on"
}

// check finds wrong values that do not depend on the model and the rules. It fills in the name of the engine.
func (q *Request) check() error {
	for _, check := range []func() error{q.checkNumbers, q.checkCut, q.Engine.Check, q.checkEngine, q.checkPrompts, q.checkPower} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// checkNumbers finds numbers beyond any machine: typing errors.
func (q *Request) checkNumbers() error {
	const mostThreads, mostBatch = 4096, 1 << 20
	for _, n := range []struct {
		field       string
		value, most int
	}{
		{"instances", q.Instances, mostThreads}, {"max_batchsize", q.MaxBatch, mostBatch}, {"count", q.Count, math.MaxInt},
		{"intra_threads", q.Backend.IntraThreads, mostThreads}, {"inter_threads", q.Backend.InterThreads, mostThreads},
		{"shared_threads", q.Engine.SharedThreads, mostThreads},
	} {
		if n.value < 0 {
			return userinput.Invalid(n.field, n.value, "a positive number, or 0 for the default")
		}
		if n.value > n.most {
			return userinput.Invalid(n.field, n.value, "at most "+strconv.Itoa(n.most))
		}
	}
	if q.MaxDelay < 0 {
		return userinput.Invalid("max_batch_delay", q.MaxDelay, "a time, or 0 for none")
	}
	return nil
}

// checkCut finds parts of a test that cannot be cut off, and a ramp that would be judged.
func (q *Request) checkCut() error {
	ramp := slices.ContainsFunc(q.Settings, func(o config.Override) bool { return o.Key == "arrivals" && strings.HasPrefix(o.Value, "ramp:") })
	field := userinput.FirstSet([]string{"warm_up", "cool_down", "arrivals"}, q.WarmUp != 0, q.CoolDown != 0, ramp)
	share, after := q.Engine.Remote.Cancel, q.Engine.Remote.CancelAfter
	cancels := userinput.FirstSet([]string{"request_cancellation_rate", "request_cancellation_delay"}, share != 0, after != 0)
	if field == "" {
		field = cancels
	}
	switch {
	case !(share >= 0 && share <= 1):
		return userinput.Invalid("request_cancellation_rate", 100*share, "from 0 to 100 percent")
	case share > 0 && (q.Prompts.Conversations > 0 || q.Prompts.Turns != ""):
		return userinput.Errorf("request_cancellation_rate", "is not for conversations: their turns follow from whole answers")
	case after < 0:
		return userinput.Invalid("request_cancellation_delay", after, "a time, or 0 for at once")
	case cancels != "" && !q.asksServers():
		return userinput.Errorf(cancels, "is about servers of text: the engine must be %s", engine.OpenAI)
	case q.WarmUp < 0 || q.CoolDown < 0:
		return userinput.Invalid(field, min(q.WarmUp, q.CoolDown), "a time, or 0 for nothing")
	case field == "":
		return nil
	case !q.noBenchmark():
		return userinput.Errorf(field, "is for runs that no rules judge: %s is a benchmark, and its whole test counts", q.Model)
	case q.Mode != "" && q.Mode != "performance" && field != "arrivals":
		return userinput.Errorf(field, "is of performance mode, not of %s", q.Mode)
	}
	return nil
}

// checkEngine finds options that the engine does not have, or that exclude each other.
func (q *Request) checkEngine() error {
	if q.Engine.IsRemote() {
		if local := userinput.FirstSet(
			[]string{"model_path", "precision", "device", "intra_threads", "pin", "shared_threads"},
			q.ModelPath != "", q.Precision != "", q.Backend.Device != "" && q.Backend.Device != "cpu", q.Backend.IntraThreads > 0, q.Pin,
			q.Engine.SharedThreads > 0,
		); local != "" {
			return userinput.Errorf(local, "is up to the servers: the engine %s only asks them", q.Engine.Name)
		}
	}
	concurrency := q.Engine.Remote.Concurrency
	switch flag, other := q.Given["model_name"], q.Given["remote_model"]; {
	case q.Engine.IsRemote() && flag != "" && other != "":
		return userinput.Errorf("remote_model", "is the same as model_name, and both are given (%s, %s): give one of the two", flag, other)
	case concurrency > 0 && q.Instances > 0 && concurrency != q.Instances:
		return userinput.Errorf("concurrency", "%d requests are to be under way, and %d instances ask: give one of the two", concurrency, q.Instances)
	case q.Pin && q.Backend.Affinity != "":
		return userinput.Errorf("pin", "processors are chosen for the threads, and thread_affinity chooses them too: give one of the two")
	case q.Engine.SharedThreads > 0 && (q.Pin || q.Backend.IntraThreads > 0):
		return userinput.Errorf("shared_threads",
			"all sessions share %d threads, so that no worker has threads of its own: leave out intra_threads and pin", q.Engine.SharedThreads)
	}
	if _, given := q.Given["device"]; given || q.Backend.Device != "" {
		for name := range strings.SplitSeq(q.Backend.Device, ",") {
			if strings.TrimSpace(name) == "" {
				return userinput.Invalid("device", q.Backend.Device, "names of devices, separated by commas")
			}
			if _, err := ort.CanonicalDevice(name); err != nil {
				return userinput.Wrap("device", err)
			}
		}
	}
	if q.Precision != "" && !ort.Converts(q.Backend.Device, q.Precision) {
		if err := convert.CheckPrecision(q.Precision, convert.Precisions()...); err != nil {
			return err
		}
	}
	if level := q.Backend.OptimizeLevel; level != "" {
		return userinput.OneOf("graph_optimization", level, "none", "basic", "extended", "all")
	}
	return nil
}

// checkPrompts finds prompts without a server, and prompts that cannot be made or scored.
func (q *Request) checkPrompts() error {
	p := q.Prompts
	if !q.asksServers() {
		given := userinput.FirstSet(
			[]string{"synthetic_prompts", "prompt_words", "answer_tokens", "route", "stream", "endpoints_artifacts", "header", "extra_body",
				"prefixes", "prefix_words", "conversation_num", "conversation_turns", "conversation_delay", "recorded_answers", "inputs_per_request"},
			p.Synthetic != 0, p.Words != "", p.Answer != "", p.Route != "", p.Stream != "", p.Artifacts != "",
			len(p.Extras.Headers) > 0, len(p.Extras.Body) > 0, p.Prefixes != 0, p.PrefixWords != "",
			p.Conversations != 0, p.Turns != "", p.Delays != "", p.Recorded, p.Inputs != 0,
		)
		if given != "" {
			return userinput.Errorf(given, "is about servers of text: the engine is %s and must be %s", q.Engine.Name, engine.OpenAI)
		}
		return nil
	}
	const most = 1 << 20
	for _, n := range []struct {
		field string
		value int
	}{{"synthetic_prompts", p.Synthetic}, {"prefixes", p.Prefixes}, {"conversation_num", p.Conversations}, {"inputs_per_request", p.Inputs}} {
		if n.value < 0 || n.value > most {
			return userinput.Invalid(n.field, n.value, "from 1 to "+strconv.Itoa(most)+", or 0 for the default")
		}
	}
	for field, lengths := range map[string]prompts.Lengths{
		"prompt_words": p.Words, "answer_tokens": p.Answer, "prefix_words": p.PrefixWords, "conversation_turns": p.Turns,
	} {
		if err := lengths.Check(); err != nil {
			return userinput.Wrap(field, err)
		}
	}
	if p.Stream != "" {
		if err := userinput.OneOf("stream", p.Stream, "auto", "on", "off"); err != nil {
			return err
		}
	}
	if err := p.Delays.Check(); err != nil {
		return userinput.Wrap("conversation_delay", err)
	}
	synthetic, free := p.Synthetic > 0 || p.Conversations > 0, q.freePrompts()
	about := userinput.FirstSet([]string{"conversation_num", "conversation_turns", "conversation_delay", "recorded_answers"},
		p.Conversations > 0, p.Turns != "", p.Delays != "", p.Recorded)
	task := openai.IsTask(p.Route)
	textual := userinput.FirstSet([]string{"answer_tokens", "stream"}, p.Answer != "", p.Stream == "on")
	switch {
	case task && !free:
		return userinput.Errorf("route", "%s has answers of text", q.Model)
	case task && cmp.Or(about, textual) != "":
		return userinput.Errorf(cmp.Or(about, textual), "is about answers of text, and the route is %s", p.Route)
	case p.Inputs > 0 && (!task || p.Synthetic == 0):
		return userinput.Errorf("inputs_per_request", "is about synthetic_prompts for the routes %s and %s: the route is %s",
			openai.Embeddings, openai.Rerank, cmp.Or(p.Route, openai.Auto))
	case about != "" && !free:
		return userinput.Errorf(about, "%s has prompts of one turn", q.Model)
	case p.Synthetic > 0 && p.Conversations > 0:
		return userinput.Errorf("conversation_num", "are made up instead of synthetic_prompts: give one of the two")
	case p.Synthetic > 0 && about != "":
		return userinput.Errorf(about, "is about conversations: give conversation_num instead of synthetic_prompts")
	case p.Recorded && (p.Conversations > 0 || p.Turns == ""):
		return userinput.Errorf("recorded_answers", "are those of a file with conversations: give dataset_path and conversation_turns")
	case p.Delays != "" && p.Conversations == 0 && p.Turns == "":
		return userinput.Errorf("conversation_delay", "comes before the turns of conversations: give conversation_turns")
	case q.Instances != 0 || q.MaxBatch != 0:
		return userinput.Errorf("instances", "the engine %s has no batches and no workers, it sends each sample by itself: give concurrency", engine.OpenAI)
	case free && !synthetic && q.DatasetPath == "":
		return userinput.Missing("dataset_path", "give a file of prompts, or a number of synthetic_prompts")
	case synthetic && q.DatasetPath != "":
		return userinput.Errorf("synthetic_prompts", "give either synthetic prompts or a file of prompts, not both")
	case synthetic && !free:
		return userinput.Errorf("synthetic_prompts", "%s has prompts of its own", q.Model)
	case len(p.Extras.Body) > 0 && !free:
		return userinput.Errorf("extra_body", "is of prompts without a benchmark: the rules say what %s asks for", q.Model)
	case (p.Words != "" || p.Prefixes > 0) && !synthetic:
		return userinput.Errorf(userinput.FirstSet([]string{"prompt_words", "prefixes"}, p.Words != "", true),
			"is about prompts that are made up: give synthetic_prompts")
	case p.PrefixWords != "" && p.Prefixes == 0:
		return userinput.Errorf("prefix_words", "is about shared prefixes: give prefixes")
	case p.Artifacts != "" && (q.Mode == FindPeak || q.Mode == "submission"):
		return userinput.Errorf("endpoints_artifacts", "are of one test of performance or accuracy, and %s is several", q.Mode)
	case free && slices.Contains([]string{"accuracy", "submission"}, q.Mode):
		return userinput.Errorf("mode", "%s needs a benchmark of the catalogue: other prompts have no ground truth", q.Mode)
	}
	return nil
}

// checkPower finds a meter that cannot be read, or that cannot find its ranges.
func (q *Request) checkPower() error {
	if q.Power == "" && !q.Ranging {
		return nil
	}
	meter, err := power.Parse(q.Power)
	switch {
	case q.Ranging && (err != nil || meter.Kind != power.PTD):
		return userinput.Errorf("power_ranging", "an analyser finds its ranges: power must be ptd:HOST:PORT, not %q", q.Power)
	case q.Ranging && q.Mode != "" && q.Mode != "performance":
		return userinput.Errorf("power_ranging", "power is measured of performance, not of %s", q.Mode)
	}
	return userinput.Wrap("power", err)
}

// FromAccuracy are the options with the defaults that they have from the accuracy run of the same result, whose files may be yet to come.
func (q *Request) FromAccuracy() map[string]string {
	m, err := models.LookupAny(q.Model)
	if err != nil || q.AccuracyRun == "" {
		return q.Options
	}
	return m.FromAccuracy(q.Options, q.AccuracyRun, q.DatasetPath, q.Mode == "accuracy")
}
