package selftest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/backend/openai/tokenserver"
	"github.com/mlperf-go/mlperf/internal/cli"
	"github.com/mlperf-go/mlperf/internal/run"
)

// endpointTest measures the client of endpoints, and a peer if there is one: a program that is
// called with the address, streams, tokens of an answer, seconds, and seconds before them within which the
// streams begin, and prints what run.ClientTestResult has.
func (o *selftestFlags) endpointTest(cmd *cobra.Command) error {
	ctx, w, peer, d := cmd.Context(), cmd.OutOrStdout(), o.peer, o.opts.Duration
	header := cli.Row{"client of endpoints, server in another process", "mlperf"}
	if peer != "" {
		header = append(header, "peer", "ratio")
	}
	cli.MakePlaces()
	defer runtime.KeepAlive(cli.Ballast())
	display := cli.NewDisplay(cmd)
	defer display.Done()
	display.Phase("measuring")
	t, clients, paced := cli.NewTable(header), run.ClientMeasures(), run.PacedMeasures()
	all := map[string]any{}
	done := func(name string, results any, row cli.Row) {
		all[name] = results
		t.AppendRow(row)
		display.Items(len(all), len(clients)+len(paced))
	}
	for _, m := range clients {
		results, err := measureClient(ctx, m, peer, d)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		done(m.Name, results, clientRow(m, results))
	}
	for _, m := range paced {
		r, err := measurePaced(ctx, m, d)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		done(m.Name, r, cli.Row{m.Name, pacedText(m, r)})
	}
	display.Done()
	if o.asJSON {
		return json.NewEncoder(w).Encode(all)
	}
	_, err := fmt.Fprintln(w, t.Render())
	return err
}

func clientRow(m run.ClientMeasure, results []*run.ClientTestResult) cli.Row {
	row := cli.Row{m.Name, fmt.Sprintf("%.6g %s", m.Of(results[0]), m.Unit)}
	if len(results) > 1 {
		row = append(row, fmt.Sprintf("%.6g %s", m.Of(results[1]), m.Unit), fmt.Sprintf("%.3g", m.Of(results[0])/m.Of(results[1])))
	}
	return row
}

// measureClient measures the client, then the peer, each with a server of its own.
func measureClient(ctx context.Context, m run.ClientMeasure, peer string, d time.Duration) (results []*run.ClientTestResult, err error) {
	test := m.Test
	test.Duration = d
	ours := func(url string) (*run.ClientTestResult, error) {
		test.URL = url
		return test.Run(ctx)
	}
	seconds := func(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', -1, 64) }
	theirs := func(url string) (*run.ClientTestResult, error) {
		words := append(strings.Fields(peer), url, strconv.Itoa(test.Streams), strconv.Itoa(test.Tokens), seconds(d), seconds(test.Begin))
		out, err := outputOf(ctx, words[0], words[1:])
		if err != nil {
			return nil, err
		}
		r := &run.ClientTestResult{}
		if err := json.Unmarshal(out, r); err != nil {
			return nil, fmt.Errorf("%s printed no result: %w", peer, err)
		}
		if r.Tokens == 0 || r.Seconds <= 0 {
			return nil, fmt.Errorf("%s printed a result without tokens or seconds", peer)
		}
		return r, nil
	}
	clients := []func(string) (*run.ClientTestResult, error){ours}
	if peer != "" {
		clients = append(clients, theirs)
	}
	for _, client := range clients {
		r, err := withTokenServer(ctx, m.Server, client)
		if err != nil {
			return nil, err
		}
		results = append(results, r)
	}
	return results, nil
}

// measurePaced has a server of its own.
func measurePaced(ctx context.Context, m run.PacedMeasure, d time.Duration) (*run.PacedTestResult, error) {
	return withTokenServer(ctx, m.Server, func(url string) (*run.PacedTestResult, error) {
		test := m.Test
		test.URL, test.Duration = url, d
		return test.Run(ctx)
	})
}

func pacedText(m run.PacedMeasure, r *run.PacedTestResult) string {
	ms := func(ns int64) float64 { return float64(ns) / 1e6 }
	if m.Late {
		return fmt.Sprintf("p50 %.3g, p99 %.4g µs; at most %d streams", 1e3*ms(r.LateP50NS), 1e3*ms(r.LateP99NS), r.Most)
	}
	return fmt.Sprintf("p99 %.4g ms from the schedule, %.4g ms from send", ms(r.Latency99NS), ms(r.Sent99NS))
}

// withTokenServer runs f with the address of a server of tokens, which is a process of its own.
func withTokenServer[R any](ctx context.Context, o tokenserver.Options, f func(url string) (R, error)) (none R, err error) {
	self, err := os.Executable()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithCancel(ctx)
	server := exec.CommandContext(ctx, self, append([]string{"selftest", "--token-server", "127.0.0.1:0", "--" + guidedFlag}, serverFlags(o)...)...)
	var said bytes.Buffer
	server.Stderr = &said
	out, err := server.StdoutPipe()
	if err == nil {
		_, err = server.StdinPipe() // which ends when this process does, even if that is killed
	}
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		err = cmp.Or(context.Cause(ctx), err)
		cancel()
		return none, err
	}
	end := func() {
		cancel()
		_ = server.Wait() // it was killed
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cause := context.Cause(ctx)
		end()
		if cause != nil {
			return none, cause // which killed it
		}
		return none, fmt.Errorf("the server of tokens did not start: %w\n%s", err, bytes.TrimSpace(said.Bytes()))
	}
	defer end()
	return f(strings.TrimSpace(url))
}
