package suite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/report/page"
	"github.com/mlperf-go/mlperf/internal/run"
	"github.com/mlperf-go/mlperf/internal/run/outdir"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// Run runs the planned steps. A step that fails keeps its error, and the next step follows; the
// error of Run is an interruption, or that the state cannot be written. The outcome has
// the steps that were run even then.
func (p *Plan) Run(ctx context.Context, o run.Observer) (*Outcome, error) {
	release, err := p.begin()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := p.restAfter(ctx, o); err != nil {
		return p.outcome(true), err
	}
	noted := map[string]bool{}
	n, all := 0, p.Estimate().Steps // the runs of this call, as the estimate counts them
	for _, s := range p.Steps {
		if s.State != Planned {
			continue
		}
		n++
		title := fmt.Sprintf("[%d/%d] %v: ", n, all, s)
		err = p.runStep(ctx, s, &run.Part{Observer: o, Title: title, Noted: noted})
		if ctx.Err() != nil {
			err = errors.Join(context.Cause(ctx), p.save())
			break
		}
		if err != nil {
			s.State, s.Error = Failed, strings.Join(userinput.ErrorLines(err), "; ")
		}
		p.estimateAgain(s)
		o.Note(fmt.Sprintf("%s%s; left: %v", title, s.summary(), p.Estimate()))
		if err = p.save(); err != nil {
			break
		}
	}
	return p.outcome(ctx.Err() != nil), err
}

// begin makes the folder, locks it for this process, and reads the state of an earlier one.
func (p *Plan) begin() (release func(), err error) {
	if err := os.MkdirAll(p.request.Output, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the suite: %w", err)
	}
	lock := flock.New(filepath.Join(p.request.Output, ".lock"))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the folder of the suite: %w", err)
	}
	if !got {
		return nil, fmt.Errorf("%s: another process runs a suite there: wait for it, or choose another folder", p.request.Output)
	}
	release = func() { _ = lock.Unlock() } // the lock ends with the process, too
	if err = p.restore(); err == nil {
		err = p.save()
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// runStep prepares a step and runs it, unless the folder has its results already.
func (p *Plan) runStep(ctx context.Context, s *Step, o run.Observer) (err error) {
	began := time.Now()
	resolved, err := run.Resolve(p.afterAccuracy(s))
	if err != nil {
		return err
	}
	prepared, err := resolved.Provide(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	if p.request.Resume {
		if earlier := run.Earlier(s.request.Output, prepared.Fingerprint.String()); earlier != nil {
			if host, err := os.Hostname(); err == nil && earlier.Host != "" && earlier.Host != host {
				o.Note(fmt.Sprintf("the results of %s stay: %s has the same processors and devices", earlier.Host, host))
			}
			s.State, s.Results, s.Seconds = Done, earlier, p.took[s.Folder]
			return nil
		}
	}
	if p.coolsBefore(s) {
		if err := p.coolDown(ctx, s, o); err != nil {
			return err
		}
	}
	s.Results, err = prepared.Run(ctx)
	s.Seconds = time.Since(began).Seconds()
	if s.Results != nil && ctx.Err() == nil {
		s.State = Done
	}
	if s.Results != nil && err != nil {
		s.Error, err = err.Error(), nil // the results say so too
	}
	return err
}

// afterAccuracy is the request of a step with the accuracy run of the same model, if that is done or the step itself.
func (p *Plan) afterAccuracy(s *Step) run.Request {
	q := s.request
	if a := cmp.Or(p.accuracyOf(s), p.accuracyElsewhere(s)); a != nil && (a == s || a.State == Done) {
		q.AccuracyRun = a.request.Output
	}
	return q
}

// summary is a line about a step that was run.
func (s *Step) summary() string {
	text := verdict(s)
	switch r := s.Results; {
	case r == nil:
		return text + ": " + firstLine(s.Error)
	case r.Accuracy != nil:
		text += fmt.Sprintf(", %s %s", r.Accuracy.Metric, units.With(units.Score(r.Accuracy.Value), r.Accuracy.Unit))
	case r.Metric != nil:
		text += ", " + metricCell(r.Metric)
	}
	return strings.TrimSpace(text)
}

// coolsBefore reports whether the machine cools down before a step: before all that measure
// speed but the first, before which this suite has not heated it.
func (p *Plan) coolsBefore(s *Step) bool {
	return (p.cooldown > 0 || p.Suite.Temperature > 0 && !p.request.Base.Quick) && s.Mode != modeAccuracy && s != p.Steps[0]
}

// restAfter waits until the suite that ran last on this machine is over for as long as this one wants. It looks at the suites
// beside the folder of this one and below results.
func (p *Plan) restAfter(ctx context.Context, o run.Observer) error {
	if p.Suite.Between == 0 || p.request.Base.Quick || p.request.Resume || p.request.Cooldown != nil {
		return nil
	}
	beside, _ := filepath.Glob(filepath.Join(filepath.Dir(p.request.Output), "*", fileName))
	below, _ := filepath.Glob(filepath.Join(filepath.FromSlash(outdir.Root), "suites", "*", "*", fileName))
	last, name, between := time.Time{}, "", time.Duration(p.Suite.Between)
	for _, path := range append(beside, below...) {
		dir := filepath.Dir(path)
		if s, err := readState(dir); err == nil && filepath.Clean(dir) != filepath.Clean(p.request.Output) && s.Updated.After(last) &&
			!s.Updated.After(time.Now()) {
			last, name = s.Updated, s.Suite.Name
		}
	}
	since := time.Since(last)
	if since >= between {
		return nil
	}
	o.Note(fmt.Sprintf("suite %s ended %s ago, and this one begins %s after another: waiting %s (--cooldown gives another pause)", name,
		coarse(since), units.Duration(between), coarse(between-since)))
	o.Phase("pause between suites")
	return p.wait(ctx, o, between-since, nil)
}

// wait waits, and then for as long as more asks for it; nil: no longer. It shows the seconds.
func (p *Plan) wait(ctx context.Context, o run.Observer, least time.Duration, more func(waited time.Duration) bool) error {
	for begin := time.Now(); ; {
		waited := time.Since(begin)
		again := more != nil && more(waited)
		if waited >= least && !again {
			return nil
		}
		o.Items(int(waited/time.Second), int(max(least, waited)/time.Second))
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(min(coolingInterval, max(least-waited, time.Second))):
		}
	}
}

const (
	// extraCooldown is how much longer than the cool-down a machine may take that is still too hot.
	extraCooldown = 10 * time.Minute
	// coolingInterval is the time between readings of the temperature.
	coolingInterval = 5 * time.Second
)

// mostCooldown is how long a suite may let the machine cool down before a run: longer is a typing error.
const (
	mostCooldown = 24 * time.Hour
	wantCooldown = "a time of up to 24h"
)

// coolDown waits as long as the suite says, and longer if the machine is still too hot.
func (p *Plan) coolDown(ctx context.Context, s *Step, o run.Observer) error {
	o.Phase("cool-down")
	limit := p.Suite.Temperature
	known, hot, waited := false, false, time.Duration(0)
	err := p.wait(ctx, o, p.cooldown, func(so time.Duration) bool {
		waited = so
		s.Celsius, known = p.celsius()
		hot = known && limit > 0 && s.Celsius > limit
		return hot && waited < p.cooldown+extraCooldown
	})
	switch {
	case err != nil:
		return err
	case limit > 0 && !known:
		o.Note("no temperature sensor can be read: the suite's limit was not checked")
	case hot:
		o.Note(fmt.Sprintf("the machine has %.0f °C after %s, the suite wants %.0f: its speed may suffer", s.Celsius,
			units.Duration(waited.Round(time.Second)), limit))
	}
	return nil
}

// Schema names the form of suite.json.
const Schema = "mlperf-go/suite/1"

// outcomeSchema names the form of the outcome, which has limitations as data since 2.
const outcomeSchema = "mlperf-go/suite/2"

// fileName is the file in the folder of a suite that has its state.
const fileName = "suite.json"

// A state is the content of suite.json.
type state struct {
	Schema  string    `json:"schema"`
	Program string    `json:"program"`
	Updated time.Time `json:"updated"`
	Quick   bool      `json:"quick,omitempty"`
	Suite   *Suite    `json:"suite"`
	Steps   []*Step   `json:"steps"`
}

// An ExistsError says that a folder has a suite already.
type ExistsError struct{ Folder, Suite string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s has the results of suite %s already", e.Folder, e.Suite)
}

// readState reads the state of the suite in a folder.
func readState(dir string) (*state, error) {
	path := filepath.Join(dir, fileName)
	data, err := fileio.ReadFile(path, maxState)
	if err != nil {
		return nil, err
	}
	s, err := parseState(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return s, nil
}

// maxState is how long suite.json may be.
const maxState = 16 << 20

func parseState(data []byte) (*state, error) {
	s := &state{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, err
	}
	if s.Schema != Schema {
		return nil, fmt.Errorf("schema is %q, this program reads %q", s.Schema, Schema)
	}
	if s.Suite == nil {
		return nil, errors.New("suite is missing")
	}
	return s, nil
}

// restore reads the state of the folder. Steps that are done are still prepared, to compare
// their fingerprints.
func (p *Plan) restore() error {
	if p.request.Output == "" {
		return nil
	}
	earlier, err := readState(p.request.Output)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return outdir.CheckNames(p.request.Output, fileName, page.FileName)
	case err != nil:
		return err
	case !p.request.Resume:
		return &ExistsError{p.request.Output, earlier.Suite.Name}
	}
	had, has := earlier.Suite.Name+quickly(earlier.Quick), p.Suite.Name+quickly(p.request.Base.Quick)
	if had != has {
		return fmt.Errorf("%s has suite %s, this is %s: choose another folder", p.request.Output, had, has)
	}
	p.took = map[string]float64{}
	for _, s := range earlier.Steps {
		if s != nil {
			p.took[s.Folder] = s.Seconds
		}
	}
	return nil
}

func quickly(quick bool) string {
	if quick {
		return ", quick"
	}
	return ""
}

// save writes the state down.
func (p *Plan) save() error {
	data, err := json.MarshalIndent(state{
		Schema: Schema, Program: p.request.Base.Program, Updated: time.Now().UTC().Truncate(time.Second),
		Quick: p.request.Base.Quick, Suite: p.Suite, Steps: p.Steps,
	}, "", "  ")
	if err == nil {
		err = fileio.WriteFileIn(p.request.Output, fileName, append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing the state of the suite: %w", err)
	}
	return nil
}

// NewFolder is the default folder of a suite. It is named after the second, with a number behind it if another
// suite began in the same one.
func NewFolder(name string, quick bool) string {
	first := filepath.Join(parent(name, quick), time.Now().Format("20060102-150405"))
	folder := first
	for n := 2; ; n++ {
		if _, err := os.Lstat(folder); err != nil {
			return folder
		}
		folder = fmt.Sprintf("%s-%d", first, n)
	}
}

func parent(name string, quick bool) string {
	if quick {
		name += "-quick"
	}
	return filepath.Join(filepath.FromSlash(outdir.Root), "suites", name)
}

// UnfinishedFolder is the newest default folder of a suite that still has planned steps.
func UnfinishedFolder(name string, quick bool) (string, error) {
	dir := parent(name, quick)
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("looking for the suite: %w", err)
	}
	slices.Reverse(entries) // by name, which is the time
	for _, e := range entries {
		if folder := filepath.Join(dir, e.Name()); e.IsDir() && unfinished(folder, name, quick) {
			return folder, nil
		}
	}
	return "", fmt.Errorf("no unfinished run of suite %s%s below %s: name its folder, or begin a new one", name, quickly(quick), dir)
}

// unfinished reports whether a folder has a suite of the name with planned steps.
func unfinished(dir, name string, quick bool) bool {
	s, err := readState(dir)
	if err != nil || s.Suite.Name != name || s.Quick != quick {
		return false
	}
	return slices.ContainsFunc(s.Steps, func(step *Step) bool { return step != nil && step.State == Planned })
}
