package run

import (
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/credentials"
	"github.com/mlperf-go/mlperf/internal/backend/openai"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Prompts say what servers of text are asked, and how.
type Prompts struct {
	Synthetic int    // prompts that are made up; 0: they are in the file of DatasetPath
	Words     int    // of a prompt that is made up; 0: 256
	Answer    int    // tokens of an answer, where a prompt does not say; 0: 128
	Route     string // auto, chat or completions; empty: auto
	Stream    string // auto, on or off; empty: auto
	Artifacts string // folder for what mlcommons/endpoints writes; empty: none
}

// keyVariables are those of the environment that may have the key of a server.
var keyVariables = []string{"MLPERF_API_KEY", "OPENAI_API_KEY"}

// asksServers reports whether prompts go to servers.
func (q *Request) asksServers() bool { return q.Engine.Name == OpenAI }

// free reports whether the prompts belong to no benchmark.
func (q *Request) free() bool { return q.asksServers() && q.Model == "" }

const (
	mostConcurrent = 1 << 20
	mostPrompts    = 1 << 20
	mostWords      = 1 << 20
)

// given names something that was said about prompts; empty: nothing was.
func (p Prompts) given() string {
	return firstGiven([]given{
		{"synthetic_prompts", p.Synthetic != 0}, {"prompt_words", p.Words != 0}, {"answer_tokens", p.Answer != 0}, {"route", p.Route != ""}, {"stream", p.Stream != ""},
		{"endpoints_artifacts", p.Artifacts != ""},
	})
}

// checkPrompts finds what is said about prompts where nobody is asked, and prompts that there
// cannot be.
func (q *Request) checkPrompts() error {
	p := q.Prompts
	if !q.asksServers() {
		if name := p.given(); name != "" {
			return userinput.Errorf(name, "is about servers of text, and the engine is %s: want %s", q.Engine.Name, OpenAI)
		}
		return nil
	}
	if err := p.check(); err != nil {
		return err
	}
	return q.checkSource()
}

// check finds numbers and names that no prompts can have.
func (p Prompts) check() error {
	for _, n := range []struct {
		field       string
		value, most int
	}{{"synthetic_prompts", p.Synthetic, mostPrompts}, {"prompt_words", p.Words, mostWords}, {"answer_tokens", p.Answer, mostWords}} {
		if n.value < 0 || n.value > n.most {
			return userinput.Invalid(n.field, n.value, "from 1 to "+strconv.Itoa(n.most)+", or 0 for the default")
		}
	}
	if p.Stream == "" {
		return nil
	}
	return oneOf("stream", p.Stream, "auto", "on", "off")
}

// checkSource finds what cannot be right about where prompts come from.
func (q *Request) checkSource() error {
	p, free := q.Prompts, q.free()
	made, file := p.Synthetic > 0, q.DatasetPath != ""
	severalTests := slices.Contains([]string{FindPeak, "submission"}, q.Mode)
	scored := slices.Contains([]string{"accuracy", "submission"}, q.Mode)
	for _, c := range []struct {
		wrong bool
		err   error
	}{
		{q.Instances != 0 || q.MaxBatch != 0, userinput.Errorf("instances", "there are no batches and no workers for them: the engine %s asks for each sample by itself, want concurrency", OpenAI)},
		{free && !made && !file, userinput.Missing("dataset_path", "want a file of prompts, or a number of synthetic_prompts")},
		{made && file, userinput.Errorf("synthetic_prompts", "prompts are made up or in a file: want one of the two")},
		{made && !free, userinput.Errorf("synthetic_prompts", "%s has prompts of its own", q.Model)},
		{p.Words > 0 && !made, userinput.Errorf("prompt_words", "is about prompts that are made up: want synthetic_prompts")},
		{p.Artifacts != "" && severalTests, userinput.Errorf("endpoints_artifacts", "are of one test of performance or accuracy, and %s is several", q.Mode)},
		{free && scored, userinput.Errorf("mode", "%s needs a benchmark of the catalogue: there is no truth for other prompts", q.Mode)},
	} {
		if c.wrong {
			return c.err
		}
	}
	return nil
}

// streams reports whether answers come in pieces: not in Offline, where only the last one counts.
func (q *Request) streams(s loadgen.Scenario) bool {
	if q.Prompts.Stream == "" || q.Prompts.Stream == "auto" {
		return s != loadgen.Offline
	}
	return q.Prompts.Stream == "on"
}

const (
	offlineAtOnce = 256 // requests under way in Offline, if nobody says how many
	warmAtMost    = 64  // connections to each server that are made before the first request
	triedAtOnce   = 16  // requests that measure a rate
	// spareFiles are left for other things than connections.
	spareFiles = 128
)

// forPrompts chooses what a run on servers of text needs otherwise than one here. It computes
// nothing: one predictor asks for all samples.
func (r *Resolved) forPrompts() error {
	if err := r.answerable(); err != nil {
		return err
	}
	q := &r.Request
	q.Instances, q.Backend.IntraThreads, q.MaxBatch = 1, 1, 1
	given := q.Engine.Remote.Concurrency > 0
	if !given && r.Settings.Scenario == loadgen.Offline {
		q.Engine.Remote.Concurrency = offlineAtOnce
	}
	if !given {
		q.Engine.Remote.fitFiles(machine.OpenFiles())
	}
	switch r.Settings.Scenario {
	case loadgen.Offline:
		q.MaxBatch = min(q.Engine.Remote.Concurrency, warmAtMost)
	case loadgen.Server:
		q.MaxBatch = triedAtOnce
	}
	return nil
}

// fitFiles bounds the requests under way, of which nobody said how many there are, by the files that may be
// open, of which each takes one. 0 files: nobody knows how many.
func (r *Remote) fitFiles(files uint64) {
	if files == 0 || files >= mostConcurrent {
		return
	}
	most := int(max(files/2, files-min(files, spareFiles)))
	if r.Concurrency == 0 || r.Concurrency > most {
		r.Concurrency = max(1, most)
	}
}

// answerable finds benchmarks that cannot be measured as they are asked for.
func (r *Resolved) answerable() error {
	q := &r.Request
	if r.Settings.UseTokenLatencies && r.Settings.Scenario != loadgen.Offline && !q.streams(r.Settings.Scenario) {
		return userinput.Errorf("stream", "%s has bounds on tokens in %v, and whole answers have no first one: want on", r.model.Name, r.Settings.Scenario)
	}
	return nil
}

// openAI opens the engine of endpoints.
func (r *Resolved) openAI() (backend.Engine, error) {
	q, remote := &r.Request, &r.Request.Engine.Remote
	warm := warmAtMost
	if s := r.Settings.Scenario; s == loadgen.SingleStream {
		warm = 1
	}
	if remote.Concurrency > 0 {
		warm = min(warm, remote.Concurrency)
	}
	return openai.New(openai.Config{
		URLs: remote.Endpoints, TokenFile: remote.TokenFile, TokenEnv: keyVariables, TLS: credentials.TLS{CA: remote.CA, Cert: remote.Cert, Key: remote.Key},
		Model: remote.Model, Route: q.Prompts.Route, Stream: q.streams(r.Settings.Scenario), Exact: q.exact(),
		Concurrency: remote.Concurrency, Retries: remote.Retry, Timeout: remote.Timeout, Warm: warm,
	})
}

// exact reports whether answers are to be as long as their limit: those to prompts that are made
// up, because nobody knows when a model would end them.
func (q *Request) exact() bool { return q.Prompts.Synthetic > 0 }
