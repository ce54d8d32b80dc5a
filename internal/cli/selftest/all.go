package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/report"
)

// testFlags are the flags of mlperf selftest that make a test; a peer is called with the same.
func testFlags(t harness.SelfTest) []string {
	flags := []string{
		"--scenario", t.Scenario.String(), "--target-qps", strconv.FormatFloat(t.TargetQPS, 'f', -1, 64),
		"--duration", t.Duration.String(), "--responses", strconv.Itoa(t.Responses),
	}
	if t.Accuracy {
		flags = append(flags, "--accuracy")
	}
	return flags
}

// A selftestTable compares this program with a peer, if there is one.
type selftestTable struct {
	self, peer string
	rounds     int                                     // each test is made so often; the median counts
	tests      map[string][2][]*harness.SelfTestResult // by their flags, and whether the cores were busy
}

// A measured row is what a measure found: the median of the rounds.
type measuredRow struct {
	Measure string   `json:"measure"`
	Unit    string   `json:"unit"`
	Self    float64  `json:"mlperf"`
	Peer    *float64 `json:"peer,omitempty"`
	least   bool
}

// selftestAll measures everything, each in a process of its own so that memory is that
// of one run, and in turn with a peer if there is one.
func (o *selftestFlags) selftestAll(cmd *cobra.Command) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	display := cli.NewDisplay(cmd)
	defer display.Done()
	s := &selftestTable{self: self, peer: o.peer, rounds: o.rounds, tests: map[string][2][]*harness.SelfTestResult{}}
	var rows []measuredRow
	display.Phase("measuring")
	measures := harness.Measures()
	for i, m := range measures {
		results, err := s.results(cmd.Context(), m)
		if err != nil {
			return err
		}
		display.Items(i+1, len(measures))
		rows = append(rows, rowOf(m, results))
	}
	display.Done()
	if o.asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), "selftest-all", rows)
	}
	header := cli.Row{"measure (SUT that answers at once)", "mlperf"}
	if o.peer != "" {
		header = append(header, "peer", "ratio")
	}
	return cli.PrintTable(cmd.OutOrStdout(), header, rows, measuredRow.cells)
}

// results makes the test of a measure and has the peer make it, in turn. Several measures may come from one.
func (s *selftestTable) results(ctx context.Context, m harness.Measure) ([2][]*harness.SelfTestResult, error) {
	flags := testFlags(m.Test)
	key := fmt.Sprint(flags, m.Busy)
	results, done := s.tests[key]
	if done {
		return results, nil
	}
	if m.Busy {
		defer computeOnAllCores()()
	}
	for range s.rounds {
		r, err := runSelftest(ctx, s.self, append([]string{"selftest"}, flags...))
		if err != nil {
			return results, err
		}
		results[0] = append(results[0], r)
		if s.peer == "" {
			continue
		}
		if r, err = runSelftest(ctx, s.peer, flags); err != nil {
			return results, err
		}
		results[1] = append(results[1], r)
	}
	s.tests[key] = results
	return results, nil
}

// computeOnAllCores keeps every core busy until what it returns is called.
func computeOnAllCores() (stop func()) {
	var stopped atomic.Bool
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for !stopped.Load() { // never sleeps, which is the purpose
			}
		})
	}
	return func() {
		stopped.Store(true)
		all.Wait()
	}
}

// rowOf is what a measure has found.
func rowOf(m harness.Measure, results [2][]*harness.SelfTestResult) measuredRow {
	row := measuredRow{Measure: m.Name, Unit: m.Unit, Self: m.Median(results[0]), least: m.Least}
	if len(results[1]) > 0 {
		theirs := m.Median(results[1])
		row.Peer = &theirs
	}
	return row
}

// cells are a line of the table. What is nothing has no ratio.
func (r measuredRow) cells() cli.Row {
	row := cli.Row{r.Measure, cli.Digits(r.Self) + " " + r.Unit}
	if r.Peer == nil {
		return row
	}
	ratio := ""
	switch {
	case r.Self == 0 || *r.Peer == 0:
	case r.least:
		ratio = fmt.Sprintf("1/%.3g", *r.Peer/r.Self)
	default:
		ratio = fmt.Sprintf("%.3g× as many", r.Self / *r.Peer)
	}
	return append(row, cli.Digits(*r.Peer)+" "+r.Unit, ratio)
}

// runSelftest has a program make a test, with its logs in a folder that is removed afterwards.
func runSelftest(ctx context.Context, program string, args []string) (*harness.SelfTestResult, error) {
	folder, err := os.MkdirTemp("", "mlperf-selftest-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	args = append(slices.Clip(args), "--output", folder, "--json")
	out, err := outputOf(ctx, program, args)
	if err != nil {
		return nil, err
	}
	r := &harness.SelfTestResult{}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("%s printed no result: %w", commandLine(program, args), err)
	}
	if r.Queries == 0 || r.DurationNS <= 0 {
		return nil, fmt.Errorf("%s printed a result without queries or duration", commandLine(program, args))
	}
	return r, nil
}

// outputOf is what a program prints. If it fails, what it says of that is in the error.
func outputOf(ctx context.Context, program string, args []string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, program, args...).Output()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause // which killed it
	}
	if said := new(exec.ExitError); errors.As(err, &said) && len(said.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(said.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", commandLine(program, args), err)
	}
	return out, nil
}

func commandLine(program string, args []string) string {
	return report.CommandLine(append([]string{program}, args...))
}
