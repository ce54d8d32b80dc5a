package clitest

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli"
)

// An Outcome is what came of a command line.
type Outcome struct {
	Status         int
	Stdout, Stderr string
	Err            string // empty: none, or everything has been said
}

// Run runs a command line of some verbs. Nobody is there to answer questions.
func Run(t testing.TB, verbs []*cobra.Command, args ...string) Outcome {
	t.Helper()
	return RunContext(t.Context(), verbs, args...)
}

// RunContext is Run with a context that may end before the command does.
func RunContext(ctx context.Context, verbs []*cobra.Command, args ...string) Outcome {
	var stdout, stderr bytes.Buffer
	root := &cobra.Command{
		Use: "mlperf", SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return cli.Before(cmd) },
	}
	root.SetIn(strings.NewReader(""))
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return cli.Usage("%w", err) })
	cli.DefineProgress(root.PersistentFlags())
	root.AddCommand(verbs...)
	root.SetArgs(args)
	o := Outcome{}
	if cmd, err := root.ExecuteContextC(ctx); err != nil {
		o.Status, o.Err = cli.StatusOf(err), cli.ErrorText(cmd, err)
	}
	o.Stdout, o.Stderr = stdout.String(), stderr.String()
	return o
}

// A Case is a command line and what it has to do.
type Case struct {
	Name   string
	Args   []string
	Status int
	Want   []string // in what is printed, said or wrong
	Not    []string // not there
}

// Check runs command lines, each a test of its own. verbs makes them anew for each.
func Check(t *testing.T, verbs func() []*cobra.Command, cases []Case) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			o := Run(t, verbs(), c.Args...)
			line, all := strings.Join(c.Args, " "), o.Stdout+o.Stderr+o.Err
			if o.Status != c.Status {
				t.Errorf("mlperf %s: status %d, want %d:\n%s", line, o.Status, c.Status, all)
			}
			for _, want := range c.Want {
				if !strings.Contains(all, want) {
					t.Errorf("mlperf %s: no %q in\n%s", line, want, all)
				}
			}
			for _, not := range c.Not {
				if strings.Contains(all, not) {
					t.Errorf("mlperf %s: there is %q in\n%s", line, not, all)
				}
			}
		})
	}
}
