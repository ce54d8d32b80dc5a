package accuracy

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/tokenizer/pytext"
)

// A peer is a metric, and a program in Python that computes the same (testdata/peers.py).
type peer struct {
	metric string
	given  any // its input
	ours   func() error
}

// BenchmarkPeers compares metrics with the programs that others use, over the same texts and numbers. Reading
// these is counted for neither. They take turns; the ratio is that of the medians. Without Python, the
// package or the checkout of the reference that MLPERF_REFERENCE names, the benchmark is skipped.
func BenchmarkPeers(b *testing.B) {
	const turns = 5
	for _, p := range peers() {
		b.Run(p.metric, func(b *testing.B) {
			input := filepath.Join(b.TempDir(), "input.json")
			text, err := json.Marshal(p.given)
			if err == nil {
				err = os.WriteFile(input, text, 0o644)
			}
			if err != nil {
				b.Fatal(err)
			}
			var ours, theirs []float64
			for b.Loop() {
				for range turns {
					theirs = append(theirs, peerTime(b, p.metric, input))
					began := time.Now()
					if err := p.ours(); err != nil {
						b.Fatal(err)
					}
					ours = append(ours, time.Since(began).Seconds())
				}
			}
			b.ReportMetric(middle(theirs)*1e3, "peer-ms")
			b.ReportMetric(middle(ours)*1e3, "ms")
			b.ReportMetric(middle(theirs)/middle(ours), "times-faster")
		})
	}
}

// peerTime is how many seconds the peer takes.
func peerTime(b *testing.B, metric, input string) float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), "python3", "testdata/peers.py", metric, input)
	var why strings.Builder
	cmd.Stderr = &why
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.Is(err, exec.ErrNotFound) || errors.As(err, &exit) && exit.ExitCode() == 3 {
		b.Skipf("the peer is missing: %v %s", err, why.String())
	}
	if err != nil {
		b.Fatalf("%v: %s", err, why.String())
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil {
		b.Fatal(err)
	}
	return seconds
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func peers() []peer {
	said, wanted := newsCorpus()
	texts := map[string]any{"said": said, "wanted": wanted}
	return []peer{
		{"sacrebleu", texts, func() error { return bleuOf(said, wanted, (&SacreOptions{}).words) }},
		{"bleu", texts, func() error {
			return bleuOf(said, wanted, func(line string) []string { return strings.Split(line, " ") })
		}},
		{"wer", texts, func() error { return werOf(said, wanted) }},
		rougePeer(said[:300], wanted[:300]), // which take the peer seconds
		numberPeer(said),
		squadPeer(),
		clickPeer(),
	}
}

func bleuOf(texts, wanted []string, words func(string) []string) error {
	if sum := sumBLEU(texts, wanted, words); !(bleu(sum[:]) > 0) {
		return errors.New("nothing matches")
	}
	return nil
}

func werOf(texts, wanted []string) error {
	errs, words := 0, 0
	for i := range texts {
		b := pytext.Fields(wanted[i])
		errs, words = errs+wordDistance(pytext.Fields(texts[i]), b), words+len(b)
	}
	if errs == 0 || words == 0 {
		return errors.New("no errors")
	}
	return nil
}

func rougePeer(said, wanted []string) peer {
	return peer{"rouge", map[string]any{"said": said, "wanted": wanted}, func() error {
		s, sum := newROUGEScorer(), 0.0
		for i := range said {
			sum += s.score(said[i], wanted[i])[3]
		}
		if sum == 0 {
			return errors.New("nothing matches")
		}
		return nil
	}}
}

// numberPeer finds the numbers that answers end with, and compares them.
func numberPeer(texts []string) peer {
	var said, wanted []string
	for i, text := range texts {
		said = append(said, fmt.Sprintf("%s That makes 1,%03d of 7. The answer is %d.", text, i%1000, i))
		wanted = append(wanted, fmt.Sprint(i))
	}
	return peer{"numbers", map[string]any{"said": said, "wanted": wanted}, func() error {
		for i := range said {
			if finalNumber(said[i]) != wanted[i] {
				return fmt.Errorf("%q does not end with %s", said[i], wanted[i])
			}
		}
		return nil
	}}
}

func squadPeer() peer {
	type answer struct {
		Text string `json:"text"`
	}
	type question struct {
		ID      string   `json:"id"`
		Answers []answer `json:"answers"`
	}
	const n = 10570
	var asked []question
	var questions []Question
	predictions := map[string]string{}
	for i := range n {
		id, said := fmt.Sprint(i), fmt.Sprintf("The answer, number %d of a list that goes on", i)
		answers := []string{said + ".", fmt.Sprint("number ", i), said}
		q := question{ID: id}
		for _, text := range answers {
			q.Answers = append(q.Answers, answer{text})
		}
		asked, questions = append(asked, q), append(questions, Question{ID: id, Answers: answers})
		predictions[id] = said
	}
	dataset := []any{map[string]any{"paragraphs": []any{map[string]any{"qas": asked}}}}
	return peer{"squad", map[string]any{"dataset": dataset, "predictions": predictions}, func() error {
		_, err := ScoreSQuAD(questions, predictions, 0)
		return err
	}}
}

func clickPeer() peer {
	r := rand.New(rand.NewPCG(1, 2))
	labels, predictions := make([]int, 1_000_000), make([]float32, 1_000_000)
	for i := range labels {
		x := r.NormFloat64()
		if r.IntN(30) == 0 {
			labels[i], x = 1, x+1
		}
		predictions[i] = float32(x)
	}
	return peer{"auc", map[string]any{"labels": labels, "predictions": predictions}, func() error {
		var counter aucCounter
		for i, p := range predictions {
			if err := counter.add(p, labels[i] == 1); err != nil {
				return err
			}
		}
		_, err := counter.area()
		return err
	}}
}
