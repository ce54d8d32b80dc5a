package synth

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/dataset/prompts"
)

func writePrompts(t *testing.T, spec PromptSpec, judge Judge) (dir string, list []prompt) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "set")
	if err := WritePrompts(t.Context(), dir, spec, judge); err != nil {
		t.Fatal(err)
	}
	table, err := prompts.Read(filepath.Join(dir, spec.file()), prompts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	text := func(i int, column string) string {
		s, err := table.Text(i, column)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for i := range table.Len() {
		p := prompt{Input: text(i, "input")}
		if p.Tokens, err = table.Tokens(i, "tok_input"); err != nil {
			t.Fatal(err)
		}
		if spec.Mixed {
			p.Dataset, p.ID, p.Output = text(i, "dataset"), text(i, "id"), text(i, "gt_output")
		} else {
			p.Output = text(i, "output")
		}
		list = append(list, p)
	}
	return dir, list
}

// TestAPromptAsksForAPartOfItself that is found by its first two words, and by no others.
func TestAPromptAsksForAPartOfItself(t *testing.T) {
	spec := PromptSpec{Seed: 1, Prompts: 20, Tokens: 2000}
	_, list := writePrompts(t, spec, nil)
	for i, p := range list {
		n := len(p.Tokens)
		pair := p.Tokens[n-2:]
		var places []int
		for at := range n - 3 {
			if slices.Equal(p.Tokens[at:at+2], pair) {
				places = append(places, at)
			}
		}
		if len(places) != 1 || p.Tokens[0] != promptStart {
			t.Fatalf("prompt %d begins with %d, and has its last pair at %v before", i, p.Tokens[0], places)
		}
		end := slices.Index(p.Tokens, promptEnd)
		if wanted := end - places[0] - 2; wanted < fewestInPart-2 || wanted > mostInPart-2 {
			t.Errorf("prompt %d asks for %d words", i, wanted)
		}
		same := 0
		said := strings.Fields(p.Output)
		for k, word := range strings.Fields(spelled(spec.pieces(), p.Tokens[places[0]+2:end])) {
			if said[k] == word {
				same++
			}
		}
		if same == 0 || same == len(said) {
			t.Errorf("prompt %d: %d of %d words of the target are those of the prompt", i, same, len(said))
		}
	}
}

func TestMixedPromptsAskForTextsAndNumbers(t *testing.T) {
	_, list := writePrompts(t, PromptSpec{Seed: 1, Prompts: 12, Tokens: 2000, Mixed: true}, nil)
	numbers := 0
	for i, p := range list {
		if p.Dataset == "GSM8K" {
			numbers++
			if strings.Contains(p.Output, " ") || p.Output == "" {
				t.Errorf("prompt %d wants %q, not a number", i, p.Output)
			}
		} else if p.Dataset != "OpenOrca" || p.Output == "" {
			t.Errorf("prompt %d is of %q and wants %q", i, p.Dataset, p.Output)
		}
	}
	if numbers != 4 {
		t.Errorf("%d of 12 prompts ask for numbers", numbers)
	}
}

func TestTargetsAreWhatAModelSaid(t *testing.T) {
	spec := PromptSpec{Seed: 1, Prompts: 2, Tokens: 2000, Truth: "a model"}
	said := [][]int32{{20, 21, 22}, {promptEnd}}
	dir, list := writePrompts(t, spec, func(folder string) (map[string]float64, error) {
		return map[string]float64{"a model": 40}, spec.WriteTargets(folder, said)
	})
	pieces := spec.pieces()
	if want := strings.TrimPrefix(strings.ReplaceAll(pieces[20]+pieces[21]+pieces[22], space, " "), " "); list[0].Output != want || list[1].Output != "" {
		t.Errorf("targets %q and %q, want %q and none", list[0].Output, list[1].Output, want)
	}
	if m, err := ReadManifest(dir); err != nil || m.Scores["a model"] != 40 || m.Prompts == nil || *m.Prompts != spec {
		t.Errorf("manifest %+v, %v", m, err)
	}
	if err := spec.WriteTargets(dir, said[:1]); err == nil || err.Error() != "1 targets for 2 prompts" {
		t.Errorf("error %v", err)
	}
}

func TestPromptSpecsThatMakeNoSense(t *testing.T) {
	for _, s := range []PromptSpec{{Tokens: 2000}, {Prompts: 5, Tokens: 10}, {Prompts: 1 << 20, Tokens: 2000}} {
		if err := WritePrompts(t.Context(), filepath.Join(t.TempDir(), "set"), s, nil); err == nil || !strings.HasPrefix(err.Error(), "making the built-in prompts: ") {
			t.Errorf("%+v: error %v", s, err)
		}
	}
	a, b := PromptSpec{Seed: 1, Prompts: 5, Tokens: 2000}, PromptSpec{Seed: 1, Prompts: 5, Tokens: 2000, Mixed: true}
	if a.Key() == b.Key() || a.Key() != (PromptSpec{Seed: 1, Prompts: 5, Tokens: 2000}).Key() {
		t.Errorf("keys %s and %s", a.Key(), b.Key())
	}
}
