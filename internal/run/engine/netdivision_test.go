package engine

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

// byteRows are rows of two slots of a byte each.
func byteRows(int) []workload.Slot {
	slot := workload.Slot{Type: tensor.Uint8, Shape: tensor.Shape{1}}
	return []workload.Slot{slot, slot}
}

func wrapped(exchange *workload.Exchange, r systemUnderTest) (*workload.Workload, error) {
	local := &workload.Workload{Samples: 3, Row: byteRows, Batch: 8, Exchange: exchange}
	m := workload.Model{Name: "m", Open: func(workload.Setup) (*workload.Workload, error) { return local, nil }}
	return overNetwork(m, r).Open(workload.Setup{})
}

// An answer is a reply to one item.
type answer struct {
	response []byte
	tokens   int
}

type answers map[int]answer

func (answers) FirstToken(int, []byte) {}
func (a answers) Done(ticket int, response []byte, tokens int) {
	a[ticket] = answer{slices.Clone(response), tokens}
}

// predicted has the remote answer rows of the bytes 10·row and 7.
func predicted(t *testing.T, exchange *workload.Exchange, r *remote, items ...workload.Item) (answers, error) {
	t.Helper()
	w, err := wrapped(exchange, r)
	if err != nil {
		t.Fatal(err)
	}
	if w.Batch != 1 {
		t.Errorf("samples go in batches of %d", w.Batch)
	}
	store, err := workload.NewStore(3, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range 3 {
		store.RowBytes(0, i)[0], store.RowBytes(1, i)[0] = byte(10*i), 7
	}
	p, err := w.NewPredictor(nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Predict(t.Context(), []workload.Item{{}}, answers{}); err == nil {
		t.Error("a sample that is not loaded is answered")
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	got := answers{}
	return got, p.Predict(t.Context(), items, got)
}

func TestSamplesAreSentWithoutTheirIndex(t *testing.T) {
	stamp := func(response []byte, index int, _ []tensor.Tensor) { response[0] = byte(index) }
	for _, c := range []struct {
		name     string
		exchange workload.Exchange
		sent     [][]byte
		want     map[int]answer
	}{
		{"the row as it is, the index in the response", workload.Exchange{Stamp: stamp}, [][]byte{{20}, {7}, {10}, {7}}, map[int]answer{0: {[]byte{99, 14}, 5}, 1: {[]byte{98, 14}, 5}}},
		{"a part of the row and a constant", workload.Exchange{Inputs: make([]workload.Input, 2), Constants: []tensor.Tensor{tensor.Of([]byte{42}, 1, 1)}},
			[][]byte{{20}, {42}, {10}, {42}}, map[int]answer{0: {[]byte{40, 84}, 5}, 1: {[]byte{20, 84}, 5}}},
		{"responses of tokens, which are counted", workload.Exchange{Sequences: &workload.Sequences{Text: &workload.TextFormat{
			Tokens: func(_ []int32, response []byte) []int32 { return make([]int32, len(response)/2) },
		}}}, [][]byte{{20}, {7}, {10}, {7}}, map[int]answer{0: {[]byte{40, 14}, 1}, 1: {[]byte{20, 14}, 1}}},
	} {
		r := &remote{tokens: 5}
		got, err := predicted(t, &c.exchange, r, workload.Item{Row: 2, Index: 99, Ticket: 0}, workload.Item{Row: 1, Index: 98, Ticket: 1})
		if err != nil || !slices.EqualFunc(r.sent, c.sent, slices.Equal) {
			t.Errorf("%s: sent was %v, %v, want %v", c.name, r.sent, err, c.sent)
		}
		for ticket, want := range c.want {
			if !slices.Equal(got[ticket].response, want.response) || got[ticket].tokens != want.tokens {
				t.Errorf("%s: answer %d is %v, want %v", c.name, ticket, got[ticket], want)
			}
		}
	}
	if _, err := predicted(t, &workload.Exchange{}, &remote{err: errors.New("gone")}, workload.Item{}); err == nil || !strings.Contains(err.Error(), "gone") {
		t.Errorf("a failure is %v", err)
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
		w, err := wrapped(&workload.Exchange{}, &remote{nodes: c.nodes, err: c.err})
		if err != nil {
			t.Fatal(err)
		}
		name, err := w.SystemName(t.Context())
		if err != nil {
			name = "error: " + err.Error()
		}
		if name != c.want {
			t.Errorf("the name is %q, want %q", name, c.want)
		}
	}
}

func TestModelsThatNeedTheDataSetAreRefused(t *testing.T) {
	for want, exchange := range map[string]*workload.Exchange{"cannot be sent": nil, "says where answers end": {NeedsDataset: "where answers end"}} {
		if _, err := wrapped(exchange, &remote{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
