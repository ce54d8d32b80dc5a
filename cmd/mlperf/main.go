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
)

func main() {
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit status. SIGINT, SIGTERM and SIGHUP end it early; a second signal ends the
// program at once.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer close(signals)
	defer signal.Stop(signals)
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
	return cli.Run(ctx, args, stdout, stderr)
}
