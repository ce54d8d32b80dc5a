package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/mlperf-go/mlperf/internal/cli/progress"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/serve"
)

// anyPort is the address of a live page that has no other.
const anyPort = "any"

// A liveDisplay shows a run on the screen, and on a page.
type liveDisplay struct {
	*progress.Display
	page *page.Live
}

// Phase begins a part of the run.
func (d *liveDisplay) Phase(name string) {
	d.Display.Phase(name)
	d.page.Phase(name)
}

// Traffic shows the state of a running test.
func (d *liveDisplay) Traffic(p loadgen.Progress) {
	d.Display.Traffic(p)
	d.page.Traffic(p)
}

// Gauge implements harness.GaugeObserver.
func (d *liveDisplay) Gauge(name, unit string, at time.Time, value float64) {
	d.page.Gauge(name, unit, at, value)
}

// listenLive serves the page of a run at an address of this machine. End closes it: those who look get a last text.
func listenLive(cmd *cobra.Command, display *progress.Display, address, title, about string) (d *liveDisplay, end func(text string), err error) {
	if address == anyPort {
		address = "127.0.0.1:0"
	}
	if local, err := serve.IsLocal(address); err != nil || !local {
		return nil, nil, usage("--live is %s: must be an address of this machine alone, as 127.0.0.1:8080", address)
	}
	l, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", address)
	if err != nil {
		return nil, nil, fmt.Errorf("the live page: %w", err)
	}
	d = &liveDisplay{display, page.NewLive(title, about, program())}
	server := &http.Server{Handler: d.page, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until end
	}()
	display.Note(fmt.Sprintf("live page, until the run ends: http://%s/", l.Addr()))
	return d, func(text string) {
		d.page.End(text)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(cmd.Context()), 2*time.Second)
		defer cancel()
		_ = server.Shutdown(ctx) // after the last event
		_ = server.Close()
		<-done
	}, nil
}
