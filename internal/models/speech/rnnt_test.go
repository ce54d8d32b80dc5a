package speech

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// fakeNets are an RNN-T that writes, at each step of a recording, as many characters as the
// script says, of which each follows the one before in the alphabet. What it hears in a step
// is the number of the step; its state counts the characters.
type fakeNets struct {
	script       map[int][]int // by the length of a recording in rows: characters in each step
	nan          bool
	fails        string         // role of the network that does
	runs         map[string]int // by role
	rows         map[string]int
	bound, freed int
}

type fakeNet struct {
	nets *fakeNets
	role string
	info backend.Info
}

type fakeValue struct {
	tensor tensor.Tensor
	nets   *fakeNets
}

const (
	fakeJoint = 3 // row, step, characters
	fakeState = 2
)

func (v fakeValue) Tensor() tensor.Tensor { return v.tensor }
func (v fakeValue) Close() error          { v.nets.freed++; return nil }

func (s *fakeNet) Info() backend.Info { return s.info }
func (s *fakeNet) Bind(t tensor.Tensor) (backend.Value, error) {
	s.nets.bound++
	return fakeValue{t, s.nets}, nil
}
func (s *fakeNet) Close() error { return nil }

func (s *fakeNet) Run(_ context.Context, in, out []backend.Value) error {
	s.nets.runs[s.role]++
	if s.nets.fails == s.role {
		return errors.New("out of order")
	}
	s.nets.rows[s.role] += int(in[0].Tensor().Shape[0])
	switch s.role {
	case encoderRole:
		s.encode(tensor.Data[int32](in[1].Tensor()), out[0].Tensor())
	case predictionRole:
		labels, state := tensor.Data[int64](in[0].Tensor()), tensor.Data[float32](in[1].Tensor())
		predicted, next := tensor.Data[float32](out[0].Tensor()), tensor.Data[float32](out[1].Tensor())
		for k, label := range labels {
			count := state[k*fakeState]
			if label != labelCount-1 {
				count++
			}
			next[k*fakeState], predicted[k*fakeJoint+2] = count, count
		}
	case jointRole:
		s.join(tensor.Data[float32](in[0].Tensor()), tensor.Data[float32](in[1].Tensor()), tensor.Data[float32](out[0].Tensor()))
	}
	return nil
}

func (s *fakeNet) encode(lengths []int32, encoded tensor.Tensor) {
	steps := int(encoded.Shape[1])
	for i, n := range lengths {
		for step := range steps {
			copy(tensor.Data[float32](encoded)[(i*steps+step)*fakeJoint:], []float32{float32(n), float32(step), 0})
		}
	}
}

func (s *fakeNet) join(encoded, predicted, logits []float32) {
	for k := range len(encoded) / fakeJoint {
		rows, step, count := int(encoded[k*fakeJoint]), int(encoded[k*fakeJoint+1]), int(predicted[k*fakeJoint+2])
		due := 0
		for _, n := range s.nets.script[rows][:step+1] {
			due += n
		}
		row := logits[k*labelCount:][:labelCount]
		clear(row)
		row[labelCount-1] = 1
		if count < due {
			row[1+count%26] = 2
		}
		if s.nets.nan {
			row[3] = float32(math.NaN())
		}
	}
}

func fakes(script map[int][]int) (*fakeNets, workload.Sessions, map[string]workload.Ports) {
	nets := &fakeNets{script: script, runs: map[string]int{}, rows: map[string]int{}}
	shapes := map[string]tensor.Shape{
		"features": {-1, -1, audio.Features}, "lengths": {-1}, "labels": {-1}, "state": {-1, fakeState}, "next_state": {-1, fakeState},
		"encoded": {-1, fakeJoint}, "predicted": {-1, fakeJoint}, "logits": {-1, labelCount},
	}
	sessions, ports := workload.Sessions{}, map[string]workload.Ports{}
	for role, names := range rnntPorts {
		s := &fakeNet{nets: nets, role: role}
		for _, name := range names.Inputs {
			s.info.Inputs = append(s.info.Inputs, backend.Port{Name: name, Type: tensor.Float32, Shape: shapes[name]})
		}
		for _, name := range names.Outputs {
			shape := shapes[name]
			if role == encoderRole {
				shape = tensor.Shape{-1, -1, fakeJoint}
			}
			s.info.Outputs = append(s.info.Outputs, backend.Port{Name: name, Type: tensor.Float32, Shape: shape})
		}
		sessions[role], ports[role] = s, workload.Ports{Inputs: s.info.Inputs, Outputs: s.info.Outputs}
	}
	return nets, sessions, ports
}

// recordings is a data set with recordings of so many samples.
func recordings(t *testing.T, samples ...int) string {
	t.Helper()
	dir := t.TempDir()
	var entries []string
	for i, n := range samples {
		name := fmt.Sprintf("%d.wav", i)
		write(t, filepath.Join(dir, name), string(wav(n)))
		entries = append(entries, fmt.Sprintf(`{"files": [{"fname": %q, "num_samples": %d}], "original_duration": 1, "transcript": "abc d"}`, name, n))
	}
	write(t, filepath.Join(dir, "dev-clean-wav.json"), "["+strings.Join(entries, ",")+"]")
	return dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func wav(samples int) []byte {
	b := []byte("RIFF....WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, audio.Rate)
	b = append(b, "....\x02\x00\x10\x00data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(2*samples))
	for i := range samples {
		b = binary.LittleEndian.AppendUint16(b, uint16(i*i%4000))
	}
	return b
}

type replies map[int]string

func (r replies) FirstToken(int, []byte) {}
func (r replies) Done(ticket int, response []byte, _ int) {
	const letters = " abcdefghijklmnopqrstuvwxyz'"
	text := []byte{}
	for ; len(response) > 0; response = response[8:] {
		text = append(text, letters[binary.LittleEndian.Uint64(response)])
	}
	r[ticket] += string(text) + "."
}

// transcribe has recordings written down in one batch.
func transcribe(t *testing.T, w *workload.Workload, s workload.Sessions, indices ...int) (replies, error) {
	t.Helper()
	p, err := w.NewPredictor(s, len(indices))
	if err != nil {
		t.Fatal(err)
	}
	store, err := workload.NewStore(len(indices), func(i int) []workload.Slot { return w.Row(indices[i]) })
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var items []workload.Item
	for i, index := range indices {
		if err := w.Prepare(index, store.Row(i)); err != nil {
			return nil, err
		}
		timed := tensor.New(tensor.Float32, w.Row(index)[0].Shape...)
		file, err := w.Raw.Read(index)
		if err = errors.Join(err, w.Raw.Make(file, index, []tensor.Tensor{timed})); err != nil || !bytes.Equal(timed.Bytes(), store.Row(i)[0].Bytes()) {
			t.Errorf("recording %d is another if it is decoded inside the latency: %v", index, err)
		}
		items = append(items, workload.Item{Row: i, Index: index, Ticket: i})
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	r := replies{}
	err = p.Predict(t.Context(), items, r)
	if closed := p.Close(); closed != nil {
		t.Error(closed)
	}
	return r, err
}

// Recordings of 3, 4 and 5 rows have 2, 2 and 3 steps.
var script = map[int][]int{
	3: {1, 2},
	4: {0, 0},
	5: {0, 4, 1},
}

func openFakes(t *testing.T) (*fakeNets, *workload.Workload, workload.Sessions) {
	t.Helper()
	nets, sessions, ports := fakes(script)
	w, err := rnnt().Open(workload.Setup{DatasetDir: recordings(t, 3*480, 4*480, 5*480), Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	return nets, w, sessions
}

func TestTranscriptsInBatches(t *testing.T) {
	want := []string{"abc.", ".", "abcde."}
	nets, w, sessions := openFakes(t)
	for i := range want {
		got, err := transcribe(t, w, sessions, i)
		if err != nil || got[0] != want[i] {
			t.Errorf("recording %d alone is %q, %v; want %q", i, got[0], err, want[i])
		}
	}
	got, err := transcribe(t, w, sessions, 2, 0, 1, 2)
	if diff := cmp.Diff(replies{0: want[2], 1: want[0], 2: want[1], 3: want[2]}, got); err != nil || diff != "" {
		t.Errorf("in a batch (-want +got): %v\n%s", err, diff)
	}
	if nets.bound != nets.freed {
		t.Errorf("%d values are bound, %d freed", nets.bound, nets.freed)
	}
}

// The small networks are asked for no more than is needed: those that are finished are left
// out, and the prediction network runs for what was written only.
func TestBatchShrinks(t *testing.T) {
	nets, w, sessions := openFakes(t)
	if _, err := transcribe(t, w, sessions, 0, 1, 2); err != nil {
		t.Fatal(err)
	}
	// One blank a step, and one run a character: 2+3, 2+0 and 3+5.
	if got, want := nets.rows[jointRole], 15; got != want {
		t.Errorf("the joint network ran for %d rows, want %d", got, want)
	}
	if got, want := nets.rows[predictionRole], 3+3+5; got != want { // once for the start of each
		t.Errorf("the prediction network ran for %d rows, want %d", got, want)
	}
	if got := nets.runs[encoderRole]; got != 1 {
		t.Errorf("the encoder ran %d times", got)
	}
}

func TestMaxCharactersPerStep(t *testing.T) {
	_, sessions, ports := fakes(map[int][]int{3: {100, 0}})
	w, err := rnnt().Open(workload.Setup{DatasetDir: recordings(t, 3*480), Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	got, err := transcribe(t, w, sessions, 0)
	if alphabet := "abcdefghijklmnopqrstuvwxyz"; err != nil || got[0] != alphabet+alphabet+alphabet[:8]+"." {
		t.Errorf("two steps of too many characters are %q, %v", got[0], err)
	}
}

func TestPredictErrors(t *testing.T) {
	nets, w, sessions := openFakes(t)
	nets.nan = true
	if _, err := transcribe(t, w, sessions, 1); !testenv.Names(err, "sample 1 … not numbers") {
		t.Errorf("error %v", err)
	}
	nets.nan = false
	p, err := w.NewPredictor(sessions, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Predict(t.Context(), []workload.Item{{}}, replies{}); err == nil || !strings.Contains(err.Error(), "no samples are loaded") {
		t.Errorf("error %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	store, err := workload.NewStore(1, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	if err := p.Predict(canceled, []workload.Item{{}}, replies{}); err == nil {
		t.Error("it goes on though it was told to stop")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Whichever network fails, the batch has no answers, and the next one has its own.
func TestRunErrors(t *testing.T) {
	nets, w, sessions := openFakes(t)
	want, err := transcribe(t, w, sessions, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{encoderRole, predictionRole, jointRole} {
		nets.fails = role
		if got, err := transcribe(t, w, sessions, 1); !testenv.Names(err, "out of order") || len(got) > 0 {
			t.Errorf("the %s fails: %v, %v", role, got, err)
		}
		nets.fails = ""
		if got, err := transcribe(t, w, sessions, 1); err != nil || got[0] != want[0] {
			t.Errorf("after the %s failed: %v, %v, want %v", role, got, err, want)
		}
	}
	if nets.bound != nets.freed {
		t.Errorf("%d of %d values are closed", nets.freed, nets.bound)
	}
}

func TestRNNTPorts(t *testing.T) {
	dir := recordings(t, 480)
	for name, test := range map[string]struct {
		change func(map[string]workload.Ports)
		want   string
	}{
		"another name":    {func(p map[string]workload.Ports) { p[jointRole].Outputs[0].Name = "y" }, `the model's joint has no output "logits"`},
		"more features":   {func(p map[string]workload.Ports) { p[encoderRole].Inputs[0].Shape = tensor.Shape{-1, -1, 80} }, "reads rows of 80 features, expected 240"},
		"an unknown size": {func(p map[string]workload.Ports) { p[predictionRole].Inputs[1].Shape = tensor.Shape{-1, -1} }, "the last of a known size"},
	} {
		_, _, ports := fakes(script)
		test.change(ports)
		if _, err := rnnt().Open(workload.Setup{DatasetDir: dir, Ports: ports}); !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
	_, sessions, ports := fakes(script)
	ports[jointRole].Outputs[0].Shape = tensor.Shape{-1, 1025}
	w, err := rnnt().Open(workload.Setup{DatasetDir: dir, Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.NewPredictor(sessions, 1); !testenv.Names(err, "1025 labels … 28") {
		t.Errorf("error %v", err)
	}
}

func TestDamagedRecordings(t *testing.T) {
	_, sessions, ports := fakes(script)
	open := func(dir string) (*workload.Workload, error) {
		return rnnt().Open(workload.Setup{DatasetDir: dir, Ports: ports})
	}
	dir := recordings(t, 3*480, 4*480, 5*480)
	w, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "1.wav"), string(wav(3*480)))
	if _, err := transcribe(t, w, sessions, 1); !testenv.Names(err, "1.wav … 1440 samples … 1920") {
		t.Errorf("another length: error %v", err)
	}
	write(t, filepath.Join(dir, "1.wav"), strings.Replace(string(wav(4*480)), "\x01\x00\x80\x3e", "\x02\x00\x80\x3e", 1))
	if _, err := transcribe(t, w, sessions, 1); !testenv.Names(err, "1.wav … 2 channels … one") {
		t.Errorf("stereo: error %v", err)
	}
	if _, err := open(recordings(t, 1000, 256)); !testenv.Names(err, "1.wav … 256 samples … 257") {
		t.Errorf("too short: error %v", err)
	}
}

func TestRNNTScore(t *testing.T) {
	var data []byte
	for _, label := range []uint64{1, 2, 3, 0, 5} { // abc e
		data = binary.LittleEndian.AppendUint64(data, label)
	}
	log := fmt.Sprintf(`[{"seq_id":0,"qsl_idx":0,"data":"%s"}]`, hex.EncodeToString(data))
	score, err := rnnt().Score(t.Context(), accuracy.Named("log", strings.NewReader(log)), workload.Scoring{DatasetDir: recordings(t, 480)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Word Error Rate: 50.0%, accuracy=50.0%"}, score.Lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSentRecordings(t *testing.T) {
	const samples = 16000
	rows := audio.Rows(samples)
	script := make([]int, rows)
	script[0], script[5] = 2, 1
	_, sessions, ports := fakes(map[int][]int{rows: script})
	w, err := rnnt().Open(workload.Setup{DatasetDir: recordings(t, samples, 2*samples), Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	row, err := w.Exchange.Complete([]tensor.Shape{{samples}})
	if err != nil || len(w.Exchange.Inputs) != len(row) {
		t.Fatalf("the row is %v, %v", row, err)
	}
	for _, index := range []int{0, 1} { // of the data set: the second one is longer than what is sent
		store, err := workload.NewStore(1, func(int) []workload.Slot { return row })
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		p, err := w.NewPredictor(sessions, 1)
		if err != nil {
			t.Fatal(err)
		}
		r := replies{}
		if err := p.Use(store); err != nil {
			t.Fatal(err)
		}
		if err := p.Predict(t.Context(), []workload.Item{{Index: index}}, r); err != nil {
			t.Fatal(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if want := "abc."; r[0] != want {
			t.Errorf("written down as sample %d is %q, want %q", index, r[0], want)
		}
	}
}

func TestLeftOutRecordingsAreNoted(t *testing.T) {
	if got := strings.Join(leftOut(&dataset.Speech{Longest: 15, LeftOut: 190}), ""); got != "190 recordings of more than 15 s are left out, as in the reference" {
		t.Errorf("note %q", got)
	}
}
