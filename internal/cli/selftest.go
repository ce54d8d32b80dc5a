package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/harness/selftest"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/loadgen/mlperflog"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/units"
)

// selftestFlags are the flags of selftest.
type selftestFlags struct {
	test        selftest.Test
	pace        pacerFlags
	tokenServer tokenServer
	endpoint    bool
	all         bool
	peer        string
	rounds      int
	sources     string
	asJSON      bool
}

func newSelftest() *cobra.Command {
	o := &selftestFlags{test: selftest.Test{Scenario: loadgen.Server}}
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Measure the load generator itself, with a system that answers at once",
		Long: `Run the load generator against a system under test that does nothing and answers every
query at once. That measures the generator on this machine: how fast it can issue queries,
how late they are, and how much memory a query takes.`,
		Example: "  mlperf selftest --scenario server --target-qps 1000 --duration 300ms",
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	f := cmd.Flags()
	f.Var((*scenarioFlag)(&o.test.Scenario), "scenario", "SingleStream, MultiStream, Server or Offline")
	f.Float64Var(&o.test.TargetQPS, "target-qps", 1000,
		"rate of the Server scenario; in Offline samples per second of duration; else the rate to prepare queries for")
	durationVar(f, &o.test.Duration, "duration", 3*time.Second, "how long")
	f.IntVar(&o.test.Responses, "responses", 0, "samples that one call of the system answers; 0: 256; -1: all of the query")
	f.BoolVar(&o.test.Accuracy, "accuracy", false, "issue target-qps × duration samples in accuracy mode, with responses that are logged")
	f.StringVar(&o.test.OutputDir, "output", "", "existing folder for the logs of the test; empty: none are written")
	o.pace.define(f)
	o.tokenServer.define(f)
	f.BoolVar(&o.endpoint, "endpoint", false, "measure the client of endpoints instead: how much load it can take before it is the bottleneck")
	f.BoolVar(&o.asJSON, "json", false, "print the result as JSON")
	f.BoolVar(&o.all, "all", false, "measure every scenario and print a table")
	f.StringVar(&o.peer, "peer", "",
		"with --all and --endpoint: program to compare with, called with the same flags (docs/loadgen.md, docs/endpoints.md)")
	f.StringVar(&o.sources, "verify", "",
		"compare the sources of the load generator with those in a checkout, or with those that the detail log in a folder names")
	f.IntVar(&o.rounds, "rounds", 3, "with --all: how often each measure is taken")
	return cmd
}

func (o *selftestFlags) run(cmd *cobra.Command) error {
	kind := ""
	for _, k := range []struct {
		flag  string
		given bool
	}{{"--token-server", o.tokenServer.address != ""}, {"--endpoint", o.endpoint}, {"--all", o.all}, {"--verify", o.sources != ""}} {
		switch {
		case k.given && kind != "":
			return usage("%s and %s are different tests: give one of them", kind, k.flag)
		case k.given:
			kind = k.flag
		}
	}
	switch {
	case o.rounds < 1:
		return usage("--rounds is %d: must be at least 1", o.rounds)
	case o.peer != "" && strings.TrimSpace(o.peer) == "":
		return usage("--peer is %q: must be a program", o.peer)
	case o.peer != "" && kind != "--all" && kind != "--endpoint":
		return usage("--peer is of --all and --endpoint, and neither is given")
	case kind == "--endpoint" && o.test.Duration <= 0:
		return usage("--duration is %v: must be a time above 0", o.test.Duration)
	}
	if kind != "" {
		if err := refuseFlags(cmd.Flags(), "is of a single test, and "+kind+" has its own", "scenario", "target-qps", "responses", "accuracy",
			"output"); err != nil {
			return err
		}
	}
	switch w := cmd.OutOrStdout(); kind {
	case "--token-server":
		return o.tokenServer.serve(cmd.Context(), w)
	case "--endpoint":
		return o.runEndpoint(cmd)
	case "--all":
		return o.runAll(cmd)
	case "--verify":
		files, differ, err := selftest.CompareSources(o.sources)
		if err == nil && len(differ) > 0 {
			err = fmt.Errorf("%d of %d files of the load generator differ between this program and %s: %s", len(differ), files, o.sources,
				strings.Join(differ, ", "))
		}
		if err != nil {
			return err
		}
		return say(w, "all %d files of the load generator are those of %s\n", files, o.sources)
	default:
		return o.runOne(cmd.Context(), w)
	}
}

// runOne makes one test.
func (o *selftestFlags) runOne(ctx context.Context, w io.Writer) error {
	o.test.NewPacer = o.pace.newPacer
	if err := o.test.Check(); err != nil {
		return usage("%w", err) // all of it comes from flags
	}
	if dir := o.test.OutputDir; dir != "" {
		if err := outdir.CheckNames(dir, mlperflog.SummaryFile, mlperflog.DetailFile, mlperflog.AccuracyFile); err != nil {
			return usage("--output: %s has logs already: choose another folder", dir)
		}
	}
	r, err := o.test.Run(ctx)
	if err != nil {
		return err
	}
	if o.asJSON {
		return printJSONLine(w, r)
	}
	ns := func(n int64) string { return units.Duration(time.Duration(n)) }
	_, err = fmt.Fprintf(w, `%s: %s in %s, %s
latency      mean %s, p50 %s, p99 %s
issue delay  p50 %s, p99 %s
memory       %s bytes and %s allocations per query, %s peak in all
afterwards   %s from the last completion to the result
`, r.Scenario, units.Count(r.Queries, "query"), ns(r.DurationNS), units.Text(r.IssuedQPS, "queries/s"),
		ns(r.LatencyMeanNS), ns(r.LatencyP50NS), ns(r.LatencyP99NS),
		ns(r.IssueDelayP50NS), ns(r.IssueDelayP99NS),
		units.Number(r.BytesPerQuery), units.Number(r.AllocsPerQuery), units.Memory(r.PeakRSSBytes), ns(r.PostRunNS))
	return err
}

// selftests are the results of a test: of this program, and of the peer if one is given.
type selftests struct {
	self, peer []*selftest.Result
}

// A selftestRow is the outcome of a measure.
type selftestRow struct {
	Measure  string           `json:"measure"`
	Unit     string           `json:"unit"`
	Self     selftest.Figure  `json:"mlperf"`
	Peer     *selftest.Figure `json:"peer,omitempty"`
	Priority string           `json:"priority"` // of the issue thread, and of the peer
	least    bool
}

// runAll makes all tests, in turn with a peer if one is given, each in a process of its own: its memory is then that of one test.
func (o *selftestFlags) runAll(cmd *cobra.Command) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	display := newDisplay(cmd)
	defer display.Done()
	display.Phase("measuring")
	var rows []selftestRow
	done := map[string]selftests{} // several measures may come from one test
	measures := selftest.Measures()
	for i, m := range measures {
		flags := testFlags(m.Test)
		key := fmt.Sprint(flags, m.Busy)
		results, ok := done[key]
		if !ok {
			if results, err = o.compareSelftest(cmd.Context(), self, flags, m.Busy); err != nil {
				return err
			}
			done[key] = results
		}
		display.Items(i+1, len(measures))
		rows = append(rows, newSelftestRow(m, results))
	}
	display.Done()
	if o.asJSON {
		return printJSON(cmd.OutOrStdout(), "selftest-all", rows)
	}
	header := tableRow{"measure (SUT that answers at once)", "unit", "mlperf: median [range]", "priority"}
	if o.peer != "" {
		header = append(header, "peer: median [range]", "ratio")
	}
	return printTable(cmd.OutOrStdout(), header, rows, selftestRow.cells)
}

// testFlags are the flags of mlperf selftest that make a test; a peer gets the same.
func testFlags(t selftest.Test) []string {
	flags := []string{
		"--scenario", t.Scenario.String(), "--target-qps", units.Exact(t.TargetQPS),
		"--duration", t.Duration.String(), "--responses", strconv.Itoa(t.Responses),
	}
	if t.Accuracy {
		flags = append(flags, "--accuracy")
	}
	return flags
}

// compareSelftest makes a test as often as asked for, with all cores busy or not.
func (o *selftestFlags) compareSelftest(ctx context.Context, self string, flags []string, busy bool) (r selftests, err error) {
	if busy {
		var stopped atomic.Bool
		var all sync.WaitGroup
		for range runtime.NumCPU() {
			all.Go(func() {
				for !stopped.Load() { // never sleeps: the core is to be busy
				}
			})
		}
		defer func() {
			stopped.Store(true)
			all.Wait()
		}()
	}
	for round := range o.rounds {
		ourselves := func() error {
			one, err := runSelftest(ctx, self, append([]string{"selftest"}, flags...))
			r.self = append(r.self, one)
			return err
		}
		// The peer is started with the priority that the issue thread of this program got in the same test.
		peer := func() (err error) {
			var one *selftest.Result
			loadgen.WithPriority(r.self[0].IssuePriority, func() { one, err = runSelftest(ctx, o.peer, flags) })
			r.peer = append(r.peer, one)
			return err
		}
		turns := []func() error{ourselves, peer}
		switch {
		case o.peer == "":
			turns = turns[:1]
		case round%2 == 1: // so that what goes on beside is not always met by the same one
			slices.Reverse(turns)
		}
		for _, turn := range turns {
			if err := turn(); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// runSelftest has a program make a test, with its logs in a folder that is removed afterwards.
func runSelftest(ctx context.Context, program string, args []string) (*selftest.Result, error) {
	folder, err := os.MkdirTemp("", "mlperf-selftest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	args = append(slices.Clip(args), "--output", folder, "--json")
	r := &selftest.Result{}
	if err := resultOf(ctx, program, args, r); err != nil {
		return nil, err
	}
	if r.Queries == 0 || r.DurationNS <= 0 {
		return nil, fmt.Errorf("%s printed a result without queries or duration", report.CommandLine(append([]string{program}, args...)))
	}
	return r, nil
}

// resultOf reads the JSON that a program prints. If the program fails, the error has its message.
func resultOf(ctx context.Context, program string, args []string, result any) error {
	line := report.CommandLine(append([]string{program}, args...))
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause // which killed it
	}
	if exit := new(exec.ExitError); errors.As(err, &exit) && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", line, err)
	}
	if err := json.Unmarshal(out, result); err != nil {
		return fmt.Errorf("%s printed no result: %w", line, err)
	}
	return nil
}

func newSelftestRow(m selftest.Measure, r selftests) selftestRow {
	row := selftestRow{
		Measure: m.Name, Unit: m.Unit, Self: m.Figure(r.self), Priority: cmp.Or(r.self[0].IssuePriority, "as started"), least: m.Least,
	}
	if len(r.peer) > 0 {
		peer := m.Figure(r.peer)
		row.Peer = &peer
	}
	return row
}

// cells are the line of the table. The ratio is that of the medians; a zero has none.
func (r selftestRow) cells() tableRow {
	figure := func(f selftest.Figure) string {
		return fmt.Sprintf("%s [%s–%s]", units.Number(f.Median), units.Number(f.Min), units.Number(f.Max))
	}
	row := tableRow{r.Measure, r.Unit, figure(r.Self), r.Priority}
	if r.Peer == nil {
		return row
	}
	ratio := ""
	switch self, peer := r.Self.Median, r.Peer.Median; {
	case self == 0 || peer == 0:
	case r.least:
		ratio = "1/" + units.Number(peer/self)
	default:
		ratio = units.Number(self/peer) + "× as many"
	}
	return append(row, figure(*r.Peer), ratio)
}
