package text

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A copyingModel is a GNMT that copies: the translation of piece n is piece n. Its memory is
// the sentence, and its state the place in it. Other candidates are much worse, but for a
// decoy in the first step of the first beam, which leads nowhere.
type copyingModel struct {
	info    backend.Info
	decodes bool
	nan     bool
	sum     float32 // of all scores
	shift   int64   // of the pieces that it says
	runs    int
	takes   func(active int) time.Duration // of a step; nil: no time
	fails   error
	closed  *int
	bound   *int
}

const fakeHidden, fakeState = 2, 3

type copyingValue struct {
	tensor tensor.Tensor
	closed *int
}

func (v copyingValue) Tensor() tensor.Tensor { return v.tensor }
func (v copyingValue) Close() error {
	*v.closed++
	return nil
}

func (s *copyingModel) Info() backend.Info { return s.info }
func (s *copyingModel) Bind(t tensor.Tensor) (backend.Value, error) {
	*s.bound++
	return copyingValue{t, s.closed}, nil
}
func (s *copyingModel) Close() error { return nil }

func copyingModels() (encoder, decoder *copyingModel) {
	closed, bound := 0, 0
	encoder, decoder = &copyingModel{closed: &closed, bound: &bound}, &copyingModel{closed: &closed, bound: &bound, decodes: true}
	for _, s := range []struct {
		session *copyingModel
		role    string
	}{{encoder, encoderRole}, {decoder, decoderRole}} {
		for _, name := range translationPorts[s.role].Inputs {
			s.session.info.Inputs = append(s.session.info.Inputs, backend.Port{Name: name})
		}
		for _, name := range translationPorts[s.role].Outputs {
			s.session.info.Outputs = append(s.session.info.Outputs, backend.Port{Name: name})
		}
	}
	encoder.info.Outputs[0].Shape = tensor.Shape{-1, -1, fakeHidden}
	encoder.info.Outputs[2].Shape = tensor.Shape{-1, fakeState}
	return encoder, decoder
}

func (s *copyingModel) Run(_ context.Context, inputs, outputs []backend.Value) error {
	s.runs++
	if s.fails != nil {
		return s.fails
	}
	if s.decodes {
		return s.decode(inputs, outputs)
	}
	pieces, memory := tensor.Data[int64](inputs[0].Tensor()), tensor.Data[float32](outputs[0].Tensor())
	for i, p := range pieces {
		memory[i*fakeHidden] = float32(p)
	}
	clear(tensor.Data[float32](outputs[2].Tensor()))
	return nil
}

func (s *copyingModel) decode(inputs, outputs []backend.Value) error {
	memory, mask := inputs[0].Tensor(), tensor.Data[float32](inputs[2].Tensor())
	active, parents := tensor.Data[int64](inputs[3].Tensor()), tensor.Data[int64](inputs[4].Tensor())
	before := tensor.Data[float32](inputs[6].Tensor())
	logits, found := tensor.Data[float32](outputs[0].Tensor()), tensor.Data[int64](outputs[1].Tensor())
	sums, state := tensor.Data[float32](outputs[2].Tensor()), tensor.Data[float32](outputs[3].Tensor())
	if s.takes != nil {
		time.Sleep(s.takes(len(active)))
	}
	beams, n, length := len(parents)/len(active), len(logits)/len(parents), int(memory.Shape[1])
	for r, parent := range parents {
		place := int(before[parent*fakeState])
		sentence := int(active[r/beams])
		said := int64(endPiece)
		if place < length && mask[sentence*length+place] == 0 {
			said = int64(tensor.Data[float32](memory)[(sentence*length+place)*fakeHidden]) + s.shift
		}
		for k := range n {
			found[r*n+k], logits[r*n+k] = said, float32(-20*k)
			if k > 0 {
				found[r*n+k] = 3 + int64(k)
			}
		}
		sums[r] = s.sum
		if s.nan {
			sums[r] = float32(math.NaN())
		}
		state[r*fakeState] = float32(place + 1)
	}
	return nil
}

// translationFolder is a data set whose vocabulary has pieces a to z in both languages.
func translationFolder(t *testing.T, sentences string) string {
	t.Helper()
	dir := t.TempDir()
	vocabulary := "<unk>\n<s>\n</s>\n"
	for c := 'a'; c <= 'z'; c++ {
		vocabulary += string(c) + "\n"
	}
	write(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.en"), sentences)
	write(t, filepath.Join(dir, "vocab.bpe.32000.en"), vocabulary)
	write(t, filepath.Join(dir, "vocab.bpe.32000.de"), strings.Replace(vocabulary, "\nq\n", "\nq@@\n", 1))
	return dir
}

func openCopying(t *testing.T, sentences string) (*workload.Workload, workload.Sessions, *copyingModel) {
	t.Helper()
	encoder, decoder := copyingModels()
	ports := map[string]workload.Ports{
		encoderRole: {Inputs: encoder.info.Inputs, Outputs: encoder.info.Outputs}, decoderRole: {Inputs: decoder.info.Inputs, Outputs: decoder.info.Outputs},
	}
	w, err := gnmt().Open(workload.Setup{DatasetDir: translationFolder(t, sentences), Ports: ports})
	if err != nil {
		t.Fatal(err)
	}
	return w, workload.Sessions{encoderRole: encoder, decoderRole: decoder}, decoder
}

// loaded returns a predictor of sentences, and items for them.
func loaded(t *testing.T, w *workload.Workload, s workload.Sessions, slots int, indices ...int) (*translator, []workload.Item) {
	t.Helper()
	p, err := w.NewDecoder(s, slots)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*translator), stored(t, w, p, indices...)
}

func translate(t *testing.T, w *workload.Workload, s workload.Sessions, indices ...int) (replies, error) {
	t.Helper()
	p, items := loaded(t, w, s, len(indices), indices...)
	r := make(replies, len(items))
	err := p.Predict(t.Context(), items, r)
	return r, joinErrors(err, p.Close())
}

func joinErrors(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

func TestTranslationsInBatches(t *testing.T) {
	sentences := []string{"a b c", "h", "", "k l m n o p", "x  \u00e4 q r", "y q", "a b"}
	want := []string{"a b c", "h", "", "k l m n o p", "x <unk> qr", "y", "a b"}
	w, sessions, decoder := openCopying(t, strings.Join(sentences, "\n")+"\n")
	for i := range sentences {
		got, err := translate(t, w, sessions, i)
		if err != nil || string(got[0]) != want[i] {
			t.Errorf("%q alone is translated to %q, %v; want %q", sentences[i], got[0], err, want[i])
		}
	}
	decoder.runs = 0
	got, err := translate(t, w, sessions, 3, 1, 0, 2, 6, 5, 4)
	if err != nil {
		t.Fatal(err)
	}
	for k, i := range []int{3, 1, 0, 2, 6, 5, 4} {
		if string(got[k]) != want[i] {
			t.Errorf("%q in a batch is translated to %q, want %q", sentences[i], got[k], want[i])
		}
	}
	// No more steps than the longest needs: twice its pieces.
	if decoder.runs > 2*6 {
		t.Errorf("%d steps for 6 pieces", decoder.runs)
	}
}

// A trickle has sentences wait one after the other: each time it is asked, as many as give says.
type trickle struct {
	replies
	left []workload.Item
	give func() int
}

func (*trickle) Token(int, []byte) {}
func (*trickle) Worked()           {}

func (s *trickle) Admit(items []workload.Item, n int, wait bool) ([]workload.Item, bool) {
	k := s.give()
	if wait {
		k = max(1, k)
	}
	k = min(k, n, len(s.left))
	items = append(items, s.left[:k]...)
	s.left = s.left[k:]
	return items, len(s.left) > 0 || k > 0
}

func TestTranslationsAtAnyTime(t *testing.T) {
	var sentences []string
	for i := range 40 {
		n := []int{1, 3, 8, 17, 70, 0, 5, 33}[i%8]
		var words []string
		for k := range n {
			words = append(words, string(rune('a'+(i+3*k)%26)))
		}
		sentences = append(sentences, strings.ReplaceAll(strings.Join(words, " "), "q", "p"))
	}
	w, sessions, _ := openCopying(t, strings.Join(sentences, "\n")+"\n")
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		slots := 1 + r.IntN(8)
		p, items := loaded(t, w, sessions, slots, r.Perm(len(sentences))...)
		source := &trickle{make(replies, len(items)), items, func() int { return max(0, r.IntN(3)-1) }}
		if err := p.Serve(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			if got := string(source.replies[item.Ticket]); got != sentences[item.Index] {
				t.Fatalf("seed %d, %d slots: sentence %d is %q, want %q", seed, slots, item.Index, got, sentences[item.Index])
			}
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSentencesBeginBesideOthers(t *testing.T) {
	w, sessions, decoder := openCopying(t, "a b c d e f g h i j\nk l\nm n\no p\n")
	p, items := loaded(t, w, sessions, 2, 0, 1, 2, 3)
	source := &trickle{make(replies, len(items)), items, func() int { return 9 }}
	if err := p.Serve(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	// In the time of the ten pieces and the end, all three others are translated one after the other.
	if decoder.runs > 2*10 {
		t.Errorf("%d steps, want those of the longest sentence", decoder.runs)
	}
}

// A timed source says when each sample was answered.
type timed struct {
	trickle
	done map[int]time.Time
}

func (s *timed) Done(ticket int, response []byte, tokens int) {
	s.done[ticket] = time.Now()
	s.trickle.Done(ticket, response, tokens)
}

// A long sentence that would be late beside others has them wait, as long as that helps.
func TestAdmissionKeepsDeadlines(t *testing.T) {
	for _, test := range []struct {
		name  string
		due   time.Duration // of the long one, from its beginning
		late  bool
		waits bool // the second sentence is not answered as soon as it could be
	}{
		{"there is time enough", 10 * time.Second, false, false},
		{"there is time for it alone", 1700 * time.Millisecond, false, true},
		{"it is late anyway", 300 * time.Millisecond, true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, sessions, decoder := openCopying(t, strings.Repeat("a ", 40)+"\n"+strings.Repeat("b c d e f g h i j k\n", 6))
				decoder.takes = func(active int) time.Duration { return time.Duration(10+20*active) * time.Millisecond }
				p, items := loaded(t, w, sessions, 4, 0, 1, 2, 3, 4, 5, 6)
				defer p.Close()
				if err := p.Predict(t.Context(), items[1:], make(replies, 7)); err != nil { // steps are measured
					t.Fatal(err)
				}
				start := time.Now()
				items[0].Due = start.Add(test.due)
				began := 0
				source := &timed{trickle{make(replies, 7), items, func() int { began++; return min(began, 3) }}, map[int]time.Time{}}
				if err := p.Serve(t.Context(), source); err != nil {
					t.Fatal(err)
				}
				if late := source.done[0].After(items[0].Due); late != test.late {
					t.Errorf("late: %t, by %v", late, source.done[0].Sub(items[0].Due))
				}
				if took := source.done[1].Sub(start); took > 1250*time.Millisecond != test.waits {
					t.Errorf("the second sentence is answered after %v, the long one after %v", took, source.done[0].Sub(start))
				}
			})
		})
	}
}

func TestPaceOfSteps(t *testing.T) {
	var p pace
	if got := p.takes(5, 3); got != 0 {
		t.Errorf("5 steps take %v, want nothing before one is measured", got)
	}
	p.add(2, 20*time.Millisecond)
	if got := p.takes(5, 4); got != 200*time.Millisecond {
		t.Errorf("5 steps of 4 take %v, want 200ms, twice what those of 2 take", got)
	}
	for range 50 {
		for live := 1; live <= 4; live++ {
			p.add(live, time.Duration(10+5*live)*time.Millisecond)
		}
	}
	if got := p.takes(10, 8); got < 499*time.Millisecond || got > 501*time.Millisecond {
		t.Errorf("10 steps of 8 take %v, want 500ms", got)
	}
	for range 3000 { // it is slower now
		p.add(4, 90*time.Millisecond)
	}
	if got := p.takes(10, 4); got < 890*time.Millisecond || got > 910*time.Millisecond {
		t.Errorf("10 steps of 4 take %v, want 900ms", got)
	}
}

func TestPaceOfSentences(t *testing.T) {
	var p pace
	if got := p.left(4, 10); got != 6 {
		t.Errorf("%d steps are left after 4 of 10 pieces, want 6 before a sentence has ended", got)
	}
	p.ended(30, 20)
	if got := p.left(4, 10); got != 11 {
		t.Errorf("%d steps are left after 4 of 10 pieces, want 11 of 15", got)
	}
	if got := p.left(40, 10); got != 1 {
		t.Errorf("%d steps are left after more than usual, want 1", got)
	}
}

// A step of active sentences allocates nothing.
func TestStepAllocatesNothing(t *testing.T) {
	w, sessions, _ := openCopying(t, strings.Repeat("a ", 200)+"\n")
	p, items := loaded(t, w, sessions, 1, 0)
	for range 2 { // the first time makes room
		if err := p.Predict(t.Context(), items, make(replies, 1)); err != nil {
			t.Fatal(err)
		}
	}
	source := &trickle{make(replies, 1), items, func() int { return 1 }}
	if _, err := p.admit(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	step := func() {
		if err := p.step(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	step()
	step()
	if n := testing.AllocsPerRun(50, step); n > 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

func TestPaddedLengths(t *testing.T) {
	lengths := map[int]bool{}
	for n := 1; n <= 10000; n++ {
		to := padded(n)
		if to < n || to > n+7 && to > n+n/4 {
			t.Errorf("%d pieces are filled up to %d", n, to)
		}
		lengths[to] = true
	}
	if len(lengths) > 48 {
		t.Errorf("%d lengths", len(lengths))
	}
}

func TestTranslatorClosesValues(t *testing.T) {
	w, sessions, decoder := openCopying(t, "a b c\nd\na b c d e f g h i j\n")
	p, items := loaded(t, w, sessions, 2, 0, 1, 2)
	if err := p.Use(nil); err != nil {
		t.Fatal(err)
	}
	if err := p.Predict(t.Context(), items, make(replies, 3)); err == nil {
		t.Error("it translates what is not loaded")
	}
	p, items = loaded(t, w, sessions, 2, 0, 1, 2)
	for range 2 {
		if err := p.Predict(t.Context(), items, make(replies, 3)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil || *decoder.closed != *decoder.bound {
		t.Errorf("%d of %d values are closed, %v", *decoder.closed, *decoder.bound, err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Predict(canceled, items, make(replies, 3)); err == nil {
		t.Error("it goes on though it was told to stop")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func TestTranslatorErrors(t *testing.T) {
	w, sessions, decoder := openCopying(t, "a b c\n")
	decoder.nan = true
	if _, err := translate(t, w, sessions, 0); !testenv.Names(err, "sample 0 … not numbers") {
		t.Errorf("error %v", err)
	}
	decoder.nan, decoder.sum = false, float32(math.Inf(1))
	if _, err := translate(t, w, sessions, 0); !testenv.Names(err, "sample 0 … not numbers") {
		t.Errorf("infinite scores: error %v", err)
	}
	decoder.sum, decoder.shift = 0, 100
	if _, err := translate(t, w, sessions, 0); !testenv.Names(err, "piece 103 … vocabulary … 29") {
		t.Errorf("error %v", err)
	}
}

// What a run fails with ends the call, and no sentence is answered with what another run made of it.
func TestTranslatorRunErrors(t *testing.T) {
	for role, want := range map[string]string{encoderRole: "2 sentences … sample 1 … out of order", decoderRole: "out of order"} {
		w, sessions, decoder := openCopying(t, "a b c\nd e\n")
		failing := decoder
		if role == encoderRole {
			failing = sessions[encoderRole].(*copyingModel)
		}
		failing.fails = errors.New("out of order")
		p, items := loaded(t, w, sessions, 4, 1, 0)
		r := make(replies, 2)
		if err := p.Predict(t.Context(), items, r); !testenv.Names(err, want) || r[0] != nil || r[1] != nil {
			t.Errorf("the %s fails: %v, %q, want %q", role, err, r, want)
		}
		failing.fails = nil
		if err := p.Predict(t.Context(), items, r); err != nil || string(r[0]) != "d e" || string(r[1]) != "a b c" {
			t.Errorf("the next call: %v, %q", err, r)
		}
		if err := p.Close(); err != nil || *decoder.closed != *decoder.bound {
			t.Errorf("%v, %d of %d values are closed", err, *decoder.closed, *decoder.bound)
		}
	}
}

func TestGNMTCount(t *testing.T) {
	encoder, decoder := copyingModels()
	ports := map[string]workload.Ports{
		encoderRole: {Inputs: encoder.info.Inputs, Outputs: encoder.info.Outputs}, decoderRole: {Inputs: decoder.info.Inputs, Outputs: decoder.info.Outputs},
	}
	for count, want := range map[int]int{0: 3, 1: 1, 3: 3} {
		w, err := gnmt().Open(workload.Setup{DatasetDir: translationFolder(t, "a\nb b\nc c c\n"), Ports: ports, Count: count})
		if err != nil || w.Samples != want {
			t.Fatalf("%d are wanted: %v", count, err)
		}
		if notes := w.Notes; notes[0] != fmt.Sprintf("sentences have up to %d pieces", want) {
			t.Errorf("%d are wanted: notes %q", count, notes)
		}
	}
}

func TestGNMTSizes(t *testing.T) {
	memory, state := port("memory", tensor.Float32, -1, -1, 1024), port("state", tensor.Float32, -1, 8192)
	if got, err := sizesOf([]backend.Port{state, memory}); err != nil || got != (translationSizes{1024, 8192}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, outputs := range map[string][]backend.Port{
		"none": nil, "no state": {memory}, "no memory": {state}, "a memory of unknown size": {port("memory", tensor.Float32, -1, -1, -1), state},
		"a state of nothing": {memory, port("state", tensor.Float32, -1, 0)}, "a memory of two axes": {port("memory", tensor.Float32, -1, 1024), state},
	} {
		if _, err := sizesOf(outputs); !testenv.Names(err, "memory [N T H] … state [N S]") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGNMTOpenErrors(t *testing.T) {
	for _, test := range []struct{ name, file, content, want string }{
		{"no sentences", "newstest2014.tok.bpe.32000.en", "", "newstest2014.tok.bpe.32000.en is empty"},
		{"not UTF-8", "newstest2014.tok.bpe.32000.en", "a\n\xff\n", "newstest2014.tok.bpe.32000.en: line 2: not UTF-8"},
		{"another vocabulary", "vocab.bpe.32000.de", "[PAD]\n[UNK]\n", "vocab.bpe.32000.de: line 1 is not <unk>: not a vocabulary of GNMT"},
		{"a cut vocabulary", "vocab.bpe.32000.en", "<unk>\n<s>\n", "vocab.bpe.32000.en: line 3 is not </s>"},
		{"a piece twice", "vocab.bpe.32000.en", "<unk>\n<s>\n</s>\na\na\n", `vocab.bpe.32000.en: line 5: piece "a" is in line 4 already`},
	} {
		dir := translationFolder(t, "a\n")
		write(t, filepath.Join(dir, test.file), test.content)
		if _, err := gnmt().Open(workload.Setup{DatasetDir: dir}); !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := gnmt().Open(workload.Setup{DatasetDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "must be one sentence per line") {
		t.Errorf("nothing: error %v", err)
	}
	if _, err := gnmt().Open(workload.Setup{DatasetDir: translationFolder(t, "a\n"), Count: 2}); err == nil || !strings.Contains(err.Error(), "expected 2") {
		t.Errorf("too few: error %v", err)
	}
	if _, err := gnmt().Open(workload.Setup{DatasetDir: translationFolder(t, "a\n")}); err == nil || !strings.Contains(err.Error(), `has no input "`) {
		t.Errorf("another model: error %v", err)
	}
}

func TestGNMTScore(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "newstest2014.tok.bpe.32000.de"), "the ho@@ use stands on a hill .\n")
	text := hex.EncodeToString([]byte("the house stands on the hill ."))
	log := func() accuracy.Input {
		return accuracy.Named("log", strings.NewReader(fmt.Sprintf(`[{"seq_id":0,"qsl_idx":0,"data":"%s"}]`, text)))
	}
	for _, test := range []struct {
		options workload.Values
		want    []string
	}{
		{nil, []string{"BLEU: 48.9"}},
		{workload.Values{"sacrebleu": "intl", "sacrebleu-smooth": "floor"}, []string{"BLEU: 48.9",
			"BLEU = 48.89 85.7/66.7/40.0/25.0 (BP = 1.000 ratio = 1.000 hyp_len = 7 ref_len = 7)",
			"nrefs:1|case:mixed|eff:no|tok:intl|smooth:floor[0.10]|version:2.6.0"}},
	} {
		m := gnmt()
		if err := m.CheckScoreOptions(test.options); err != nil {
			t.Fatal(err)
		}
		score, err := m.Score(t.Context(), log(), workload.Scoring{DatasetDir: dir, Options: test.options})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, score.Lines); diff != "" {
			t.Errorf("%v (-want +got):\n%s", test.options, diff)
		}
	}
	if _, err := gnmt().Score(t.Context(), log(), workload.Scoring{DatasetDir: dir, Options: workload.Values{"sacrebleu-smooth": "exp"}}); err == nil {
		t.Error("a smoothing without sacreBLEU is taken")
	}
}

func TestCheckSentences(t *testing.T) {
	w := &translation{sentences: [][]int32{{3, 4}}, known: 10}
	e := w.forRows(make([]int, 300))
	for i := range e.Samples { // more rows than the data set has
		if e.Row(i)[0].Shape[0] != maxPieces || e.Length(i) <= 0 {
			t.Fatalf("row %d is %v", i, e.Row(i))
		}
	}
	for _, c := range []struct {
		row   []int64
		right bool
	}{{[]int64{3, 9, -1, 77}, true}, {[]int64{-1, -1}, true}, {[]int64{3, 10, -1}, false}} {
		if err := e.Exchange.Check([]tensor.Tensor{tensor.Of(c.row, int64(len(c.row)))}); (err == nil) != c.right {
			t.Errorf("%v: %v", c.row, err)
		}
	}
}
