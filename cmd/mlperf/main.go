// Command mlperf runs MLPerf Inference: the load generator, the reference workloads,
// the official metrics. See mlperf --help.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit status.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(context.Background(), stderr)
	defer stop()
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err = cli.Ended(ctx, err); err == nil {
		return cli.ExitDone
	}
	status := cli.StatusOf(err)
	if text := cli.ErrorText(cmd, err); text != "" {
		fmt.Fprintf(stderr, "mlperf: %s\n", userinput.PrintableText(text))
	}
	if status == cli.ExitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", cmd.CommandPath())
	}
	return status
}

// interruptible returns a context that SIGINT, SIGTERM and SIGHUP cancel. A second signal ends the program at once.
func interruptible(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(stderr, "\nmlperf: stopping; press Ctrl-C again to quit now")
		cancel(cli.ErrInterrupted)
		if _, ok := <-signals; ok {
			os.Exit(cli.ExitInterrupted)
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(signals)
		cancel(nil)
	}
}
