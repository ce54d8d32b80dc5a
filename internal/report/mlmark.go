package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
)

// MLMark prints runs side by side with what EEMBC's MLMark reports of a system: throughput
// in frames per second, 95th-percentile latency, and accuracy beside them, each with
// precision, batch and concurrency. As there, numbers have three significant digits
// (github.com/eembc/mlmark, README, "Scoring"). Lines without a measurement of speed are
// left out.
func MLMark(w io.Writer, lines []Line) error {
	header := table.Row{"target", "workload", "scenario", "h/w", "prec", "batch", "conc.", "throughput, fps", "latency p95, ms", "accuracy"}
	priced := slices.ContainsFunc(lines, func(l Line) bool { return l.PerDollar > 0 })
	if priced {
		header = append(header, "fps per $")
	}
	t := newTable(append(header, "result"))
	for _, l := range lines {
		if l.SamplesPerSecond == 0 {
			continue
		}
		engine, _, _ := strings.Cut(l.Engine, " ")
		row := table.Row{engine, l.Model, l.Scenario, l.Device, orDash(l.Precision), l.Batch, l.Concurrency,
			threeOrDash(l.SamplesPerSecond), threeOrDash(l.LatencyP95MS), l.Accuracy.three()}
		if priced {
			row = append(row, threeOrDash(l.PerDollar))
		}
		t.AppendRow(append(row, l.Result))
	}
	return say(w, t.Render()+"\n")
}

// Table prints runs with the metric of their scenarios.
func Table(w io.Writer, lines []Line) error {
	t := newTable(table.Row{"model", "scenario", "mode", "result", "metric", "accuracy", "device", "engine", "precision", "folder"})
	for _, l := range lines {
		metric, accuracy := "-", "-"
		if l.Metric != nil {
			metric = number(*l.Metric)
		}
		if a := l.Accuracy; a != nil {
			accuracy = fmt.Sprintf("%.6g %s", a.Value, a.Unit)
		}
		t.AppendRow(table.Row{l.Model, l.Scenario, l.Mode, l.Result, metric, strings.TrimSpace(accuracy), l.Device, orDash(l.Engine), orDash(l.Precision), l.Folder})
	}
	return say(w, t.Render()+"\n")
}

// CSV prints runs with all digits, one line each after a line of names. What was not
// measured is empty.
func CSV(w io.Writer, lines []Line) error {
	c := csv.NewWriter(w)
	records := [][]string{{"folder", "created", "model", "scenario", "mode", "result", "engine", "device", "precision", "batch", "concurrency",
		"samples_per_second", "latency_p95_ms", "metric", "metric_value", "metric_unit",
		"accuracy_metric", "accuracy", "accuracy_unit", "accuracy_met", "accuracy_folder", "samples_per_second_per_dollar", "joules_per_sample"}}
	for _, l := range lines {
		record := []string{l.Folder, l.Created.Format(time.RFC3339), l.Model, l.Scenario, l.Mode, l.Result, l.Engine, l.Device, l.Precision,
			strconv.Itoa(l.Batch), strconv.Itoa(l.Concurrency), exact(l.SamplesPerSecond), exact(l.LatencyP95MS)}
		if m := l.Metric; m != nil {
			record = append(record, m.Name, exact(m.Value), m.Unit)
		} else {
			record = append(record, "", "", "")
		}
		if a := l.Accuracy; a != nil {
			record = append(record, a.Metric, strconv.FormatFloat(a.Value, 'g', -1, 64), a.Unit, strconv.FormatBool(a.Met), a.Folder)
		} else {
			record = append(record, "", "", "", "", "")
		}
		records = append(records, append(record, exact(l.PerDollar), exact(l.JoulesPerSample)))
	}
	return c.WriteAll(records)
}

// exact writes a number with all its digits; nothing for what was not measured.
func exact(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// three describes an accuracy: a missed target and a part of the data are marked.
func (a *LineAccuracy) three() string {
	if a == nil {
		return "-"
	}
	text := threeDigits(a.Value) + strings.TrimRight(" "+a.Unit, " ")
	if a.Partial {
		text += ", partial"
	}
	if !a.Met {
		text += ", below target"
	}
	return text
}

func threeOrDash(v float64) string {
	if v == 0 {
		return "-"
	}
	return threeDigits(v)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// threeDigits rounds to three significant digits and writes them without an exponent:
// 1230, 50.9, 12.0, 0.0234.
func threeDigits(v float64) string {
	rounded := strconv.FormatFloat(v, 'e', 2, 64) // d.dde±xx
	_, exponent, found := strings.Cut(rounded, "e")
	if !found {
		return rounded // not a number, or infinite
	}
	e, _ := strconv.Atoi(exponent)
	v, _ = strconv.ParseFloat(rounded, 64)
	return strconv.FormatFloat(v, 'f', max(2-e, 0), 64)
}
