package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/machine/power"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// A Resolved request has a model, rules and settings. Nothing was opened or made for it.
type Resolved struct {
	// Request has the defaults filled in, and what a profile gave.
	Request  Request
	Settings loadgen.TestSettings
	Made     []report.Setting // settings that somebody made, with where
	Warnings []string
	Notes    []string // what a user should know before the run

	model    workload.Model
	rules    *config.RuleSet
	resolved *config.Resolved
	confs    config.Request // with the conf files
	division config.Division
	// interactive: Server with the bounds of the model's Interactive
	interactive bool
	taken       []report.Setting // from a profile

	chosenFolder bool // nobody gave one for the results
}

// Resolve finds out what a request means. It reads files of settings and a profile, and
// looks at nothing else.
func Resolve(q Request) (*Resolved, error) {
	r, err := meaningOf(q)
	if err != nil {
		return nil, err
	}
	if err := r.output(); err != nil {
		return nil, err
	}
	return r, nil
}

// meaningOf finds out everything but where results go.
func meaningOf(q Request) (*Resolved, error) {
	r := &Resolved{Request: q}
	for _, step := range []func() error{r.names, r.Request.check, r.options, r.settings, r.profile, r.forServers, r.peak} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// names looks the model, the rules and the division up.
func (r *Resolved) names() (err error) {
	q := &r.Request
	if q.Model == "" && !q.free() {
		return userinput.Missing("model", "want a model of the catalogue")
	}
	if q.Scenario == "" {
		return userinput.Missing("scenario", "want SingleStream, MultiStream, Server, Offline or Interactive")
	}
	if r.model, err = q.model(); err != nil {
		return userinput.Wrap("model", err)
	}
	if r.rules, err = config.Rules(q.Rules); err != nil {
		return userinput.Wrap("rules", err)
	}
	r.division, err = config.ParseDivision(q.Division)
	return userinput.Wrap("division", err)
}

// ScenarioName is the scenario as users call it: Interactive, too.
func (r *Resolved) ScenarioName() string {
	if r.interactive {
		return "Interactive"
	}
	return r.Settings.Scenario.String()
}

// model is that of the catalogue, or prompts that belong to none.
func (q *Request) model() (workload.Model, error) {
	switch {
	case q.free():
		return q.freeModel(), nil
	case !q.asksServers():
		return q.here()
	}
	m, err := models.LookupAsked(q.Model)
	if err == nil && m.Ask == nil {
		err = fmt.Errorf("%s takes no prompts: servers of text are asked for language models only", m.Name)
	}
	return m.Asked(), err
}

// here is a model that runs from files.
func (q *Request) here() (workload.Model, error) {
	m, err := models.Lookup(q.Model)
	if err == nil {
		return m, nil
	}
	if m, other := models.LookupAsked(q.Model); other == nil {
		return m, fmt.Errorf("%s does not run here: servers of text are asked (backend %s)", m.Name, OpenAI)
	}
	return m, err
}

func (r *Resolved) options() error {
	if q := &r.Request; q.Rows != 0 {
		if err := checkRows(r.model, q.Rows); err != nil {
			return err
		}
		if q.ModelPath != "" {
			return userinput.Errorf("rows", "is of built-in models, the model is %s", q.ModelPath)
		}
	}
	return r.model.CheckOptions(r.Request.Options)
}

// fewestRows are those below which a table is none that tells anything of a real one.
const fewestRows = 1000

// checkRows wants a number of rows that the tables of a built-in model can have.
func checkRows(m workload.Model, rows int64) error {
	recipe, ok := m.BuiltIn.(workload.Recipe)
	if !ok || !recipe.Tables() {
		return userinput.Errorf("rows", "%s has no tables of categories", m.Name)
	}
	if rows < fewestRows {
		return userinput.Invalid("rows", rows, fmt.Sprintf("%d or more rows of each table", fewestRows))
	}
	return nil
}

// KeptRuns is the folder of runs that nobody gave a folder for.
const KeptRuns = "results"

// output chooses the folder, and refuses one that has results already.
func (r *Resolved) output() error {
	q := &r.Request
	given := q.Output != ""
	if !given {
		q.Output = filepath.Join(KeptRuns, r.model.Name, strings.ToLower(r.ScenarioName()), cmp.Or(q.Mode, "performance"), time.Now().Format("20060102-150405"))
	}
	if q.Ranging {
		q.Output = filepath.Join(q.Output, power.Testing)
	}
	r.chosenFolder = !given
	if !given {
		return nil // it is made when the run begins
	}
	return q.taken(q.Output)
}

// taken refuses a folder that has results already.
func (q *Request) taken(dir string) error {
	if q.Force || !hasResults(dir) || q.goesOn() {
		return nil
	}
	return &ExistsError{Folder: dir}
}

// goesOn reports whether the request is a search that was interrupted in its folder.
func (q *Request) goesOn() bool {
	_, err := os.Stat(filepath.Join(q.Output, harness.PeakFile))
	return err == nil && q.Mode == FindPeak
}

// An ExistsError says that a folder has the results of a run already.
type ExistsError struct{ Folder string }

func (e *ExistsError) Error() string {
	return e.Folder + " has the results of a run already: choose another folder, or have them replaced"
}
