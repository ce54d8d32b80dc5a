//go:build ort

package decode

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
)

func TestORTExpertsAnswerInBatchesAsAlone(t *testing.T) {
	e := orttest.Engine(t)
	r := rand.New(rand.NewPCG(1, 1))
	var prompts, want [][]int32
	for range 4 {
		p, a := copying(r)
		prompts, want = append(prompts, p), append(want, a)
	}
	alone := answers(t, open(t, e, "mixtral-70m", Limits{1, 256, 256}), prompts)
	batched := answers(t, open(t, e, "mixtral-70m", Limits{4, 256, 64}), prompts)
	for i := range want {
		if !slices.Equal(alone[i], want[i]) {
			t.Errorf("prompt %d alone is answered with %v, want %v", i, alone[i], want[i])
		}
		if !slices.Equal(batched[i], want[i]) {
			t.Errorf("prompt %d in a batch is answered with %v, want %v", i, batched[i], want[i])
		}
	}
}
