package assemble

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/big"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/config/rounds"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/units"
)

// describe writes measurements.json, user.conf and README.md of a result.
func (b *builder) describe(r *result) error {
	folder, name := b.folder("measurements", r), "measurements.json"
	if b.round.Before6() {
		name = fmt.Sprintf("%s_%s_%s.json", b.System, b.Implementation, r.scenario)
	}
	conf, err := r.userConf()
	if err != nil {
		return err
	}
	readme, err := b.readme(r)
	if err != nil {
		return err
	}
	values := r.measurements(b.Division)
	maps.Copy(values, b.given(r))
	if r.summary == nil { // other clients have no user.conf
		err = b.write(folder+"/user.conf", conf)
	}
	return errors.Join(err, b.writeJSON(folder+"/"+name, values), b.write(folder+"/README.md", []byte(readme)))
}

// measured splits MODEL/FIELD of a request; FIELD alone has no model.
func measured(name string) (model, field string) {
	model, field = path.Split(name)
	return strings.TrimSuffix(model, "/"), field
}

// given are the fields of measurements.json that the request has for a result: those of its benchmark win over those of all.
func (b *builder) given(r *result) map[string]string {
	all, own := map[string]string{}, map[string]string{}
	for name, value := range b.Measurements {
		switch model, field := measured(name); {
		case model == "":
			all[field] = value
		case b.official(model) == r.benchmark:
			own[field] = value
		}
	}
	maps.Copy(all, own)
	return all
}

func (b *builder) writeJSON(path string, values map[string]string) error {
	text, err := json.MarshalIndent(values, "", "  ")
	return errors.Join(err, b.write(path, append(text, '\n')))
}

// userConf returns the user.conf of a run, or one that asks for the same speed.
func (r *result) userConf() ([]byte, error) {
	own, err := fileio.ReadFile(filepath.Join(r.performance.folder, "user.conf"), largestText)
	if err == nil && len(own) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return own, err
	}
	scenario, err := r.performance.log.Text("effective_scenario")
	if err != nil {
		return nil, err
	}
	table := loadgen.Settings()
	i := slices.IndexFunc(table, func(s *loadgen.Setting) bool { return s.Scenario == scenario && s.Speed })
	if i < 0 {
		return nil, fmt.Errorf("the log is of the scenario %q", scenario)
	}
	asked, scale := table[i], 1.0
	if asked.Kind == loadgen.KindMillis { // nanoseconds in logs
		scale = 1e-6
	}
	value, err := r.performance.log.Float("requested_" + asked.RequestedKey)
	return fmt.Appendf(nil, "# What the run had besides the mlperf.conf of the round.\n*.%s.%s = %v\n", scenario, asked.Key, value*scale), err
}

// readme returns the README.md of a result.
func (b *builder) readme(r *result) (string, error) {
	value, unit, err := r.value(b)
	if err != nil {
		return "", err
	}
	var w strings.Builder
	fmt.Fprintf(&w, "# %s, %s\n\nRules %s, division %s, system %s.\n\n", b.modelFolder(r), r.scenario, b.Rules, b.Division, b.System)
	if r.from != nil {
		how := "8 times the early-stopping estimate of the 99th percentile of SingleStream"
		if r.scenario == "Offline" {
			how = "the rate of " + r.from.scenario + " without the time of the load generator"
		}
		fmt.Fprintf(&w, "Inferred from %s, as the rules allow on edge systems: %s. Logs and tests are those of %[1]s.\n\n", r.from.scenario, how)
	}
	fmt.Fprintf(&w, "- Result: %.8g %s\n- Accuracy: %s (five significant figures, round half to even)\n", value, unit, b.score(r))
	run := r.performance.results
	if run == nil {
		version, _ := r.performance.log.Text("loadgen_version")
		fmt.Fprintf(&w, "- LoadGen: %s\n", version)
		err = b.howRun(&w, r)
		return w.String(), err
	}
	in, be := run.Input, run.Backend
	fmt.Fprintf(&w, "- Program: %s, which is not an official LoadGen\n", run.Program)
	if in.ModelPath != "" {
		fmt.Fprintf(&w, "- Model: %s, SHA-256 %s, precision %s\n", filepath.Base(in.ModelPath), in.ModelSHA256, cmp.Or(in.Precision, report.NotKnown))
	}
	for _, l := range run.Limitations {
		if sourceStated(l) {
			fmt.Fprintf(&w, "- Model: %s. The submitter states its source: %s\n", report.Sentence(l), cmp.Or(b.ModelSource, report.NotKnown))
		}
	}
	for _, line := range in.Binding {
		fmt.Fprintf(&w, "- Model: %s\n", line)
	}
	fmt.Fprintf(&w, "- Data: %d samples\n", in.Samples)
	fmt.Fprintf(&w, "- Engine: %s, %d instances with %d threads each, batches of %d at most\n", be.Engine, be.Instances, be.Threads, be.MaxBatch)
	if run.Speculation != nil {
		fmt.Fprintf(&w, "- Speculative decoding: %s\n", run.Speculation)
	}
	if remote := run.Remote; remote != nil {
		fmt.Fprintf(&w, "- Network: %d requests on %d connections, mean round trip %s; %d bytes sent, %d received\n", remote.Requests, remote.Connections,
			time.Duration(remote.RoundTripNS).Round(time.Microsecond), remote.SentBytes, remote.ReceivedBytes)
	}
	w.WriteString("\n## Settings\n\nWhat the test had besides the defaults of the rules:\n\n")
	for _, s := range run.Settings {
		if s.Role != limitation.RuleSet {
			fmt.Fprintf(&w, "- %s = %s (%s)\n", s.Key, s.Value, s.Origin)
		}
	}
	for _, note := range run.Notes {
		fmt.Fprintf(&w, "\n%s.\n", note)
	}
	err = b.howRun(&w, r)
	return w.String(), err
}

// howRun writes how the benchmark was run: the submitter's file, or the commands of the runs.
func (b *builder) howRun(w *strings.Builder, r *result) error {
	var lines []string
	for _, one := range append([]*run{r.performance, r.accuracy}, r.tests...) {
		if one.results == nil || len(one.results.Command) == 0 {
			continue
		}
		if line := "    " + report.CommandLine(one.results.Command); !slices.Contains(lines, line) {
			lines = append(lines, line) // one may make several runs
		}
	}
	switch {
	case b.Readme != "":
		text, err := fileio.ReadFile(b.Readme, largestText)
		if err != nil {
			return err
		}
		lines = []string{strings.TrimSpace(string(text))}
	case len(lines) == 0 && r.performance.results != nil: // the settings say it
		return nil
	case len(lines) == 0:
		lines = []string{checker.Placeholder("how the benchmark was run, command by command")}
	}
	fmt.Fprintf(w, "\n## How the benchmark was run\n\n%s\n", strings.Join(lines, "\n"))
	return nil
}

// number is the first number of a line of a score that does not belong to a word (rouge1).
var number = regexp.MustCompile(`(?:^|[^\pL\pN_.])([0-9]+(?:\.[0-9]+)?)`)

// score returns the accuracy of a result with five significant figures. Of runs of other programs, these are the metrics of
// the benchmark in accuracy.txt, or else the first number in it.
func (b *builder) score(r *result) string {
	if run := r.accuracy.results; run != nil && run.Accuracy != nil {
		text, err := round(fmt.Sprintf("%.12f", run.Accuracy.Value))
		if err == nil {
			return strings.TrimSpace(run.Accuracy.Metric + " " + text + " " + run.Accuracy.Unit)
		}
	}
	data, err := fileio.ReadFile(filepath.Join(r.accuracy.folder, scoreFile), largestText)
	if err != nil {
		return ""
	}
	var list []string
	metrics := b.round.Model(r.benchmark).AccuracyOf(r.scenario)
	for _, m := range metrics {
		value := ""
		for line := range strings.Lines(string(data)) { // the last line with the metric counts
			if text, ok := rounds.Match(m.Name, strings.TrimRight(line, "\r\n")); ok {
				value, _ = round(text)
			}
		}
		switch {
		case value != "" && len(metrics) > 1:
			list = append(list, m.Name+" "+value)
		case value != "":
			list = append(list, value)
		}
	}
	if m := number.FindSubmatch(data); m != nil && len(list) == 0 {
		text, _ := round(string(m[1]))
		return text
	}
	return strings.Join(list, ", ")
}

// figures is the number of significant figures of an accuracy (inference_policies, "Accuracy": five, round half to even).
const figures = 5

// round writes a decimal number with five significant figures. It rounds the digits of the text, not a binary fraction:
// 98.9995 becomes 99.000.
func round(text string) (string, error) {
	whole, fraction, _ := strings.Cut(text, ".")
	n, ok := new(big.Int).SetString(whole+fraction, 10)
	if !ok || len(text) > 400 {
		return "", fmt.Errorf("%q is not a decimal number", text)
	}
	if n.Sign() == 0 {
		return "0.0000", nil
	}
	negative := n.Sign() < 0
	n.Abs(n)
	decimals, drop := len(fraction), len(n.String())-figures
	unit := tenTo(max(drop, -drop))
	if drop <= 0 {
		n.Mul(n, unit)
	} else {
		_, rest := n.QuoRem(n, unit, new(big.Int))
		if half := rest.Lsh(rest, 1).Cmp(unit); half > 0 || half == 0 && n.Bit(0) == 1 {
			n.Add(n, big.NewInt(1))
		}
	}
	if decimals -= drop; len(n.String()) > figures { // 99999.5 has become 100000
		n.Quo(n, big.NewInt(10))
		decimals--
	}
	if decimals < 0 {
		n, decimals = n.Mul(n, tenTo(-decimals)), 0
	}
	if negative {
		n.Neg(n)
	}
	return new(big.Rat).SetFrac(n, tenTo(decimals)).FloatString(decimals), nil
}

func tenTo(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// keeps reports whether a file of a tree that is added to stays.
func (b *builder) keeps(path string) bool { return b.Add && !b.Force && fileio.Exists(b.at(path)) }

// system writes the description of the system. What was filled in about this program is not of logs of others.
func (b *builder) system(_ context.Context, results []*result) error {
	path := b.home() + "/systems/" + b.System + ".json"
	if b.keeps(path) {
		return nil
	}
	foreign := func(r *result) bool { return r.performance.results == nil }
	if slices.ContainsFunc(results, foreign) {
		for _, field := range checker.SystemFields() {
			if slices.Contains(b.Assumed, field.Name) {
				b.Description[field.Name] = ""
				if field.Hint != "" {
					b.Description[field.Name] = checker.Placeholder(field.Hint)
				}
			}
		}
	}
	text, err := b.Description.JSON()
	return errors.Join(err, b.write(path, text))
}

// deviations writes how the models of the open division differ from those of closed.
func (b *builder) deviations(ctx context.Context, results []*result) error {
	path := b.home() + "/documentation/deviations.md"
	switch {
	case b.Deviations != "":
		return b.copy(ctx, b.Deviations, path)
	case b.Division != "open" || b.keeps(path):
		return nil
	}
	var w strings.Builder
	w.WriteString("# How the models differ from those of the closed division\n")
	var done []string
	for _, r := range results {
		name := b.modelFolder(r)
		if slices.Contains(done, name) {
			continue
		}
		done = append(done, name)
		fmt.Fprintf(&w, "\n## %s, for %s\n\n", name, r.benchmark)
		if run := r.performance.results; run != nil {
			fmt.Fprintf(&w, "- Model file: %s, SHA-256 %s, precision %s\n", filepath.Base(run.Input.ModelPath), run.Input.ModelSHA256,
				cmp.Or(run.Input.Precision, report.NotKnown))
		}
		fmt.Fprintf(&w, "- Retraining: %s\n- %s\n",
			cmp.Or(b.given(r)["retraining"], checker.Placeholder("no, yes, or restricted retraining, with the data and the steps")),
			checker.Placeholder("how model, weights, data, pre-processing and accuracy differ from closed"))
	}
	return b.write(path, []byte(w.String()))
}

// mapping writes the benchmarks of the models of the open division, by the names that they have there.
func (b *builder) mapping(_ context.Context, results []*result) error {
	if b.Name == "" {
		return nil
	}
	path := b.home() + "/model_mapping.json"
	names := map[string]string{}
	if data, err := fileio.ReadFile(b.at(path), largestText); err == nil {
		if err := json.Unmarshal(data, &names); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, r := range results {
		if old, taken := names[b.Name]; taken && old != r.benchmark {
			return fmt.Errorf("the name %s is for %s and %s: must be one for each model", b.Name, old, r.benchmark)
		}
		names[b.Name] = r.benchmark
	}
	return b.writeJSON(path, names)
}

// source writes the code, or the name of the program.
func (b *builder) source(ctx context.Context, results []*result) error {
	root := b.home() + "/src"
	if b.round.Before6() {
		root = b.home() + "/code"
	}
	if b.Source != "" {
		return b.copySource(ctx, root)
	}
	for _, r := range results {
		path := root + "/README.md"
		if b.round.Before6() {
			path = root + "/" + b.modelFolder(r) + "/" + b.Implementation + "/README.md"
		}
		text := checker.Placeholder("the code of the benchmark, and how it is built and run") + "\n"
		if run := r.performance.results; run != nil {
			text = fmt.Sprintf("The results were made with %s, which is one program: load generator, pre-processing, model and scores.\n", run.Program)
		}
		if b.keeps(path) {
			continue
		}
		if err := b.write(path, []byte("# Code\n\n"+text)); err != nil {
			return err
		}
	}
	return nil
}

// bandwidth writes the network bandwidth that the rules ask of a datacenter system for the measured rates, and how it is
// there.
func (b *builder) bandwidth(_ context.Context, results []*result) error {
	path := b.home() + "/documentation/bandwidth.md"
	if !strings.Contains(b.Description["system_type"], "datacenter") || b.keeps(path) {
		return nil
	}
	var w strings.Builder
	w.WriteString("# Bandwidth\n\nWhat the rules ask of a datacenter system's network, at the rates that were measured:\n\n")
	for _, r := range results {
		if s := r.logged(); s != "Offline" && s != "Server" {
			continue
		}
		rate, err := r.performance.log.Float(b.round.Metric[r.logged()]) // samples/s, also where the result is tokens/s
		if err != nil {
			return err
		}
		fmt.Fprintf(&w, "- %s: %s\n", r.name(), b.needs(r, rate))
	}
	fmt.Fprintf(&w, "\n%s\n", cmp.Or(b.Bandwidth,
		checker.Placeholder("how this bandwidth is there: measured with which tool, or provided by which network cards and links")))
	return b.write(path, []byte(w.String()))
}

// needs returns the bandwidth by the rules' formula.
func (b *builder) needs(r *result, rate float64) string {
	m, err := models.LookupAny(r.benchmark)
	if err != nil {
		return fmt.Sprintf("%s; %s", units.Text(rate, "/s"), checker.Placeholder("the bandwidth of this model"))
	}
	bytes := cmp.Or(map[string]int{"fp32": 4, "fp16": 2}[r.measurements(b.Division)["input_data_types"]], 1)
	need, err := config.MinBandwidth(b.Rules, m.Rules, rate, bytes)
	if err != nil {
		return fmt.Sprintf("%s; %v", units.Text(rate, "/s"), err)
	}
	return fmt.Sprintf("%s with %s a value need %s in and %s out",
		units.Text(rate, "samples/s"), units.Count(bytes, "byte"), units.SI(need.Ingress, "B/s"), units.SI(need.Egress, "B/s"))
}
