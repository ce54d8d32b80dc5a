package selftest

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

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// tokenServer is the server of tokens that selftest runs, for itself or for others.
type tokenServer struct {
	address string
	options tokenserver.Options
	fault   string
	every   int
	guided  bool // it ends with its standard input, as who began it does, however that comes to an end
}

func (t *tokenServer) define(f *pflag.FlagSet) {
	o := &t.options
	f.StringVar(&t.address, "token-server", "", "only be the deterministic server, at this address (127.0.0.1:8000; port 0: any), until it is interrupted")
	cli.DurationVar(f, &o.Prefill, "token-prefill", 20*time.Millisecond, "of that server: from a free slot to the first token")
	cli.DurationVar(f, &o.PerToken, "token-interval", 10*time.Millisecond, "of that server: from a token to the next")
	f.IntVar(&o.Slots, "token-slots", 0, "of that server: requests that it answers at once; 0: any number")
	f.IntVar(&o.PerWrite, "tokens-per-write", 1, "of that server: tokens that it sends together")
	f.Float64Var(&o.Right, "token-right", 1, "of that server: the share of built-in questions that it answers right")
	f.StringVar(&t.fault, "token-fault", "none", "of that server: what is wrong with its answers (none, 500, break, stall, …)")
	f.IntVar(&t.every, "token-fault-every", 1, "of that server: each so many requests one is answered wrongly")
	f.BoolVar(&t.guided, guidedFlag, false, "of that server: end when standard input does")
	_ = f.MarkHidden(guidedFlag) // it is there: the line before defines it
}

// serverFlags are the flags for a pace; what else there is of a server is as if nobody asked for it.
func serverFlags(o tokenserver.Options) []string {
	return []string{
		"--token-prefill", o.Prefill.String(), "--token-interval", o.PerToken.String(),
		"--token-slots", strconv.Itoa(o.Slots), "--tokens-per-write", strconv.Itoa(o.PerWrite),
	}
}

const guidedFlag = "token-server-guided"

// check finds numbers that no server can have, and what is wrong with its answers.
func (t *tokenServer) check() (tokenserver.Fault, error) {
	fault, err := tokenserver.ParseFault(t.fault)
	switch o := &t.options; {
	case err != nil:
		return fault, userinput.Wrap("token_fault", err)
	case t.every < 1:
		return fault, userinput.Invalid("token_fault_every", t.every, "a number from 1")
	case o.Slots < 0:
		return fault, userinput.Invalid("token_slots", o.Slots, "a number from 0, which is any number")
	case o.PerWrite < 1:
		return fault, userinput.Invalid("tokens_per_write", o.PerWrite, "a number from 1")
	case !(o.Right >= 0 && o.Right <= 1): // and not NaN
		return fault, userinput.Invalid("token_right", o.Right, "a share from 0 to 1")
	}
	return fault, nil
}

// serve answers until the context ends. It prints the address first.
func (t *tokenServer) serve(ctx context.Context, w io.Writer) error {
	fault, err := t.check()
	if err != nil {
		return err
	}
	t.options.Fault = func(n int) tokenserver.Fault {
		if n%t.every == t.every-1 {
			return fault
		}
		return tokenserver.None
	}
	listener, err := net.Listen("tcp", t.address)
	if err != nil {
		return userinput.Wrap("token_server", err)
	}
	server := &http.Server{Handler: tokenserver.New(t.options), ReadHeaderTimeout: time.Minute}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if t.guided {
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
