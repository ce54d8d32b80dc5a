package decode

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A keepingModel is one that has memory of its own.
type keepingModel struct {
	*countingModel
	fails    error // of copies
	refuses  error // to give memory
	memories int   // that are open
}

type keptPart struct {
	m   *keepingModel
	all tensor.Tensor
}

func (m *keepingModel) Keep(t tensor.DType, elements int64) (backend.Memory, error) {
	if m.refuses != nil {
		return nil, m.refuses
	}
	m.memories++
	return &keptPart{m, tensor.New(t, elements)}, nil
}

func (k *keptPart) Value(from int64, shape ...int64) (backend.Value, error) {
	return bound{k.all.Rows(int(from), int(tensor.Shape(shape).Len())).Reshape(shape...)}, nil
}

func (k *keptPart) Copy(to, from, elements int64) error {
	copy(k.all.Rows(int(to), int(elements)).Bytes(), k.all.Rows(int(from), int(elements)).Bytes())
	return k.m.fails
}

func (k *keptPart) Close() error {
	k.m.memories--
	return nil
}

// keepingDecoder opens a model that has memory of its own.
func keepingDecoder(t *testing.T, m *keepingModel, room Limits) (*Decoder, error) {
	t.Helper()
	l, err := ReadLayout(m.inputs(), m.outputs(), Layout{Names: UsualNames()})
	if err != nil {
		t.Fatal(err)
	}
	return NewDecoder(m, l, room)
}

// A cache in device memory gives the same answers, and Close frees it.
func TestDeviceCache(t *testing.T) {
	prompts := drawPrompts(rand.New(rand.NewPCG(7, 2)), 40, 30)
	for _, shared := range []bool{true, false} {
		m := &keepingModel{countingModel: &countingModel{shared: shared, period: 5}}
		d, err := keepingDecoder(t, m, Limits{4, 50, 5})
		if err != nil {
			t.Fatal(err)
		}
		if m.memories == 0 {
			t.Error("the model's own memory is not used")
		}
		b, k := NewBatcher(d, testRules, func(i workload.Item) []int32 { return prompts[i.Index] }), newKeeper()
		if err := b.Serve(t.Context(), workload.BatchSource(itemsOf(len(prompts)), k)); err != nil {
			t.Fatal(err)
		}
		for i, prompt := range prompts {
			if diff := cmp.Diff(m.said(prompt, testRules), k.answers[i]); diff != "" {
				t.Fatalf("shared %v, prompt %d (-want +got):\n%s", shared, i, diff)
			}
		}
		if err := d.Close(); err != nil || m.memories != 0 {
			t.Errorf("%d memories are left, %v", m.memories, err)
		}
	}
}

// TestACopyThatFailsEndsTheRun: what is in the cache then is not what was read.
func TestACopyThatFailsEndsTheRun(t *testing.T) {
	lost := errors.New("the device is lost")
	m := &keepingModel{countingModel: &countingModel{shared: true}}
	d, err := keepingDecoder(t, m, Limits{2, 50, 5})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Prefill(t.Context(), 0, []int32{1, 2}); err != nil {
		t.Fatal(err)
	}
	m.fails = lost
	d.Move(1, 0)
	m.fails = nil
	if err := d.Step(t.Context(), 2); !errors.Is(err, lost) {
		t.Errorf("a step says %v", err)
	}
	if err := d.Prefill(t.Context(), 1, []int32{1}); !errors.Is(err, lost) {
		t.Errorf("a prompt says %v", err)
	}
	m.refuses = lost
	if _, err := keepingDecoder(t, m, Limits{1, 50, 5}); !errors.Is(err, lost) {
		t.Errorf("memory that is refused: %v", err)
	}
}
