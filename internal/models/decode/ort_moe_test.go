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
	r := rand.New(rand.NewPCG(5, 1))
	var prompts, want [][]int32
	for range 4 {
		p, a := copying(r)
		prompts, want = append(prompts, p), append(want, a)
	}
	alone := answers(t, open(t, e, "mixtral-70m", Limits{1, 256, 256}), prompts)
	batched := answers(t, open(t, e, "mixtral-70m", Limits{4, 256, 64}), prompts)
	right := 0
	for i := range want {
		if slices.Equal(alone[i], want[i]) {
			right++
		}
		if !slices.Equal(alone[i], batched[i]) {
			t.Errorf("prompt %d is answered with %v, want %v", i, batched[i], alone[i])
		}
	}
	if right < 2 {
		t.Errorf("%d of %d are right", right, len(want))
	}
}
