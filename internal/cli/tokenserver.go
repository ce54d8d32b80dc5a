package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/mlperf-go/mlperf/internal/serve"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A tokenServer is the server of tokens that selftest runs, for itself or for others.
type tokenServer struct {
	address      string
	options      tokenserver.Options
	fault        string
	every        int
	insecure     bool
	endWithInput bool
}

// endWithInput is the hidden flag of a server that another process starts: it ends with that process, even if that is killed.
const endWithInput = "token-server-guided"

func (t *tokenServer) define(f *pflag.FlagSet) {
	o := &t.options
	f.StringVar(&t.address, "token-server", "",
		"only be the deterministic token server, at this address (127.0.0.1:8000; port 0: any), until it is interrupted")
	durationVar(f, &o.Prefill, "token-prefill", 20*time.Millisecond, "token server: time from a free slot to the first token")
	durationVar(f, &o.PerToken, "token-interval", 10*time.Millisecond, "token server: time from a token to the next")
	f.IntVar(&o.Slots, "token-slots", 0, "token server: requests that it answers at once; 0: any number")
	f.IntVar(&o.PerWrite, "tokens-per-write", 1, "token server: tokens that it sends together")
	f.Float64Var(&o.Right, "token-right", 1, "token server: the share of built-in questions that it answers right")
	f.StringVar(&t.fault, "token-fault", "none", "token server: fault of its answers (none, 500, break, stall, …)")
	f.IntVar(&t.every, "token-fault-every", 1, "token server: every Nth answer has the fault")
	f.BoolVar(&t.insecure, "insecure", false, "token server: listen beyond this machine")
	f.BoolVar(&t.endWithInput, endWithInput, false, "token server: end when standard input does")
	f.Lookup(endWithInput).Hidden = true
}

// serverFlags are the flags for the pace of a token server.
func serverFlags(o tokenserver.Options) []string {
	return []string{
		"--token-prefill", o.Prefill.String(), "--token-interval", o.PerToken.String(),
		"--token-slots", strconv.Itoa(o.Slots), "--tokens-per-write", strconv.Itoa(o.PerWrite),
	}
}

// serve answers until the context ends. It prints the address first.
func (t *tokenServer) serve(ctx context.Context, w io.Writer) error {
	fault, err := tokenserver.ParseFault(t.fault)
	switch o := &t.options; {
	case err != nil:
		return userinput.Wrap("token_fault", err)
	case t.every < 1:
		return userinput.Invalid("token_fault_every", t.every, "a number from 1")
	case o.Slots < 0:
		return userinput.Invalid("token_slots", o.Slots, "a number from 0, which is any number")
	case o.PerWrite < 1:
		return userinput.Invalid("tokens_per_write", o.PerWrite, "a number from 1")
	case !(o.Right >= 0 && o.Right <= 1): // and not NaN
		return userinput.Invalid("token_right", o.Right, "a share from 0 to 1")
	}
	t.options.Fault = func(n int) tokenserver.Fault {
		if n%t.every == t.every-1 {
			return fault
		}
		return tokenserver.None
	}
	local, err := serve.IsLocal(t.address)
	if err == nil && !local && !t.insecure {
		err = fmt.Errorf("%s is beyond this machine: give one of this machine, as 127.0.0.1:8000, or --insecure", t.address)
	}
	if err != nil {
		return userinput.Wrap("token_server", err)
	}
	listener, err := net.Listen("tcp", t.address)
	if err != nil {
		return userinput.Wrap("token_server", err)
	}
	server := &http.Server{Handler: tokenserver.New(t.options), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if t.endWithInput {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			_ = server.Close()
		}()
	}
	if _, err := fmt.Fprintf(w, "http://%s\n", listener.Addr()); err != nil {
		return errors.Join(err, listener.Close())
	}
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
