package build

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// texts writes what describes the results.
func (b *builder) texts(ctx context.Context, results []*result) error {
	for _, r := range results {
		if err := b.describe(r); err != nil {
			return fmt.Errorf("%s: %w", r.name(), err)
		}
	}
	for _, step := range []func(context.Context, []*result) error{b.system, b.source, b.calibration, b.bandwidth, b.mapping} {
		if err := step(ctx, results); err != nil {
			return err
		}
	}
	return nil
}

// describe writes measurements, user.conf and README.md of a result.
func (b *builder) describe(r *result) error {
	folder := b.measurements(r)
	conf, err := r.userConf()
	if err != nil {
		return err
	}
	readme, err := b.readme(r)
	if err != nil {
		return err
	}
	name := "measurements.json"
	if b.round.Before6() {
		name = fmt.Sprintf("%s_%s_%s.json", b.System, b.Implementation, r.scenario)
	}
	values := r.measured(b.Division)
	maps.Copy(values, b.Measurements)
	measurements, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err
	}
	return errors.Join(
		b.write(folder+"/"+name, append(measurements, '\n')),
		b.write(folder+"/user.conf", conf),
		b.write(folder+"/README.md", []byte(readme)),
	)
}

// An expectation is where a log has what the user said of the speed, and how user.conf says it.
type expectation struct {
	key, name string
	scale     float64
}

// expectations of each scenario.
var expectations = map[string]expectation{
	"Offline":      {"requested_offline_expected_qps", "target_qps", 1},
	"Server":       {"requested_server_target_qps", "target_qps", 1},
	"SingleStream": {"requested_single_stream_expected_latency_ns", "target_latency", 1e-6},
	"MultiStream":  {"requested_multi_stream_expected_latency_ns", "target_latency", 1e-6},
}

// userConf is the file that the run had, or one that asks for the same.
func (r *result) userConf() ([]byte, error) {
	own, err := fileio.ReadFile(filepath.Join(r.performance.folder, "user.conf"), largestText)
	if err == nil && len(own) > 0 || err != nil && !errors.Is(err, fs.ErrNotExist) {
		return own, err
	}
	scenario, errScenario := r.performance.log.Text("effective_scenario")
	asked := cmp.Or(expectations[scenario], expectations["Offline"])
	value, err := r.performance.log.Float(asked.key)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "# What the run had besides the mlperf.conf of the round.\n*.%s.%s = %v\n", scenario, asked.name, value*asked.scale), errScenario
}

// keeps reports whether a file of a tree that is added to stays.
func (b *builder) keeps(path string) bool { return b.Add && !b.Force && there(b.at(path)) }

// system writes the description of the system. One that is in the tree stays.
func (b *builder) system(context.Context, []*result) error {
	path := b.home() + "/systems/" + b.System + ".json"
	if b.keeps(path) {
		return nil
	}
	text, err := b.Description.JSON()
	if err != nil {
		return err
	}
	return b.write(path, text)
}

// mapping writes what models of the open division are, by the names that they have there.
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
			return fmt.Errorf("the name %s is for %s and %s, want one for each model", b.Name, old, r.benchmark)
		}
		names[b.Name] = r.benchmark
	}
	text, err := json.MarshalIndent(names, "", "  ")
	if err != nil {
		return err
	}
	return b.write(path, append(text, '\n'))
}

// source writes the code, or which program it was.
func (b *builder) source(ctx context.Context, results []*result) error {
	root := b.home() + "/src"
	if b.round.Before6() {
		root = b.home() + "/code"
	}
	if b.Source != "" {
		return b.copySource(ctx, root)
	}
	for _, r := range results {
		folder := root
		if b.round.Before6() {
			folder += "/" + b.modelFolder(r) + "/" + b.Implementation
		}
		if path := folder + "/README.md"; !b.keeps(path) {
			if err := b.write(path, []byte(b.sourceText(r))); err != nil {
				return err
			}
		}
	}
	return nil
}

// copySource copies the user's code, without what no tree may have: hidden files, compiled
// Python, links. There must be some.
func (b *builder) copySource(ctx context.Context, to string) error {
	copied := 0
	err := filepath.WalkDir(b.Source, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(b.Source, path)
		hidden := path != b.Source && leftOut(entry.Name())
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case hidden, entry.IsDir():
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is a link or no file: a tree has the files themselves", path)
		}
		copied++
		return b.copy(ctx, path, to+"/"+filepath.ToSlash(rel))
	})
	if err == nil && copied == 0 {
		err = userinput.Errorf("source", "%s has no files for a tree", b.Source)
	}
	return err
}

// leftOut reports whether no tree may have a file or folder of that name.
func leftOut(name string) bool { return name[0] == '.' || name == "__pycache__" }

// replaceable refuses to replace a folder that is no submission.
func (b *builder) replaceable() error {
	entries, err := os.ReadDir(b.Tree)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !slices.Contains([]string{"closed", "open", "network"}, e.Name()) && ext != ".md" && ext != ".pdf" {
			return fmt.Errorf("%s is not a submission, it has %s: it will not be replaced", b.Tree, e.Name())
		}
	}
	return nil
}
