package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/catalogue"
	"github.com/mlperf-go/mlperf/internal/run/engine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// autoLatency is the value of --target-latency that has the bound measured.
const autoLatency = "auto"

// The ways to run the operators of a graph.
const (
	sequential = "sequential"
	parallel   = "parallel"
)

// rowsHelp is the help of --rows.
const rowsHelp = "rows that the tables of a built-in model for recommendation have at most (default 40000); they are mapped into memory, not read"

// requestFlags are those of the verbs that run models: model and scenario, engine, settings. The zero value is
// ready for define.
type requestFlags struct {
	run.Request

	set             []string // key=value
	execution       string
	spinning, arena bool
	memoryPattern   bool
	providerOptions mapFlag
	ortConfig       mapFlag
	freeDimensions  mapFlag
	options         optionFlags
	pace            pacerFlags
}

// define defines the flags that run and tune share. A scenario that is set before is the default.
func (q *requestFlags) define(f *pflag.FlagSet) {
	f.StringVar(&q.Model, "model", "", "model of the catalogue (mlperf list models)")
	f.StringVar(&q.Scenario, "scenario", q.Scenario, "SingleStream, MultiStream, Server, Offline or Interactive")
	f.StringVar(&q.Rules, "rules", config.Newest, "rule set: durations, counts, percentiles, seeds")
	f.StringVar(&q.Division, "division", "closed", "closed, open or network: what may differ from the rules")
	defineSetting(f, "target-latency")
	defineSetting(f, "samples-per-query")
	q.defineSet(f, "any other setting of conf files: key=value (repeatable)")
	f.StringVar(&q.MLPerfConf, "mlperf-conf", "", "file to use instead of the rule set's mlperf.conf")
	f.StringVar(&q.UserConf, "user-conf", "", "user.conf; ./user.conf is used if it exists")
	f.BoolVar(&q.AllowUnknownKeys, "allow-unknown-keys", false, "warn of unknown keys in conf files instead of refusing them")
	f.StringVar(&q.DatasetPath, "dataset-path", "", "`folder` of the data set to use instead of the built-in one, or the name of a downloaded one")
	f.Int64Var(&q.Rows, "rows", 0, rowsHelp)
	f.BoolVar(&q.FullSize, "full-size", false, "built-in models at their real size where the default has fewer layers or rows")
	f.IntVar(&q.Count, "count", 0, "use only the first N samples of the data set")
	f.BoolVar(&q.TimedPreprocessing, "timed-preprocessing", false,
		"decode, resize and normalise images, decode recordings, split questions inside the latency (marked)")
	f.BoolVar(&q.ReserveCore, "reserve-core", false, "Server: leave a core to the load generator")
	f.BoolVar(&q.Pin, "pin", false, "keep each thread that computes on a processor of its own, different ones for all instances (Linux)")
	q.options.define(f, catalogue.RunOptions())
	defineEngine(f, &q.Engine)
	p := &q.Prompts
	f.StringVar(&q.Engine.Remote.Model, "model-name", "", "`name` of the model at servers of text (default: the only one that they have)")
	f.IntVar(&p.Synthetic, "synthetic-prompts", 0, "`number` of prompts that are made up, instead of a file of them")
	f.StringVar((*string)(&p.Words), "prompt-words", "",
		"`length` of synthetic prompts, in words, or in tokens with --tokenizer: 256, 256±64, 100-400 or 128:3,1024:1 (default 256)")
	f.StringVar((*string)(&p.Answer), "answer-tokens", "",
		"greatest `length` of answers in tokens, in the form of --prompt-words; exact with synthetic prompts, if the server can do that (default 128)")
	f.IntVar(&p.Prefixes, "prefixes", 0, "prompts that are made up begin with one of so many texts, which servers may cache")
	f.StringVar((*string)(&p.PrefixWords), "prefix-words", "", "`length` of these texts, in the form of --prompt-words (default 256)")
	f.IntVar(&p.Conversations, "conversation-num", 0, "`number` of synthetic conversations: a turn follows the answer to the one before")
	f.StringVar((*string)(&p.Turns), "conversation-turns", "",
		"`number` of turns of a conversation, in the form of --prompt-words; of files the most (default: 4; of files 1)")
	f.StringVar((*string)(&p.Delays), "conversation-delay", "",
		"`time` from an answer to the next turn: 2s, 2s±500ms, 1s-3s or 1s:3,10s:1 (default: none)")
	f.BoolVar(&p.Recorded, "recorded-answers", false, "turns of a file follow its own answers, not those of the server")
	f.StringVar(&p.Route, "route", "", "chat, completions, embeddings or rerank (default: completions, and chat at servers without that route)")
	f.IntVar(&p.Inputs, "inputs-per-request", 0,
		"`number` of texts of a synthetic request for embeddings (default 1), or of documents to rerank (default 10)")
	f.StringArrayVar(&p.Extras.Headers, "header", nil,
		"header of each request to servers of text: 'NAME: VALUE', or 'NAME: @FILE' for credentials (repeatable)")
	f.StringArrayVar(&p.Extras.Body, "extra-body", nil,
		"further field of each request to servers of text: NAME=VALUE, or an object of JSON (repeatable)")
	f.StringVar(&p.Artifacts, "endpoints-artifacts", "",
		"also write what mlcommons/endpoints writes (result_summary.json, events.jsonl, …) into this `folder`")
	f.StringVar(&p.Stream, "stream", "", "on or off: whether answers come token by token (default: on, except in Offline)")
	s := &q.Engine.Remote.Speculation
	f.StringVar(&s.Algorithm, "speculative-algorithm", "", "`A`, the algorithm of speculative decoding at servers of text, as EAGLE3 or MTP: for the record")
	f.StringVar(&s.Head, "speculative-draft-model", "", "`M`, its head or draft model")
	f.IntVar(&s.Steps, "speculative-num-steps", 0, "`N` steps of its head for each step of the model")
	f.IntVar(&s.TopK, "speculative-eagle-topk", 0, "`K` branches of each of these steps")
	f.Float64Var(&s.AcceptLength, "speculative-acceptance", 0, "`X` tokens of a step of the model, on average, as the server reports them")
	q.defineBackend(f)
}

// defineSet defines the flag for settings that have none of their own.
func (q *requestFlags) defineSet(f *pflag.FlagSet, text string) {
	f.StringArrayVar(&q.set, "set", nil, text)
}

// defineEngine defines the flags that choose an engine, and servers.
func defineEngine(f *pflag.FlagSet, e *engine.Config) {
	f.StringVar(&e.Name, "backend", engine.ONNXRuntime,
		"engine: onnxruntime; oip and openai, which ask servers; or simulated, which only takes its time")
	defineSimulated(f, e)
	r := &e.Remote
	f.StringArrayVar(&r.Endpoints, "endpoint", nil,
		"server to ask: URL with http, https, unix, grpc or grpcs; "+
			"dns:///host:port is gRPC with all addresses of a name, as dns+http://host:port is for others (repeatable)")
	f.StringVar(&r.Model, "remote-model", "",
		"name of the model on the servers, or of several files role=name,… (default: that of the catalogue, and NAME-role); "+
			"without --model, a model of your own")
	f.StringVar(&r.Version, "remote-version", "", "version of the model at the servers")
	f.IntVar(&r.Concurrency, "concurrency", 0,
		"requests to servers under way at most; 0: 64, and 1 in SingleStream; servers of text: 256 in Offline, else no limit")
	durationVar(f, &r.Timeout, "request-timeout", 0, "how long a request to a server may take; 0: 2 minutes, of servers of text 10")
	f.StringArrayVar(&r.Metrics, "server-metrics", nil,
		"`address` of what servers tell of themselves in Prometheus' form, as http://host:9400/metrics of DCGM (repeatable); "+
			"auto: /metrics of each endpoint with texts; off (default auto)")
	f.IntVar(&r.Retry, "retry", 0, "how often a failed request to a server is sent again; the result says so")
	f.StringVar(&r.TokenFile, "token-file", "",
		"file with the bearer token that servers want (servers of text: else MLPERF_API_KEY or OPENAI_API_KEY of the environment)")
	f.StringVar(&r.CA, "tls-ca", "", "PEM file of the authority that servers' certificates are from (default: those of the system)")
	f.StringVar(&r.Cert, "tls-cert", "", "PEM file of the certificate to show to servers")
	f.StringVar(&r.Key, "tls-key", "", "PEM file of its key")
	defineLibrary(f, &e.Library)
}

// defineSimulated defines the flags of the simulated engine.
func defineSimulated(f *pflag.FlagSet, e *engine.Config) {
	durationVar(f, &e.Latency, "sim-latency", 5*time.Millisecond, "time that the simulated engine takes for a run")
	durationVar(f, &e.Jitter, "sim-jitter", 0, "standard deviation of that time")
}

// defineLibrary defines the flag that chooses the library of ONNX Runtime.
func defineLibrary(f *pflag.FlagSet, library *string) {
	f.StringVar(library, "ort-lib", "", "ONNX Runtime library to use (default: the installed one)")
}

// defineBackend defines the flags that say how the engine runs the model, and how its queries are issued.
func (q *requestFlags) defineBackend(f *pflag.FlagSet) {
	o := &q.Backend
	f.StringVar(&o.Device, "device", "cpu", "execution provider: cpu, cuda, tensorrt, …; several, separated by commas, in order of preference")
	f.Var(&q.providerOptions, "provider-option", "option of the device in its own terms: key=value (repeatable)")
	f.BoolVar(&o.DeviceMemory, "device-memory", false,
		"inputs and outputs have buffers in the device's memory, whose addresses stay; CUDA graphs get them anyway")
	f.BoolVar(&o.AllowFallback, "allow-fallback", false, "go on if the device cannot be used")
	f.IntVar(&o.InterThreads, "inter-threads", 0, "operators at once, with --execution parallel")
	f.StringVar(&q.execution, "execution", sequential, "order of independent operators: sequential or parallel")
	f.IntVar(&q.Engine.SharedThreads, "shared-threads", 0, "threads that all sessions compute with, instead of threads of their own (0: their own)")
	f.BoolVar(&q.spinning, "spinning", true, "threads that wait for work spin; false: they sleep, which is slower alone and faster beside others")
	f.BoolVar(&q.arena, "arena", true, "keep freed memory for the next run")
	f.BoolVar(&q.memoryPattern, "memory-pattern", true, "plan memory from earlier runs of the same shape")
	f.StringVar(&o.OptimizeLevel, "graph-optimization", "all", "how far the graph is optimised: none, basic, extended or all")
	f.StringVar(&o.EngineCacheDir, "engine-cache", "",
		"folder that keeps what devices compile (default: in the cache folder, one for each model and its options)")
	f.Var(&q.ortConfig, "ort-config", "entry of the session's configuration: key=value (repeatable)")
	f.Var(&q.freeDimensions, "free-dimension", "size of a free axis of the model, by its name: NAME=N (repeatable)")
	f.StringArrayVar(&o.CustomOps, "custom-ops", nil, "library of operators that ONNX Runtime lacks (repeatable)")
	f.IntVar(&o.LogSeverity, "ort-log", 0, "least severe message of ONNX Runtime to print: 1 info to 4 fatal, -1 everything")
	q.pace.define(f)
}

// optionFlags are the flags of options that models declare: how they are fed, read or scored.
type optionFlags []*pflag.Flag

func (o *optionFlags) define(f *pflag.FlagSet, options []catalogue.Option) {
	for _, option := range options {
		switch {
		case option.Switch && len(option.Choices) > 0: // a value is optional
			f.String(option.Name, "", option.Help)
			flag := f.Lookup(option.Name)
			flag.Value, flag.NoOptDefVal = switchValue{flag.Value, option.Choices}, "true"
		case option.Switch:
			f.Bool(option.Name, false, option.Help)
		case option.Repeats:
			f.StringSlice(option.Name, nil, option.Help)
		default:
			f.String(option.Name, "", option.Help)
		}
		*o = append(*o, f.Lookup(option.Name))
	}
}

// A switchValue is a switch that may have other values than true and false.
type switchValue struct {
	pflag.Value
	choices []string
}

// Set implements pflag.Value.
func (s switchValue) Set(text string) error {
	if _, err := strconv.ParseBool(text); err != nil && !slices.Contains(s.choices, text) {
		return fmt.Errorf("expected true, false or %s", strings.Join(s.choices, ", "))
	}
	return s.Value.Set(text)
}

// Type is that of switches, so that the help shows none.
func (switchValue) Type() string { return "bool" }

// values are the options that were given.
func (o optionFlags) values() map[string]string {
	values := map[string]string{}
	for _, f := range o {
		if !f.Changed {
			continue
		}
		values[f.Name] = f.Value.String()
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values[f.Name] = strings.Join(list.GetSlice(), ",")
		}
	}
	return values
}

// A setting is a flag that sets one key of conf files.
type setting struct {
	*loadgen.Setting
	flag string
}

// settingFlags are the flags of the settings that have one.
func settingFlags() (list []setting) {
	short := map[string]string{"performance_sample_count_override": "performance-sample-count", "ttft_latency": "ttft", "tpot_latency": "tpot"}
	for _, row := range loadgen.Settings() {
		if row.Help != "" {
			list = append(list, setting{row, cmp.Or(short[row.Key], strings.ReplaceAll(row.Key, "_", "-"))})
		}
	}
	return list
}

// isDuration reports whether the value is a time.
func (s setting) isDuration() bool {
	return s.Kind == loadgen.KindWholeMillis || s.Kind == loadgen.KindMillis
}

// isAuto reports whether a value asks for a latency bound that is measured.
func (s setting) isAuto(value string) bool { return s.Key == "target_latency" && value == autoLatency }

// defineSetting defines the flag that sets one key of conf files, unless it is there.
func defineSetting(f *pflag.FlagSet, name string) {
	list := settingFlags()
	i := slices.IndexFunc(list, func(s setting) bool { return s.flag == name })
	if f.Lookup(name) == nil {
		f.Var(&settingFlag{setting: list[i]}, name, list[i].Help)
	}
}

// A settingFlag is a setting as it was written: the rules say what it may be, but a time needs its unit.
type settingFlag struct {
	setting
	value string
}

// String implements pflag.Value.
func (s *settingFlag) String() string { return s.value }

// Type implements pflag.Value.
func (*settingFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (s *settingFlag) Set(text string) error {
	s.value = text
	if !s.isDuration() || text == "" || s.isAuto(text) {
		return nil
	}
	_, err := parseDuration(text)
	return err
}

// build returns what the flags ask for, with where each value comes from.
func (q *requestFlags) build(flags *pflag.FlagSet) (run.Request, error) {
	r := q.Request
	r.Program, r.Given, r.NewPacer, r.Options = program(), map[string]string{}, q.pace.newPacer, q.options.values()
	flags.VisitAll(func(f *pflag.Flag) {
		if origin := originOf(flags, f.Name); origin != "" {
			r.Given[strings.ReplaceAll(f.Name, "-", "_")] = origin
		}
	})
	b := &r.Backend
	b.DeviceOptions, b.Config = q.providerOptions, q.ortConfig
	if q.execution != sequential && q.execution != parallel {
		return r, userinput.Invalid("execution", q.execution, sequential+" or "+parallel)
	}
	b.Parallel, b.NoSpinning, b.NoArena, b.NoMemoryPattern = q.execution == parallel, !q.spinning, !q.arena, !q.memoryPattern
	for axis, text := range q.freeDimensions {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return r, userinput.Invalid("free_dimension", axis+"="+text, "an extent from 1 after the name of an axis")
		}
		if b.FreeDimensions == nil {
			b.FreeDimensions = map[string]int64{}
		}
		b.FreeDimensions[axis] = n
	}

	var settings []config.Override
	for _, s := range settingFlags() {
		f := flags.Lookup(s.flag)
		if f == nil || !f.Changed {
			continue
		}
		switch value := f.Value.String(); {
		case value == "": // a variable of a shell that is not set
			return r, userinput.Invalid(strings.ReplaceAll(s.flag, "-", "_"), "", "a value")
		case s.isAuto(value):
			r.AutoLatency = true
		default:
			settings = append(settings, config.Override{Key: s.Key, Value: value, Origin: originOf(flags, s.flag), Role: roleOf(flags, s.flag)})
		}
	}
	for _, text := range q.set {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return r, usage("--set %s: must be key=value", text)
		}
		settings = append(settings, config.Override{Key: key, Value: value, Origin: originOf(flags, "set"), Role: roleOf(flags, "set")})
	}
	var err error
	r.Settings, err = decide(settings)
	return r, err
}

// decide keeps one value of each key: that of the command line, else of the environment, else of mlperf.yaml. Two values from one
// place are an error.
func decide(list []config.Override) (chosen []config.Override, err error) {
	for _, o := range list {
		i := slices.IndexFunc(chosen, func(c config.Override) bool { return c.Key == o.Key })
		switch {
		case i < 0:
			chosen = append(chosen, o)
		case rankOf(o.Role) > rankOf(chosen[i].Role):
			chosen[i] = o
		case rankOf(o.Role) == rankOf(chosen[i].Role) && o.Value != chosen[i].Value:
			return nil, usage("%s is given twice: %s by %s, and %s by %s", o.Key, chosen[i].Value, chosen[i].Origin, o.Value, o.Origin)
		}
	}
	return chosen, nil
}
