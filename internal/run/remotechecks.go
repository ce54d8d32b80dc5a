package run

import (
	"fmt"

	"github.com/mlperf-go/mlperf/internal/backend/oip/client"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// given names something that was said about servers; empty: nothing was.
func (r *Remote) given() string {
	return firstGiven([]given{
		{"endpoint", len(r.Endpoints) > 0}, {"remote_model", r.Model != ""}, {"remote_version", r.Version != ""}, {"concurrency", r.Concurrency != 0},
		{"request_timeout", r.Timeout != 0}, {"retry", r.Retry != 0}, {"token_file", r.TokenFile != ""},
		{"tls_ca", r.CA != ""}, {"tls_cert", r.Cert != ""}, {"tls_key", r.Key != ""},
	})
}

// check finds what cannot be right, whatever the servers are.
func (r *Remote) check() error {
	if len(r.Endpoints) == 0 {
		return userinput.Missing("endpoint", "the engine asks servers, as http://host:8000")
	}
	switch {
	case r.Concurrency < 0 || r.Concurrency > mostThreads:
		return userinput.Invalid("concurrency", r.Concurrency, fmt.Sprintf("from 1 to %d, or 0 for the default", mostThreads))
	case r.Retry < 0 || r.Retry > mostRetries:
		return userinput.Invalid("retry", r.Retry, fmt.Sprintf("from 0 to %d", mostRetries))
	case r.Timeout < 0:
		return userinput.Invalid("request_timeout", r.Timeout, "a time")
	case (r.Cert == "") != (r.Key == ""):
		return userinput.Errorf("tls_cert", "a certificate and its key go together: want both or neither")
	}
	return nil
}

// withoutServers finds what is said about servers where the engine asks none.
func (q *Request) withoutServers() error {
	if name := q.Engine.Remote.given(); name != "" {
		return userinput.Errorf(name, "is about servers, and the engine is %s: want %s or %s", q.Engine.Name, OIP, OpenAI)
	}
	return nil
}

// checkRemote finds what is said about servers where there are none, and what only an engine of
// this machine can do.
func (q *Request) checkRemote() error {
	remote := q.Engine.Remote
	if !q.remote() {
		return q.withoutServers()
	}
	if name := q.ofThisMachine(); name != "" {
		return userinput.Errorf(name, "is up to the servers: the engine %s only asks them", q.Engine.Name)
	}
	if flag, other := q.Given["model_name"], q.Given["remote_model"]; flag != "" && other != "" {
		return userinput.Errorf("remote_model", "is the same as model_name, and both are given (%s, %s): want one of the two", flag, other)
	}
	if remote.Concurrency > 0 && q.Instances > 0 && remote.Concurrency != q.Instances {
		return userinput.Errorf("concurrency", "%d requests are to be under way, and %d instances ask: want one of the two", remote.Concurrency, q.Instances)
	}
	if err := remote.check(); err != nil {
		return err
	}
	if q.Engine.Name == OIP {
		for _, url := range remote.Endpoints {
			if err := client.CheckEndpoint(url); err != nil {
				return userinput.Wrap("endpoint", err)
			}
		}
	}
	return nil
}

// ofThisMachine names the first field that is about an engine of this machine; empty: there is none.
func (q *Request) ofThisMachine() string {
	return firstGiven([]given{
		{"model_path", q.ModelPath != ""}, {"precision", q.Precision != ""}, {"device", q.Backend.Device != "" && q.Backend.Device != "cpu"},
		{"intra_threads", q.Backend.IntraThreads > 0}, {"pin", q.Pin}, {"shared_threads", q.Engine.SharedThreads > 0},
	})
}
