package netdivision

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A remote doubles the bytes of samples, and keeps what it was sent.
type remote struct {
	sent   [][]byte
	nodes  []string
	tokens int // that it says it wrote
	err    error
}

func (r *remote) Respond(_ context.Context, sample []tensor.Tensor, dst []byte) ([]byte, int, error) {
	for _, t := range sample {
		r.sent = append(r.sent, slices.Clone(t.Bytes()))
		for _, b := range t.Bytes() {
			dst = append(dst, 2*b)
		}
	}
	return dst, r.tokens, r.err
}

func (r *remote) Nodes(context.Context) ([]string, error) { return r.nodes, r.err }

// bytesWorkload has samples of two bytes; the first byte of a response is the index.
type bytesWorkload struct{ workload.Workload }

func (bytesWorkload) Row(int) []workload.Slot {
	return []workload.Slot{{Type: tensor.Uint8, Shape: tensor.Shape{2}}}
}
func (bytesWorkload) Notes() []string                      { return nil }
func (bytesWorkload) Decode([]byte, []tensor.Tensor) error { return nil }
func (bytesWorkload) Stamp(response []byte, index int, _ []tensor.Tensor) {
	response[0] = byte(index)
}

func wrapped(t *testing.T, inner workload.Workload, r Remote) (workload.Workload, error) {
	t.Helper()
	m := workload.Model{Name: "m", Open: func(workload.Setup) (workload.Workload, error) { return inner, nil }}
	return Wrap(m, r).Open(workload.Setup{})
}

// replies keeps responses by ticket.
type replies map[int][]byte

func (replies) FirstToken(int, []byte) {}

func (r replies) Done(ticket int, response []byte, _ int) { r[ticket] = slices.Clone(response) }

func TestASampleIsSentAloneAndWithoutItsIndex(t *testing.T) {
	r := &remote{}
	w, err := wrapped(t, bytesWorkload{}, r)
	if err != nil {
		t.Fatal(err)
	}
	store, err := workload.NewStore(3, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range 3 {
		copy(store.RowBytes(0, i), []byte{byte(10 * i), 7})
	}
	p, err := w.NewPredictor(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Predict(t.Context(), []workload.Item{{}}, replies{}); err == nil {
		t.Error("a sample that is not loaded is answered")
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	got := replies{}
	if err := p.Predict(t.Context(), []workload.Item{{Row: 2, Index: 99, Ticket: 0}, {Row: 1, Index: 98, Ticket: 1}}, got); err != nil {
		t.Fatal(err)
	}
	if want := [][]byte{{20, 7}, {10, 7}}; !slices.EqualFunc(r.sent, want, slices.Equal) {
		t.Errorf("sent was %v, want %v", r.sent, want)
	}
	if !slices.Equal(got[0], []byte{99, 14}) || !slices.Equal(got[1], []byte{98, 14}) {
		t.Errorf("responses are %v", got)
	}
	if w.Batch() != 1 {
		t.Errorf("samples go in batches of %d", w.Batch())
	}
	r.err = errors.New("gone")
	if err := p.Predict(t.Context(), []workload.Item{{}}, got); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a failure is %v", err)
	}
}

// constantWorkload has a tensor that is sent and one that stays here, and another that all samples share.
type constantWorkload struct{ bytesWorkload }

func (constantWorkload) Row(int) []workload.Slot {
	slot := workload.Slot{Type: tensor.Uint8, Shape: tensor.Shape{1}}
	return []workload.Slot{slot, slot}
}
func (constantWorkload) Sent() []workload.Sent                            { return make([]workload.Sent, 2) }
func (constantWorkload) Complete([]tensor.Shape) ([]workload.Slot, error) { return nil, nil }
func (constantWorkload) Constants() []tensor.Tensor {
	return []tensor.Tensor{tensor.Of([]byte{42}, 1, 1)}
}

func TestWhatAllSamplesHaveIsSentWithEach(t *testing.T) {
	r := &remote{}
	w, err := wrapped(t, constantWorkload{}, r)
	if err != nil {
		t.Fatal(err)
	}
	store, err := workload.NewStore(2, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	p, err := w.NewPredictor(nil, 1)
	if err == nil {
		err = p.Use(store)
	}
	if err == nil {
		err = p.Predict(t.Context(), []workload.Item{{Row: 0}, {Row: 1}}, replies{})
	}
	if want := [][]byte{{0}, {42}, {0}, {42}}; err != nil || !slices.EqualFunc(r.sent, want, slices.Equal) {
		t.Errorf("sent was %v, %v, want %v", r.sent, err, want)
	}
}

func TestTheNameComesFromEveryNode(t *testing.T) {
	for _, c := range []struct {
		nodes []string
		err   error
		want  string
	}{
		{[]string{"a", "b"}, nil, "Network SUT: m on a, b"},
		{[]string{"a", "a"}, nil, `error: two nodes have the name "a"`},
		{nil, errors.New("gone"), "error: asking the nodes for their names: gone"},
	} {
		w, err := wrapped(t, bytesWorkload{}, &remote{nodes: c.nodes, err: c.err})
		if err != nil {
			t.Fatal(err)
		}
		name, err := w.(workload.Distant).SystemName(t.Context())
		if err != nil {
			name = "error: " + err.Error()
		}
		if name != c.want {
			t.Errorf("the name is %q, want %q", name, c.want)
		}
	}
}

// tiedWorkload needs the end of each answer from its data set.
type tiedWorkload struct{ bytesWorkload }

func (tiedWorkload) Tied() string { return "where answers end" }

func TestWhoNeedsTheDataSetIsRefused(t *testing.T) {
	for want, inner := range map[string]workload.Workload{"cannot come from elsewhere": struct{ workload.Workload }{}, "says where answers end": tiedWorkload{}} {
		if _, err := wrapped(t, inner, &remote{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// tokenWorkload is one whose responses are tokens of two bytes.
type tokenWorkload struct {
	bytesWorkload
	workload.TextWriter
}

func (tokenWorkload) Row(i int) []workload.Slot { return bytesWorkload{}.Row(i) }
func (tokenWorkload) Notes() []string           { return nil }
func (tokenWorkload) Decode([]byte, []tensor.Tensor) error {
	return nil
}
func (tokenWorkload) Stamp([]byte, int, []tensor.Tensor) {}
func (tokenWorkload) Tokens(dst []int32, response []byte) []int32 {
	return append(dst, make([]int32, len(response)/2)...)
}

func TestTheTokensOfAResponseAreCounted(t *testing.T) {
	for count, inner := range map[int]workload.Portable{7: bytesWorkload{}, 3: tokenWorkload{}} {
		if got := (&distant{portable: inner}).tokens(make([]byte, 6), 7); got != count {
			t.Errorf("%T: %d tokens, want %d", inner, got, count)
		}
	}
}
