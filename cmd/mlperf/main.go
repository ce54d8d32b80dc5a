// Command mlperf runs MLPerf Inference: the load generator, the reference workloads,
// the official metrics. See mlperf --help.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"

	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/tokenizer/chat"
)

func main() {
	chat.Main()
	os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
}

// execute runs a command line and returns the exit status. SIGINT, SIGTERM and SIGHUP end it early, and so does a pipe whose
// reader has gone (mlperf run | head); a second signal ends the program at once. SIGQUIT and SIGABRT print what each goroutine
// does, as Go does, and end it with their own status, since Go's is that of a wrong command line.
func execute(args []string, stdout, stderr io.Writer) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	signals, fatal := make(chan os.Signal, 2), make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	signal.Notify(fatal, syscall.SIGQUIT, syscall.SIGABRT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // writing then returns an error instead of killing the program
	defer close(signals)
	defer signal.Stop(signals)
	out, err := pipe(stdout, cancel), pipe(stderr, cancel)
	go func() {
		if _, ok := <-signals; !ok {
			return
		}
		fmt.Fprintln(err, "\nmlperf: stopping; press Ctrl-C again to quit now")
		cancel(cli.ErrInterrupted)
		if _, ok := <-signals; ok {
			os.Exit(cli.ExitInterrupted)
		}
	}()
	go func() {
		s := <-fatal
		fmt.Fprintf(err, "mlperf: %v\n", s)
		_ = pprof.Lookup("goroutine").WriteTo(err, 2)
		os.Exit(cli.ExitSignal + int(s.(syscall.Signal)))
	}()
	return cli.Run(ctx, args, out, err)
}

// pipe returns a writer to a stream, and if that is a pipe, one that cancels the command when its reader has gone.
func pipe(stream io.Writer, cancel context.CancelCauseFunc) io.Writer {
	if file, ok := stream.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0 {
			return pipeWriter{file, cancel}
		}
	}
	return stream // as it is: terminals are recognised
}

type pipeWriter struct {
	stream *os.File
	cancel context.CancelCauseFunc
}

func (w pipeWriter) Write(b []byte) (int, error) {
	n, err := w.stream.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		w.cancel(cli.ErrInterrupted)
		err = cli.ErrReaderGone
	}
	return n, err
}
