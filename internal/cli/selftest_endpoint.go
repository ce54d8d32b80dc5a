package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/report/tables"
	"github.com/mlperf-go/mlperf/internal/run/clienttest"
	"github.com/mlperf-go/mlperf/internal/serve/tokenserver"
	"github.com/mlperf-go/mlperf/internal/units"
)

// runEndpoint measures the client of endpoints, and a peer if one is given: a program that gets the address, the number of streams,
// the tokens of an answer, the seconds to measure, and the seconds before them in which the streams begin, and that prints the
// fields of clienttest.Result. Each has a server of its own, in another process.
func (o *selftestFlags) runEndpoint(cmd *cobra.Command) error {
	ctx, w := cmd.Context(), cmd.OutOrStdout()
	header := tableRow{"client of endpoints, server in another process", "mlperf"}
	if o.peer != "" {
		header = append(header, "peer", "ratio")
	}
	addThreads()
	defer runtime.KeepAlive(newBallast())
	display := newDisplay(cmd)
	defer display.Done()
	display.Phase("measuring")
	t, clients, paced := newTable(header), clienttest.Measures(), clienttest.PacedMeasures()
	all := map[string]any{}
	done := func(name string, results any, row tableRow) {
		all[name] = results
		t.Row(row...)
		display.Items(len(all), len(clients)+len(paced))
	}
	for _, m := range clients {
		results, err := measureClient(ctx, m, o.peer, o.test.Duration)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		row := tableRow{m.Name, units.Text(m.Of(results[0]), m.Unit)}
		if len(results) > 1 {
			row = append(row, units.Text(m.Of(results[1]), m.Unit), units.Number(m.Of(results[0])/m.Of(results[1])))
		}
		done(m.Name, results, row)
	}
	for _, m := range paced {
		r, err := withTokenServer(ctx, m.Server, func(url string) (*clienttest.PacedResult, error) {
			test := m.Test
			test.URL, test.Duration = url, o.test.Duration
			return test.Run(ctx)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		ns := func(n int64) string { return units.Duration(time.Duration(n)) }
		text := fmt.Sprintf("p99 %s from the schedule, %s from send", ns(r.Latency99NS), ns(r.Sent99NS))
		if m.Late {
			text = fmt.Sprintf("p50 %s, p99 %s; at most %s", ns(r.LateP50NS), ns(r.LateP99NS), units.Count(r.Most, "stream"))
		}
		done(m.Name, r, tableRow{m.Name, text})
	}
	display.Done()
	if o.asJSON {
		return printJSONLine(w, all)
	}
	return sayText(w, t.Text(tables.Width(w)))
}

// measureClient measures the client, then the peer.
func measureClient(ctx context.Context, m clienttest.Measure, peer string, d time.Duration) (results []*clienttest.Result, err error) {
	test := m.Test
	test.Duration = d
	clients := []func(string) (*clienttest.Result, error){func(url string) (*clienttest.Result, error) {
		test.URL = url
		return test.Run(ctx)
	}}
	if peer != "" {
		clients = append(clients, func(url string) (*clienttest.Result, error) {
			seconds := func(d time.Duration) string { return units.Exact(d.Seconds()) }
			words := append(strings.Fields(peer), url, strconv.Itoa(test.Streams), strconv.Itoa(test.Tokens), seconds(d), seconds(test.Begin))
			r := &clienttest.Result{}
			if err := resultOf(ctx, words[0], words[1:], r); err != nil {
				return nil, err
			}
			if r.Tokens == 0 || r.Seconds <= 0 {
				return nil, fmt.Errorf("%s printed a result without tokens or seconds", peer)
			}
			return r, nil
		})
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

// withTokenServer runs f with the address of a token server, which is a process of its own.
func withTokenServer[R any](ctx context.Context, o tokenserver.Options, f func(url string) (R, error)) (none R, err error) {
	self, err := os.Executable()
	if err != nil {
		return none, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := exec.CommandContext(ctx, self, append([]string{"selftest", "--token-server", "127.0.0.1:0", "--" + endWithInput}, serverFlags(o)...)...)
	var stderr bytes.Buffer
	server.Stderr = &stderr
	out, err := server.StdoutPipe()
	if err == nil {
		_, err = server.StdinPipe() // which ends when this process does, even if that is killed
	}
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		return none, cmp.Or(context.Cause(ctx), err)
	}
	defer func() {
		cancel()
		_ = server.Wait() // it was killed
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return none, cause // which killed it
		}
		cancel()
		_ = server.Wait() // the message is complete then
		return none, fmt.Errorf("the token server did not start: %w; it printed %q", err, bytes.TrimSpace(stderr.Bytes()))
	}
	return f(strings.TrimSpace(url))
}
