package request

import (
	"strconv"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// AutoLatency is the value of --target-latency that has the bound measured.
const AutoLatency = "auto"

// RowsHelp is what --rows is for.
const RowsHelp = "rows that the tables of a built-in model for recommendation have at most (default 40000); they are mapped into memory, not read"

// Flags are those of the verbs that run models: what is measured, on which engine. The zero value is ready for Define.
type Flags struct {
	run.Request

	set           []string // key=value
	targetLatency string

	execution       string
	spinning, arena bool
	memoryPattern   bool
	providerOptions MapFlag
	ortConfig       MapFlag
	freeDimensions  MapFlag
	options         OptionFlags
	pace            cli.PacerFlags
}

// Define defines the flags that run and tune share. A scenario that is set before is the default.
func (q *Flags) Define(f *pflag.FlagSet) {
	f.StringVar(&q.Model, "model", "", "model of the catalogue (mlperf list models)")
	f.StringVar(&q.Scenario, "scenario", q.Scenario, "SingleStream, MultiStream, Server, Offline or Interactive")
	f.StringVar(&q.Rules, "rules", config.Newest, "rule set: durations, counts, percentiles, seeds")
	f.StringVar(&q.Division, "division", "closed", "closed, open or network: what may differ from the rules")
	f.StringVar(&q.targetLatency, "target-latency", "", "Server: latency bound, a `duration` or auto (also for MultiStream of rules v0.5 to v1.0: its interval); SingleStream and MultiStream: expected latency")
	f.String("samples-per-query", "", "`number` of samples of a MultiStream query")
	q.DefineSet(f, "any other setting of conf files, as key=value (repeatable)")
	f.StringVar(&q.MLPerfConf, "mlperf-conf", "", "file to use instead of the rule set's mlperf.conf")
	f.StringVar(&q.UserConf, "user-conf", "", "user.conf; ./user.conf is used if it exists")
	f.BoolVar(&q.AllowUnknownKeys, "allow-unknown-keys", false, "warn of unknown keys in conf files instead of refusing them")
	f.StringVar(&q.DatasetPath, "dataset-path", "", "`folder` of the data set to use instead of the built-in one")
	f.Int64Var(&q.Rows, "rows", 0, RowsHelp)
	f.BoolVar(&q.FullSize, "full-size", false, "built-in models at their real size where the default has fewer layers or rows")
	f.IntVar(&q.Count, "count", 0, "use only the first N samples of the data set")
	f.BoolVar(&q.ReserveCore, "reserve-core", false, "Server: leave a core to the load generator")
	f.BoolVar(&q.Pin, "pin", false, "keep each thread that computes on a processor of its own, different ones for all instances (Linux)")
	q.options.Define(f, run.RunOptions())
	DefineEngine(f, &q.Engine)
	q.definePrompts(f)
	q.DefineBackend(f)
}

// DefineSet defines the flag for settings that have none of their own.
func (q *Flags) DefineSet(f *pflag.FlagSet, text string) {
	f.StringArrayVar(&q.set, "set", nil, text)
}

// DefineOptions defines the flags of how models are fed and read, without those of scores.
func (q *Flags) DefineOptions(f *pflag.FlagSet) { q.options.Define(f, run.ModelOptions()) }

// Build returns what the flags ask for, with where each value comes from.
func (q *Flags) Build(flags *pflag.FlagSet) (run.Request, error) {
	r := q.Request
	r.Program, r.Given, r.NewPacer, r.Options = cli.Program(), cli.Origins(flags), q.pace.NewPacer, q.options.Values()
	b := &r.Backend
	b.DeviceOptions, b.Config = q.providerOptions, q.ortConfig
	if q.execution != Sequential && q.execution != Parallel {
		return r, userinput.Invalid("execution", q.execution, Sequential+" or "+Parallel)
	}
	b.Parallel, b.NoSpinning, b.NoArena, b.NoMemoryPattern = q.execution == Parallel, !q.spinning, !q.arena, !q.memoryPattern
	r.AutoLatency = q.targetLatency == AutoLatency
	var err error
	if b.FreeDimensions, err = extents(q.freeDimensions); err != nil {
		return r, err
	}
	r.Settings, err = q.overrides(flags)
	return r, err
}

// extents reads extents of axes.
func extents(given map[string]string) (map[string]int64, error) {
	var all map[string]int64
	for axis, text := range given {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return nil, userinput.Invalid("free_dimension", axis+"="+text, "an extent from 1 after the name of an axis")
		}
		if all == nil {
			all = map[string]int64{}
		}
		all[axis] = n
	}
	return all, nil
}
