package catalogue

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/mlperf-go/mlperf/internal/builtin"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/download"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/units"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// dataPapers are the publications of data sets.
func dataPapers(dataset string) []string {
	return map[string][]string{
		"imagenet":            {"Russakovsky et al., ImageNet Large Scale Visual Recognition Challenge, IJCV 2015, arXiv:1409.0575"},
		"coco":                {"Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014, arXiv:1405.0312"},
		"coco-2014-captions":  {"Lin et al., Microsoft COCO: Common Objects in Context, ECCV 2014, arXiv:1405.0312", "Chen et al., Microsoft COCO Captions, 2015, arXiv:1504.00325"},
		"openimages":          {"Kuznetsova et al., The Open Images Dataset V4, IJCV 2020, arXiv:1811.00982"},
		"kits19":              {"Heller et al., The KiTS19 Challenge Data, 2019, arXiv:1904.00445"},
		"brats19":             {"Menze et al., The Multimodal Brain Tumor Image Segmentation Benchmark (BRATS), IEEE TMI 2015, doi:10.1109/TMI.2014.2377694", "Bakas et al., Advancing The Cancer Genome Atlas glioma MRI collections, Scientific Data 2017, doi:10.1038/sdata.2017.117"},
		"ade20k":              {"Zhou et al., Scene Parsing through ADE20K Dataset, CVPR 2017"},
		"squad":               {"Rajpurkar et al., SQuAD: 100,000+ Questions for Machine Comprehension of Text, EMNLP 2016, arXiv:1606.05250"},
		"wmt16":               {"Bojar et al., Findings of the 2014 Workshop on Statistical Machine Translation, WMT 2014 (newstest2014)"},
		"librispeech":         {"Panayotov et al., Librispeech: an ASR corpus based on public domain audio books, ICASSP 2015, doi:10.1109/ICASSP.2015.7178964"},
		"librispeech-whisper": {"Panayotov et al., Librispeech: an ASR corpus based on public domain audio books, ICASSP 2015, doi:10.1109/ICASSP.2015.7178964"},
		"cnn-dailymail":       {"See et al., Get To The Point: Summarization with Pointer-Generator Networks, ACL 2017, arXiv:1704.04368"},
		"open-orca":           {"Mukherjee et al., Orca: Progressive Learning from Complex Explanation Traces of GPT-4, 2023, arXiv:2306.02707 (whose data OpenOrca follows)"},
		"mixtral":             {"Cobbe et al., Training Verifiers to Solve Math Word Problems (GSM8K), 2021, arXiv:2110.14168", "Athiwaratkun et al., Multi-lingual Evaluation of Code Generation Models (MBXP), ICLR 2023, arXiv:2210.14868"},
	}[dataset]
}

// Readme writes what the rules want the README of a reference implementation to say (inference_rules.adoc, "Benchmarks"), as Markdown.
func Readme(w io.Writer, name, rules string) error {
	card, err := Describe(name, rules)
	if err != nil {
		return err
	}
	m, err := models.LookupAny(name)
	if err != nil {
		return userinput.Wrap("model", err)
	}
	m = models.InRound(card.Rules, name, m)
	manifest, err := download.Load()
	if err != nil {
		return err
	}
	networks, err := builtin.Networks(m)
	if err != nil {
		return err
	}
	r := readme{card: card, model: m, manifest: manifest, networks: networks}
	r.problem()
	r.network()
	r.quality()
	r.directions()
	_, err = io.WriteString(w, r.String())
	return err
}

type readme struct {
	strings.Builder
	card     *Card
	model    workload.Model
	manifest *download.Manifest
	networks []builtin.Network
}

func (r *readme) say(format string, args ...any) { fmt.Fprintf(r, format+"\n", args...) }

// items lists publications, or says that none are recorded.
func (r *readme) items(list []string) {
	if len(list) == 0 {
		r.say("- none is recorded")
	}
	for _, text := range list {
		r.say("- %s", text)
	}
	r.say("")
}

// licence is that of a download; empty: there is none of that name.
func (r *readme) licence(kind download.Kind, name string) string {
	it, err := r.manifest.Lookup(kind, name)
	if err != nil {
		return ""
	}
	l := r.manifest.LicenseOf(it)
	return fmt.Sprintf("[%s](%s): %s", l.Name, l.URL, l.Summary)
}

// dataset is the name of the data set among the downloads.
func (r *readme) dataset() string {
	return map[string]string{"criteo-multihot": "criteo", "criteo": "criteo-day23", "streaming-100b": "dlrm-v3"}[r.model.Dataset]
}

func (r *readme) problem() {
	data := cmp.Or(r.dataset(), r.model.Dataset)
	r.say("# %s\n\nMLPerf Inference %s, benchmark `%s`. Written by `mlperf show %s --readme`.\n", r.card.Title, r.card.Rules, r.model.Rules.Name,
		r.card.Name)
	r.say("## Problem\n\n%s.\n", r.model.Task)
	r.say("### Data set\n")
	if it, err := r.manifest.Lookup(download.Dataset, data); err == nil {
		r.say("%s (`mlperf download dataset %s`).\n", it.Title, it.Name)
	} else {
		r.say("%s.\n", r.model.Dataset)
	}
	if text := r.licence(download.Dataset, data); text != "" {
		r.say("Licence: %s\n", text)
	}
	r.say("Publications:\n")
	r.items(dataPapers(r.model.Dataset))

	r.say("### Pre- and post-processing\n")
	if r.model.NewReader != nil {
		if reader, err := r.model.NewReader(workload.Values{}); err == nil {
			r.say("- Before: %s (`mlperf preprocess --model %s`).", reader.Name, r.card.Name)
		}
	} else {
		r.say("- Before: samples of the data set become the model's inputs while they are loaded; a run's `results.json` says how (`binding`).")
	}
	r.say("- After: answers are logged as the reference's harness logs them, and scored by %s as the official script does (`mlperf accuracy`).\n",
		r.card.Metric)

	official := r.model.OfficialSamples
	set, _ := config.Rules(r.card.Rules) // Describe has found it
	minima := official(set)
	r.say("### Performance, accuracy and calibration sets\n")
	r.say("- Performance: %s in memory at once.", units.Count(cmp.Or(minima.PerformanceSamples, uint64(r.card.PerformanceSamples)), "sample"))
	r.say("- Accuracy: all %s.",
		units.Count(cmp.Or(minima.AccuracySamples, uint64(cmp.Or(r.model.DatasetSamples, r.model.PerformanceSampleCount))), "sample"))
	if it, err := r.manifest.Lookup(download.Dataset, data+"-calibration"); err == nil {
		r.say("- Calibration: %s (`mlperf download dataset %s`).", it.Title, it.Name)
	} else {
		r.say("- Calibration: no list is recorded; `mlperf quantize --calibration FILE` takes one.")
	}
	r.say(`
### Order of the samples

Performance: SingleStream, MultiStream and Server draw samples at random, with replacement, by %s; Offline issues all of its samples
in one query. Accuracy: each sample once, in the order of the data set. %s prints the order.
`, "`sample_index_rng_seed`", "`mlperf trace`")
}

func (r *readme) network() {
	r.say("## Model\n\nOfficial file: %s\n\nPublications:\n", r.model.Source)
	r.items(r.model.Papers)
	if text := cmp.Or(r.licence(download.Model, r.card.Name), r.licence(download.Model, r.model.Rules.Name)); text != "" {
		r.say("Licence of the weights: %s\n", text)
	} else {
		r.say("Licence of the weights: see the publisher of the file.\n")
	}
	r.say("### Layers\n")
	if len(r.networks) == 0 {
		r.say("A server runs the model: its layers are not known here.\n")
	}
	for _, n := range r.networks {
		title := n.Title
		if n.Role != "" {
			title = n.Role + ": " + title
		}
		r.say("%s\n\n| operator | nodes | multiply-accumulates |\n|---|---|---|", title)
		for _, op := range slices.Sorted(maps.Keys(n.Layers)) {
			macs := ""
			if n.MACsOf[op] > 0 {
				macs = units.SI(float64(n.MACsOf[op]), "")
			}
			r.say("| %s | %d | %s |", op, n.Layers[op], macs)
		}
		r.say("")
	}
	if len(r.networks) > 0 {
		r.say("### Weights and biases\n")
		for _, n := range r.networks {
			r.say("- %s", WorkOf(n))
		}
		r.say("")
	}
}

// WorkOf is the size and work of a network in a line.
func WorkOf(n builtin.Network) string {
	text := fmt.Sprintf("%s parameters, %s", units.SI(float64(n.Parameters), ""), units.SI(float64(n.MACs), "MAC"))
	if n.Role != "" {
		text = n.Role + ": " + text
	}
	if len(n.Free) > 0 {
		text += " where free axes are 1 (" + strings.Join(n.Free[:min(2, len(n.Free))], ", ") + ")"
	}
	return text
}

func (r *readme) quality() {
	c := r.card
	r.say("## Quality and latency\n\nQuality target: %s, %g %% of the reference's %.6g.", c.Target, c.Fraction*100, c.Reference)
	for _, bound := range c.Also {
		r.say("Also: %s.", bound)
	}
	r.say("\n| scenario | latency | queries | duration |\n|---|---|---|---|")
	for _, s := range c.Scenarios {
		value := func(key string) string {
			for _, row := range s.Settings {
				if row.Key == key {
					return strings.TrimSpace(row.Value + " " + row.Unit)
				}
			}
			return ""
		}
		latency := value("target_latency_percentile")
		if bound := value("target_latency"); (s.Scenario == "Server" || s.Scenario == "Interactive") && bound != "" && bound != "0 ms" {
			latency += " within " + bound
		}
		if first := value("ttft_latency"); first != "" {
			latency += fmt.Sprintf("; first token within %s, then %s a token", first, value("tpot_latency"))
		}
		r.say("| %s | %s | %s | %s |", s.Scenario, cmp.Or(latency, "–"), cmp.Or(value("min_query_count"), "–"), cmp.Or(value("min_duration"), "–"))
	}
	r.say("")
	for _, note := range c.Notes {
		r.say("Note: %s.\n", note)
	}
}

func (r *readme) directions() {
	data := cmp.Or(r.dataset(), r.model.Dataset)
	r.say("## Directions\n\n### Configure the machine\n\n    mlperf doctor --fix\n")
	r.say("### Download and verify the data\n")
	if _, err := r.manifest.Lookup(download.Dataset, data); err == nil {
		r.say("    mlperf download dataset %s\n    mlperf verify dataset %s\n", data, data)
	} else {
		r.say("No download is recorded. The built-in data need none.\n")
	}
	r.say("### Run and time\n")
	for _, s := range r.card.Scenarios {
		r.say("    scripts/run_and_time.sh %s %s", r.card.Name, strings.ToLower(s.Scenario))
	}
	r.say("\nWith `--model-path FILE --dataset-path FOLDER` for the official ones (a downloaded data set goes by its name); `mlperf run " +
		"--help` has all flags.")
}
