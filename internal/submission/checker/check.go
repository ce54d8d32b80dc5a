package checker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/submission/python"
	"github.com/mlperf-go/mlperf/internal/submission/tree"
	"github.com/mlperf-go/mlperf/internal/userinput"
	"github.com/mlperf-go/mlperf/internal/workerpool"
)

// A Profile says how much is asked of a tree.
type Profile string

// The profiles.
const (
	Reference Profile = "reference" // what the official checker asks
	Strict    Profile = "strict"    // what the rules ask
)

// Options say what to judge.
type Options struct {
	Tree      string  // the folder with closed, open and network
	Rules     string  // a round, e.g. "v6.1"
	Profile   Profile // "" is Reference
	Submitter string  // "": all
}

// errNoResults is the error for a tree in which there is nothing to judge.
var errNoResults = errors.New("no results")

// check refuses what is not known, and returns the round.
func (o Options) check() (*rounds.Round, error) {
	round, err := rounds.Find(o.Rules)
	if err != nil {
		return nil, userinput.Invalid("rules", o.Rules, "one of "+strings.Join(rounds.Versions(), ", "))
	}
	if o.Profile != Reference && o.Profile != Strict {
		return nil, userinput.Invalid("profile", o.Profile, string(Reference+" or "+Strict))
	}
	info, err := os.Stat(o.Tree)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a folder", o.Tree)
	}
	return round, err
}

// Check judges a tree. A tree that does not pass is a report; an error means that there
// is no judgement: the folder cannot be read, the round is not known, or there are no
// results (errNoResults).
func Check(ctx context.Context, o Options) (*Report, error) {
	o.Profile = cmp.Or(o.Profile, Reference)
	round, err := o.check()
	if err != nil {
		return nil, err
	}
	l := &loader{tree: tree.Tree{Root: o.Tree}, round: round, strict: o.Profile == Strict, submitter: o.Submitter}
	if err := l.load(); err != nil {
		return nil, err
	}
	report := &Report{Tree: o.Tree, Rules: o.Rules, Profile: o.Profile}
	if report.Results, err = l.judgeAll(ctx); err != nil {
		return nil, err
	}
	report.Findings = sorted(l.findings)
	_, fail := report.Counts()
	report.Passes = fail == 0 && failing(report.Findings) == 0
	if len(report.Results) == 0 && failing(report.Findings) == 0 {
		return report, l.nothing(o)
	}
	return report, nil
}

func (l *loader) nothing(o Options) error {
	who := "in closed, open or network"
	if o.Submitter != "" {
		who = "of " + o.Submitter + " " + who
	}
	return fmt.Errorf("%s: %w %s: want <division>/<submitter>/results/<system>/<benchmark>/<scenario>", filepath.Clean(o.Tree), errNoResults, who)
}

// judgeAll judges results on all processors, and returns them in the order of the jobs.
// Beside them it walks the tree.
func (l *loader) judgeAll(ctx context.Context) ([]Result, error) {
	results := make([]Result, len(l.jobs))
	err := workerpool.EachWith(ctx, 0, 1+len(l.jobs), func() func(context.Context, int) error {
		lines := python.NewLines(nil)
		return func(ctx context.Context, i int) error {
			if i == 0 {
				return l.hygiene(ctx)
			}
			results[i-1] = judge(l.jobs[i-1], lines)
			return nil
		}
	})
	return results, err
}
