package run

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/oip"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/netdivision"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Remote says which servers an engine asks whose models run elsewhere, and how.
type Remote struct {
	Endpoints   []string      // URLs
	Model       string        // its name at the servers, or role=name,… of several files; empty: that of the catalogue
	Version     string        // of it; empty: the servers'
	Concurrency int           // requests under way at most; 0: 64, and 1 in SingleStream
	Timeout     time.Duration // of a request; 0: 2 minutes
	Retry       int           // how often a request is sent once more
	TokenFile   string
	CA          string // files of TLS, in PEM
	Cert        string
	Key         string
}

const (
	// defaultConcurrency is how many requests are under way if nobody says how many.
	defaultConcurrency = 64
	// partsConcurrency is how many samples are, where each is hundreds of requests to several files, and
	// its beams or its state lie here.
	partsConcurrency = 8
	mostRetries      = 100
)

// remote reports whether the models of a request run elsewhere.
func (q *Request) remote() bool { return q.Engine.Name == OIP || q.Engine.Name == OpenAI }

// forServers chooses what a run on servers needs otherwise than one here: a worker waits for
// an answer and computes nothing.
func (r *Resolved) forServers() error {
	q := &r.Request
	if !q.remote() {
		return nil
	}
	if q.asksServers() {
		return r.forPrompts()
	}
	if err := r.checkNetwork(); err != nil {
		return err
	}
	if err := r.checkParts(); err != nil {
		return err
	}
	if q.Instances == 0 {
		q.Instances = r.underWay()
	}
	if q.MaxBatch == 0 {
		q.MaxBatch = 1
	}
	q.Backend.IntraThreads = 1
	q.Engine.Remote.Concurrency = q.Instances
	return nil
}

// underWay is how many requests are under way.
func (r *Resolved) underWay() int {
	switch n := r.Request.Engine.Remote.Concurrency; {
	case n > 0:
		return n
	case r.Settings.Scenario == loadgen.SingleStream:
		return 1
	case r.model.Roles != nil && r.division != config.Network:
		return partsConcurrency
	}
	return defaultConcurrency
}

// options are those of a client of the servers.
func (r *Remote) options() (client.Options, error) {
	o := client.Options{Endpoints: r.Endpoints, Concurrency: r.Concurrency, Timeout: r.Timeout, Retry: r.Retry, TLS: credentials.TLS{CA: r.CA, Cert: r.Cert, Key: r.Key}}
	var err error
	if r.TokenFile != "" {
		o.Token, err = credentials.ReadKey(r.TokenFile)
	}
	return o, userinput.Wrap("token_file", err)
}

// connect opens the engine that asks servers.
func (e Engine) connect(ctx context.Context, m workload.Model, division config.Division) (*oip.Engine, error) {
	o, err := e.Remote.options()
	if err != nil {
		return nil, err
	}
	model, _ := e.Remote.names(m)
	c := oip.Config{Client: o, Model: model, Version: e.Remote.Version}
	if division == config.Network {
		c.Task = model + protocol.TaskSuffix
	}
	return oip.New(ctx, c)
}

// checkNetwork finds what the Network division forbids on this side.
func (r *Resolved) checkNetwork() error {
	q := &r.Request
	if r.division != config.Network {
		return nil
	}
	if s := r.Settings.Scenario; s != loadgen.Server && s != loadgen.Offline {
		return userinput.Errorf("scenario", "the Network division has Server and Offline, not %v", s)
	}
	for _, f := range []struct {
		name string
		on   bool
	}{{"max_batchsize", q.MaxBatch > 1}, {"max_batch_delay", q.MaxDelay > 0}, {"retry", q.Engine.Remote.Retry > 0}} {
		if f.on {
			return userinput.Errorf(f.name, "is not for the Network division: on this side samples are neither gathered nor sent twice")
		}
	}
	return nil
}

// openOIP opens the engine that asks servers for inferences, and has them answer samples in the
// Network division.
func (p *Prepared) openOIP(ctx context.Context) error {
	remote, err := p.Request.Engine.connect(ctx, p.model, p.division)
	if err != nil {
		return err
	}
	p.bench.Engine = remote
	if p.model.Roles != nil {
		p.bench.Model.Files = p.Request.Engine.Remote.parts(p.model)
	}
	if p.division == config.Network {
		p.bench.Model = netdivision.Wrap(p.bench.Model, remote)
		if local := remote.Local(); len(local) > 0 {
			p.bench.Caveats = append(p.bench.Caveats, "not of the Network division: "+strings.Join(local, ", ")+" is on this machine, and the system under test has to be on others")
		}
	}
	return nil
}

// openEngines opens the engine, and the one that makes what is built in.
func (p *Prepared) openEngines(ctx context.Context) (err error) {
	q := &p.Request
	switch {
	case q.Engine.Name == ONNXRuntime:
		if p.maker.Engine, err = q.Engine.openORT(q.pool()); err == nil {
			p.bench.Engine = p.maker.Engine
		}
		return err
	case q.asksServers():
		p.bench.Engine, err = p.openAI()
	case q.remote():
		err = p.openOIP(ctx)
	default:
		return nil
	}
	if err != nil || q.free() {
		return err
	}
	return p.openBeside()
}

// openBeside opens the engine of this machine beside one that asks servers: it makes data and scores. Without it,
// data are made as far as that is possible.
func (p *Prepared) openBeside() error {
	library, err := p.Request.Engine.openORT(p.Request.pool())
	var none *ort.NotFoundError
	if errors.As(err, &none) {
		return nil
	}
	if err == nil {
		p.maker.Engine, p.bench.ScoreEngine = library, library
	}
	return err
}
