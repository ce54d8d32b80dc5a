package engine

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/metrics"
	"github.com/mlperf-go/mlperf/internal/backend/oip"
	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/backend/oip/protocol"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Remote has the servers of an engine whose models run elsewhere, and its options.
type Remote struct {
	Endpoints   []string      // URLs
	Model       string        // its name at the servers, or role=name,… of several files; empty: that of the catalogue
	Version     string        // of it; empty: the servers'
	Concurrency int           // requests under way at most; 0: chosen
	Timeout     time.Duration // of a request; 0: 2 minutes
	Retry       int           // how often a request is sent again
	TokenFile   string
	CA          string // files of TLS, in PEM
	Cert        string
	Key         string
	// Metrics are where servers tell of themselves in Prometheus' form: addresses, MetricsOff, or MetricsAuto, which is what none is, too: for
	// servers of text, /metrics of each endpoint, if it is there.
	Metrics []string
	// Cancel is the share of the requests to servers of text whose answers are given up CancelAfter sending.
	Cancel      float64
	CancelAfter time.Duration
	// Speculation is speculative decoding that the servers of text do, as the user declares it: it goes to the record.
	Speculation rounds.Speculation

	// Dial connects to servers of text instead of the network; for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error) `json:"-"`
}

const (
	// mostConcurrent is the largest number of requests under way. It is far beyond all machines, and only finds typing
	// errors.
	mostConcurrent = 4096
	mostRetries    = 100
)

// The words of Remote.Metrics.
const (
	MetricsAuto = "auto"
	MetricsOff  = "off"
)

// WatchMetrics reads what servers tell of themselves until the Watcher is closed. An error is of an address that was given.
func (c Config) WatchMetrics(ctx context.Context) (*metrics.Watcher, error) {
	r, given := &c.Remote, false
	var urls []string
	switch {
	case slices.Equal(r.Metrics, []string{MetricsOff}), !c.IsRemote():
		return nil, nil
	case len(r.Metrics) > 0 && !slices.Equal(r.Metrics, []string{MetricsAuto}):
		urls, given = r.Metrics, true
	case c.Name == OpenAI:
		endpoints, err := eachAddress(ctx, r.Endpoints)
		if err != nil {
			return nil, nil // opening the engine fails, too, and says why
		}
		for _, endpoint := range endpoints {
			urls = append(urls, metrics.Of(endpoint))
		}
	}
	if len(urls) == 0 {
		return nil, nil
	}
	w, err := metrics.Watch(ctx, metrics.Config{URLs: urls, TLS: credentials.TLS{CA: r.CA, Cert: r.Cert, Key: r.Key}, Dial: r.Dial})
	if err != nil && given {
		w.Close()
		return nil, userinput.Wrap("server_metrics", err)
	}
	return w, nil
}

// given names the first field that has a value; empty: none has.
func (r *Remote) given() string {
	return userinput.FirstSet(
		[]string{"endpoint", "remote_model", "remote_version", "concurrency", "request_timeout", "retry", "token_file", "tls_ca", "tls_cert",
			"tls_key", "server_metrics", "request_cancellation_rate", "request_cancellation_delay", "speculative_algorithm",
			"speculative_draft_model", "speculative_num_steps", "speculative_eagle_topk", "speculative_acceptance"},
		len(r.Endpoints) > 0, r.Model != "", r.Version != "", r.Concurrency != 0, r.Timeout != 0, r.Retry != 0, r.TokenFile != "", r.CA != "",
		r.Cert != "", r.Key != "", len(r.Metrics) > 0, r.Cancel != 0, r.CancelAfter != 0, r.Speculation.Algorithm != "",
		r.Speculation.Head != "", r.Speculation.Steps != 0, r.Speculation.TopK != 0, r.Speculation.AcceptLength != 0,
	)
}

// checkSpeculation finds wrong declarations of speculative decoding.
func (r *Remote) checkSpeculation(engine string) error {
	s := &r.Speculation
	detail := userinput.FirstSet(
		[]string{"speculative_draft_model", "speculative_num_steps", "speculative_eagle_topk", "speculative_acceptance"},
		s.Head != "", s.Steps != 0, s.TopK != 0, s.AcceptLength != 0)
	switch {
	case *s == rounds.Speculation{}:
		return nil
	case engine != OpenAI:
		return userinput.Errorf(cmp.Or(detail, "speculative_algorithm"), "is about servers of text: the engine is %s and must be %s", engine, OpenAI)
	case s.Algorithm == "":
		return userinput.Errorf(detail, "is a part of speculative decoding: give speculative_algorithm, too, as EAGLE3")
	case s.Steps < 0:
		return userinput.Invalid("speculative_num_steps", s.Steps, "a number from 1")
	case s.TopK < 0:
		return userinput.Invalid("speculative_eagle_topk", s.TopK, "a number from 1")
	case s.AcceptLength != 0 && !(s.AcceptLength >= 1 && units.Finite(s.AcceptLength)):
		return userinput.Invalid("speculative_acceptance", s.AcceptLength, "tokens of a step, from 1")
	}
	return nil
}

// check finds wrong options of any servers.
func (r *Remote) check(engine string) error {
	switch {
	case len(r.Endpoints) == 0:
		return userinput.Missing("endpoint", "the engine asks servers, as http://host:8000")
	case r.Concurrency < 0 || r.Concurrency > mostConcurrent:
		return userinput.Invalid("concurrency", r.Concurrency, fmt.Sprintf("from 1 to %d, or 0 for the default", mostConcurrent))
	case r.Retry < 0 || r.Retry > mostRetries:
		return userinput.Invalid("retry", r.Retry, fmt.Sprintf("from 0 to %d", mostRetries))
	case r.Timeout < 0:
		return userinput.Invalid("request_timeout", r.Timeout, "a time")
	case (r.Cert == "") != (r.Key == ""):
		return userinput.Errorf("tls_cert", "a certificate and its key go together: give both or neither")
	}
	if err := r.checkSpeculation(engine); err != nil {
		return err
	}
	if engine == OIP {
		for _, url := range r.Endpoints {
			if err := client.CheckEndpoint(url); err != nil {
				return userinput.Wrap("endpoint", err)
			}
		}
	}
	return nil
}

// FitFiles bounds the requests under way by the files that the process may open: each takes one. 0 files: not known.
func (r *Remote) FitFiles(files uint64) {
	const mostPrompts, spare = 1 << 20, 128 // files for other things than connections
	if files == 0 || files >= mostPrompts {
		return
	}
	most := int(max(files/2, files-min(files, spare)))
	if r.Concurrency == 0 || r.Concurrency > most {
		r.Concurrency = max(1, most)
	}
}

// names are those of a model at the servers: its own, and of several files those that are not called NAME-role.
func (r *Remote) names(m workload.Model) (name string, files map[string]string) {
	switch {
	case r.Model == "":
		return m.Name, nil
	case m.Roles == nil || !strings.Contains(r.Model, "="):
		return r.Model, nil
	}
	files = map[string]string{}
	for word := range strings.SplitSeq(r.Model, ",") {
		role, name, _ := strings.Cut(word, "=")
		files[role] = name
	}
	return m.Name, files
}

// CheckNames finds names of files that the model does not have, and files without a name.
func (r *Remote) CheckNames(m workload.Model) error {
	_, files := r.names(m)
	for _, role := range slices.Sorted(maps.Keys(files)) {
		switch name := files[role]; {
		case !slices.Contains(m.Roles, role):
			return userinput.Errorf("remote_model", "%q: the model has no file %q, expected %s", r.Model, role, strings.Join(m.Roles, ", "))
		case name == "":
			return userinput.Errorf("remote_model", "%q: the %s has no name, expected role=name", r.Model, role)
		}
	}
	return nil
}

// TaskName is the name of the model's task at the servers, which answers whole samples.
func (r *Remote) TaskName(m workload.Model) string {
	name, _ := r.names(m)
	return name + protocol.TaskSuffix
}

// OpenOIP opens the engine that asks servers of the Open Inference Protocol, and returns the model as it runs there:
// its files have the names by which the servers know them, or, in the Network division, whole samples are answered
// by a task, and local lists servers on this machine.
func (r *Remote) OpenOIP(ctx context.Context, m workload.Model, networkDivision bool) (e backend.Engine, _ workload.Model, local []string,
	err error) {
	o := client.Options{Endpoints: r.Endpoints, Concurrency: r.Concurrency, Timeout: r.Timeout, Retry: r.Retry,
		TLS: credentials.TLS{CA: r.CA, Cert: r.Cert, Key: r.Key}}
	if r.TokenFile != "" {
		if o.Token, err = credentials.ReadKey(r.TokenFile); err != nil {
			return nil, m, nil, userinput.Wrap("token_file", err)
		}
	}
	name, ownNames := r.names(m)
	c := oip.Config{Client: o, Model: name, Version: r.Version}
	if networkDivision {
		c.Task = r.TaskName(m)
	}
	servers, err := oip.New(ctx, c)
	if err != nil {
		return nil, m, nil, err
	}
	if m.Roles != nil {
		var files []workload.File
		for _, role := range m.Roles {
			files = append(files, workload.File{Role: role, Path: cmp.Or(ownNames[role], protocol.PartName(name, role))})
		}
		m.Files = func(string) ([]workload.File, error) { return files, nil }
	}
	if networkDivision {
		m, local = overNetwork(m, servers), servers.Local(ctx)
	}
	return servers, m, local, nil
}

// WarmConnections is how many connections to each server are made before the first request, at most.
const WarmConnections = 64

// OpenOpenAI opens the engine that has servers of text answer prompts. Exact answers are as long as their limit. In the
// Network division local lists servers on this machine.
func (r *Remote) OpenOpenAI(ctx context.Context, route string, stream, exact bool, warm int, extras openai.Extras,
	networkDivision bool) (_ backend.Engine, local []string, err error) {
	endpoints, err := eachAddress(ctx, r.Endpoints)
	if err != nil {
		return nil, nil, err
	}
	e, err := openai.New(openai.Config{
		URLs: endpoints, TokenFile: r.TokenFile, TokenEnv: credentials.Variables(), TLS: credentials.TLS{CA: r.CA, Cert: r.Cert, Key: r.Key},
		Model: r.Model, Route: route, Extras: extras, Stream: stream, Exact: exact, Concurrency: r.Concurrency, Retries: r.Retry,
		Timeout: r.Timeout, Warm: warm, Dial: r.Dial, Cancel: r.Cancel, CancelAfter: r.CancelAfter,
		Once: networkDivision,
	})
	if err != nil {
		return nil, nil, err // and no engine that is nil
	}
	if !networkDivision {
		return e, nil, nil
	}
	for _, text := range endpoints {
		if u, err := url.Parse(text); err == nil && machine.HasAddress(ctx, u.Hostname()) {
			local = append(local, credentials.Address(text))
		}
	}
	return e, local, nil
}

// eachAddress replaces dns+http://host:port by a URL for each address that the name has: a headless Service of Kubernetes has one for each pod.
func eachAddress(ctx context.Context, urls []string) (list []string, err error) {
	for _, text := range urls {
		plain, all := strings.CutPrefix(text, "dns+")
		if !all {
			list = append(list, text)
			continue
		}
		u, err := url.Parse(plain)
		if err != nil || u.Scheme != "http" || u.Hostname() == "" {
			return nil, userinput.Errorf("endpoint", "%q: expected dns+http://HOST:PORT; with https give the name of each server, which its certificate has",
				credentials.Address(text))
		}
		addresses, err := net.DefaultResolver.LookupHost(ctx, u.Hostname())
		if err != nil {
			return nil, userinput.Wrap("endpoint", fmt.Errorf("%q: %w", credentials.Address(text), err))
		}
		slices.Sort(addresses)
		for _, address := range slices.Compact(addresses) {
			u.Host = net.JoinHostPort(address, cmp.Or(u.Port(), "80"))
			list = append(list, u.String())
		}
	}
	return list, nil
}
