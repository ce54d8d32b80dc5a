package generative

import (
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/models/workload"
)

// TestNumbersAreThoseOfTheRules compares with the table of bandwidths of inference_rules.adoc.
func TestNumbersAreThoseOfTheRules(t *testing.T) {
	for _, want := range []struct {
		name, rules string
		samples     int
		in, out     uint64 // values of a sample on the network
	}{
		{"llama3.1-8b", "llama3_1-8b", 13368, 2048, 0},
		{"llama3.1-8b-edge", "llama3_1-8b-edge", 5000, 0, 0},
		{"llama2-70b", "llama2-70b", 24576, 1024, 1024},
		{"llama2-70b-99.9", "llama2-70b", 24576, 1024, 1024},
		{"mixtral-8x7b", "mixtral-8x7b", 15000, 2048, 2048},
		{"gpt-j", "gptj", 13368, 2048, 0},
		{"gpt-j-99.9", "gptj", 13368, 2048, 0},
		{"llama3.1-405b", "llama3_1-405b", 8313, 20000, 20000},
		{"deepseek-r1", "deepseek-r1", 4388, 3136, 20000},
		{"gpt-oss-120b", "gpt-oss-120b", 6396, 15330, 10000},
	} {
		m := modelNamed(t, want.name)
		if m.Rules.Name != want.rules || m.PerformanceSampleCount != want.samples {
			t.Errorf("%s is %s of the rules, and keeps %d samples in memory, want %s, %d", want.name, m.Rules.Name, m.PerformanceSampleCount, want.rules, want.samples)
		}
		var size config.SampleSize
		if m.Rules.Sample != nil {
			size = *m.Rules.Sample
		}
		if size != (config.SampleSize{InValues: want.in, OutValues: want.out}) {
			t.Errorf("%s: a sample is %+v on the network, want %d values in, %d out", want.name, size, want.in, want.out)
		}
	}
}

func modelNamed(t *testing.T, name string) workload.Model {
	t.Helper()
	for _, m := range slices.Concat(Models(), RemoteModels()) {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("there is no %s", name)
	return workload.Model{}
}

// anyRow has the columns of all data sets of the family.
const anyRow = `[{"tok_input": [7], "output": "a", "gt_output": "1", "metric": "rouge", "dataset": "GSM8K", "id": "x", "ground_truth": "A"}]`

// TestAnswersHaveTheLengthsAndTheEndsOfTheReferences compares with the SUTs of mlcommons/inference: what they pass to
// generate, and how their logs have a token.
func TestAnswersHaveTheLengthsAndTheEndsOfTheReferences(t *testing.T) {
	llama3, dir := []int32{128001, 128008, 128009}, folderWith(t, map[string]string{"any.json": anyRow})
	for name, want := range map[string]struct {
		ends        []int32
		least, most int
		bytes       int // of the answer "7, 7, end"
	}{
		"llama3.1-8b":      {llama3, 1, 128, 12},
		"llama3.1-8b-edge": {llama3, 1, 128, 12},
		"llama2-70b":       {[]int32{2}, 1, 1024, 12},
		"llama2-70b-99.9":  {[]int32{2}, 1, 1024, 12},
		"mixtral-8x7b":     {[]int32{2}, 2, 1024, 8}, // the end is no part of it
		"llama3.1-405b":    {llama3, 2, 2000, 12},
		"deepseek-r1":      {[]int32{1}, 1, 20000, 12},
		"gpt-oss-120b":     {[]int32{200002, 200012}, 1, 10240, 12},
	} {
		w, err := modelNamed(t, name).OpenRemote(workload.Setup{DatasetDir: dir + "/any.json"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := w.Prompts
		if got := p.Prompt(0); got.MinTokens != want.least || got.MaxTokens != want.most {
			t.Errorf("%s asks for %d to %d tokens, want %d to %d", name, got.MinTokens, got.MaxTokens, want.least, want.most)
		}
		for _, end := range want.ends {
			ids := []int32{7, 7, end, 7, 7}
			if response, tokens := p.Response(0, backend.Answer{IDs: ids, Tokens: len(ids)}); len(response) != want.bytes || 4*tokens != want.bytes {
				t.Errorf("%s: %v is kept as %d tokens, % x, want %d bytes", name, ids, tokens, response, want.bytes)
			}
		}
		ids := []int32{7, 3, 128000, 200001}
		if response, _ := p.Response(0, backend.Answer{IDs: ids, Tokens: 4}); len(response) != 16 {
			t.Errorf("%s: %v ends early, as % x", name, ids, response)
		}
	}
	for _, name := range []string{"gpt-j", "gpt-j-99.9"} {
		w, err := modelNamed(t, name).Open(workload.Setup{DatasetDir: dir + "/any.json", Ports: decoderPorts()})
		if err != nil {
			t.Fatal(err)
		}
		got := gptJWriter()
		if r := got.rules; !slices.Equal(w.EndTokens, []int32{50256}) || r.MinNew != 30 || r.MaxNew != 128 || r.Width != 8 || got.beams != 4 || r.Drop {
			t.Errorf("%s: %+v, %d beams", name, r, got.beams)
		}
	}
}

// Greedy decoding wants temperature 0; gpt-oss-120b is drawn at 1, with all of its special tokens in what is scored.
func TestServersAreAskedForTokensAsTheReferencesAskThem(t *testing.T) {
	dir := folderWith(t, map[string]string{"any.json": anyRow})
	for _, m := range slices.Concat(Models(), RemoteModels()) {
		if m.OpenRemote == nil {
			continue
		}
		w, err := m.OpenRemote(workload.Setup{DatasetDir: dir + "/any.json"})
		if err != nil {
			t.Fatal(err)
		}
		got, drawn, least := w.Prompts.Texts(), m.Name == "gpt-oss-120b", m.Name == "mixtral-8x7b" || m.Name == "llama3.1-405b"
		want := backend.Texts{IDs: true, Least: least}
		if drawn {
			want.KeepSpecial, want.Temperature = true, 1
		}
		if got.Tokenize != nil || got.IDs != want.IDs || got.Chat || got.Least != want.Least || got.KeepSpecial != want.KeepSpecial || got.Temperature != want.Temperature || got.Logged {
			t.Errorf("%s: %+v, want %+v", m.Name, got, want)
		}
	}
}

func TestEachBenchmarkIsMadeOfPartsThatItsNameSays(t *testing.T) {
	for name, want := range map[string][2]string{
		"llama3.1-8b": {"llama-60m", "llama3.1-8b"}, "llama3.1-8b-edge": {"llama-60m", "llama3.1-8b"}, "llama2-70b": {"llama-60m", "llama2-70b"},
		"llama2-70b-99.9": {"llama-60m", "llama2-70b"}, "mixtral-8x7b": {"mixtral-70m", "mixtral-8x7b"}, "gpt-j": {"gpt-j-60m", "gpt-j-6b"}, "gpt-j-99.9": {"gpt-j-60m", "gpt-j-6b"},
	} {
		m := modelNamed(t, name)
		r, ok := m.BuiltIn.(workload.Recipe)
		if !ok || len(r.Parts) != 1 || r.Parts[0].Role != workload.Only || r.Parts[0].Architecture != want[0] || r.Parts[0].Full != want[1] || r.Samples < 16 {
			t.Errorf("%s is made as %+v", name, m.BuiltIn)
		}
		if want := map[bool]int{false: 4, true: 8}[want[0] == "gpt-j-60m"]; r.TokenBytes != want {
			t.Errorf("%s: a token has %d bytes, want %d", name, r.TokenBytes, want)
		}
	}
}

// A stricter target changes nothing else.
func TestStricterBenchmarksAreOtherwiseTheSame(t *testing.T) {
	for _, names := range [][2]string{{"llama2-70b", "llama2-70b-99.9"}, {"gpt-j", "gpt-j-99.9"}} {
		usual, strict := modelNamed(t, names[0]), modelNamed(t, names[1])
		if strict.Title != usual.Title+", 99.9 % of the accuracy" || usual.Quality.Fraction != 0.99 || strict.Quality.Fraction != 0.999 {
			t.Errorf("%s: %q, %+v", strict.Name, strict.Title, strict.Quality)
		}
		if strict.Dataset != usual.Dataset || strict.Task != usual.Task || strict.Source != usual.Source {
			t.Errorf("%s and %s are not of the same data", names[0], names[1])
		}
	}
	if edge := modelNamed(t, "llama3.1-8b-edge"); edge.Aliases != nil || edge.Title != modelNamed(t, "llama3.1-8b").Title+", 5000 articles" {
		t.Errorf("the edge's is %q, also called %v", edge.Title, edge.Aliases)
	}
}
