package report

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A Line is a run as a list of runs shows it.
type Line struct {
	Folder   string    `json:"folder"`
	Created  time.Time `json:"created"`
	Model    string    `json:"model"`
	Scenario string    `json:"scenario"`
	Mode     string    `json:"mode"`
	Result   string    `json:"result"`

	Engine      string `json:"engine"`
	Device      string `json:"device"`
	Precision   string `json:"precision,omitempty"`
	Batch       int    `json:"batch"`       // largest
	Concurrency int    `json:"concurrency"` // workers that run the model at once

	SamplesPerSecond float64 `json:"samples_per_second,omitempty"`
	// LatencyP95MS is the 95th percentile, of queries in MultiStream. In Offline there is
	// none: all samples wait from the beginning.
	LatencyP95MS float64       `json:"latency_p95_ms,omitempty"`
	Metric       *Metric       `json:"metric,omitempty"` // the scenario's result
	Accuracy     *LineAccuracy `json:"accuracy,omitempty"`
	PerDollar    float64       `json:"samples_per_second_per_dollar,omitempty"`

	JoulesPerSample float64 `json:"joules_per_sample,omitempty"`
}

// LineAccuracy is an accuracy and the run that measured it, which may be another.
type LineAccuracy struct {
	Metric  string  `json:"metric"`
	Value   float64 `json:"value"`
	Unit    string  `json:"unit,omitempty"`
	Met     bool    `json:"met"`
	Partial bool    `json:"partial,omitempty"`
	Folder  string  `json:"folder"`
}

// Lines lists runs. A run that measured only speed gets the accuracy of the newest run of
// the same model file, on the same engine and devices, if there is one among them or others.
// Price is what the system costs, in dollars; 0: not known.
func Lines(runs, others []Run, price float64) []Line {
	all := slices.Concat(runs, others)
	var lines []Line
	for _, run := range runs {
		l := newLine(run)
		if l.Accuracy == nil {
			l.Accuracy = accuracyOf(run.Results, all)
		}
		if price > 0 {
			l.PerDollar = l.SamplesPerSecond / price
		}
		lines = append(lines, l)
	}
	return lines
}

func newLine(run Run) Line {
	r := run.Results
	l := Line{
		Folder: run.Folder, Created: r.Created, Model: r.Model, Scenario: r.ScenarioName(), Mode: r.Mode, Result: r.Verdict(),
		Engine: r.Backend.Engine, Device: deviceNames(r), Precision: r.Input.Precision,
		Batch: r.Backend.MaxBatch, Concurrency: r.Backend.Instances,
		Metric: r.Metric, Accuracy: lineAccuracy(run),
	}
	if r.Energy != nil {
		l.JoulesPerSample = r.Energy.JoulesPerSample
	}
	if p := r.Performance; p != nil {
		l.SamplesPerSecond = p.SamplesPerSecond
		switch {
		case p.QueryLatencyNS != nil:
			l.LatencyP95MS = float64(p.QueryLatencyNS.P95) / 1e6
		case r.Scenario != "Offline" && p.LatencyNS != nil:
			l.LatencyP95MS = float64(p.LatencyNS.P95) / 1e6
		}
	}
	return l
}

func lineAccuracy(run Run) *LineAccuracy {
	a := run.Results.Accuracy
	if a == nil {
		return nil
	}
	return &LineAccuracy{a.Metric, a.Value, a.Unit, !a.Below(), a.Partial, run.Folder}
}

// accuracyOf finds the accuracy of a run among others. One of the whole data set is
// preferred to one of a part of it.
func accuracyOf(r *Results, runs []Run) *LineAccuracy {
	var best *Results
	var found *LineAccuracy
	for _, other := range runs {
		o := other.Results
		if o.Accuracy == nil || o.Result == Interrupted || !sameSystem(r, o) {
			continue
		}
		if best == nil || !tellsLess(o, best) {
			best, found = o, lineAccuracy(other)
		}
	}
	return found
}

// tellsLess reports whether the accuracy of a run says less than that of another: it is of a part of the data, or older.
func tellsLess(a, b *Results) bool {
	if a.Accuracy.Partial != b.Accuracy.Partial {
		return a.Accuracy.Partial
	}
	return a.Created.Before(b.Created)
}

// sameSystem reports whether two runs should give the same answers. The same file may answer
// otherwise on another device, or if the device converts it.
func sameSystem(a, b *Results) bool {
	return a.Model == b.Model && a.Input.ModelSHA256 != "" && a.Input.ModelSHA256 == b.Input.ModelSHA256 &&
		a.Input.Precision == b.Input.Precision && engineName(a) == engineName(b) && deviceNames(a) == deviceNames(b)
}

// engineName is the engine without its version.
func engineName(r *Results) string {
	name, _, _ := strings.Cut(r.Backend.Engine, " ")
	return name
}

func deviceNames(r *Results) string {
	return strings.Join(slices.Sorted(maps.Keys(r.Backend.Devices)), "+")
}
