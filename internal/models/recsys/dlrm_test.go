package recsys

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/dataset"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// writePairs makes a data set in which number k of pair i is i, and category k is i+k.
func writePairs(t *testing.T, pairs int, trace string, change map[[2]int]int32) string {
	t.Helper()
	dir := t.TempDir()
	var data []byte
	for i := range pairs {
		for k := range 40 {
			v := int32(i % 2)
			switch {
			case k > 13:
				v = int32(i + k - 14)
			case k > 0:
				v = int32(i)
			}
			if c, ok := change[[2]int{i, k}]; ok {
				v = c
			}
			data = binary.LittleEndian.AppendUint32(data, uint32(v))
		}
	}
	for name, content := range map[string]string{"terabyte_processed_test.bin": string(data), "dlrm_trace_of_aggregated_samples.txt": trace} {
		if content == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A fakeDLRM predicts the sum of the categories of a pair plus its first number, from the
// bags in which the offsets say they begin.
type fakeDLRM struct {
	info   backend.Info
	nan    bool
	fails  error
	bound  int
	closed int
}

type fakeValue struct {
	tensor  tensor.Tensor
	session *fakeDLRM
}

func (v fakeValue) Tensor() tensor.Tensor { return v.tensor }
func (v fakeValue) Close() error {
	v.session.closed++
	return nil
}

func (s *fakeDLRM) Info() backend.Info { return s.info }
func (s *fakeDLRM) Bind(t tensor.Tensor) (backend.Value, error) {
	s.bound++
	return fakeValue{t, s}, nil
}
func (s *fakeDLRM) Close() error { return nil }

func (s *fakeDLRM) Run(_ context.Context, inputs, outputs []backend.Value) error {
	if s.fails != nil {
		return s.fails
	}
	indices, offsets := map[int][]int64{}, map[int][]int64{}
	var dense []float32
	for i, port := range s.info.Inputs {
		if port.Name == "dense_x" {
			dense = tensor.Data[float32](inputs[i].Tensor())
			continue
		}
		into := indices
		if strings.HasPrefix(port.Name, "offsets") {
			into = offsets
		}
		data := tensor.Data[int64](inputs[i].Tensor())
		var table int
		if _, err := fmt.Sscanf(port.Name[strings.Index(port.Name, "s_")+1:], "_%d", &table); err == nil {
			into[table] = data
			continue
		}
		n := len(data) / 26
		for table := range 26 {
			into[table] = data[table*n:][:n]
		}
	}
	out := tensor.Data[float32](outputs[0].Tensor())
	for i := range out {
		out[i] = dense[13*i]
		for table := range 26 {
			out[i] += float32(indices[table][offsets[table][i]])
		}
		if s.nan {
			out[i] = float32(math.NaN())
		}
	}
	return nil
}

func port(name string, t tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: t, Shape: shape}
}

func joined() *fakeDLRM {
	return &fakeDLRM{info: backend.Info{
		Inputs:  []backend.Port{port("dense_x", tensor.Float32, -1, 13), port("offsets", tensor.Int64, 26, -1), port("indices", tensor.Int64, 26, -1)},
		Outputs: []backend.Port{port("pred", tensor.Float32, -1, 1)},
	}}
}

func split() *fakeDLRM {
	s := &fakeDLRM{info: backend.Info{Inputs: []backend.Port{port("dense_x", tensor.Float32, -1, 13)}, Outputs: []backend.Port{port("p", tensor.Float32, -1)}}}
	for table := range 26 {
		s.info.Inputs = append(s.info.Inputs, port(fmt.Sprintf("offsets_%d", table), tensor.Int64, -1), port(fmt.Sprintf("indices_%d", table), tensor.Int64, -1))
	}
	return s
}

type replies [][]byte

func (r replies) FirstToken(int, []byte)                {}
func (r replies) Done(item int, response []byte, _ int) { r[item] = append([]byte{}, response...) }

func open(t *testing.T, dir string, s *fakeDLRM) *workload.Workload {
	t.Helper()
	w, err := dlrm().Open(workload.Setup{DatasetDir: dir, Ports: map[string]workload.Ports{workload.Only: {Inputs: s.info.Inputs, Outputs: s.info.Outputs}}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

const threeRuns = "0, 3, 3\n3, 4, 1\n4, 8, 4\n"

func TestResponses(t *testing.T) {
	dir := writePairs(t, 9, threeRuns, nil)
	for name, s := range map[string]*fakeDLRM{"one input of all tables": joined(), "an input for each table": split()} {
		w := open(t, dir, s)
		p, err := w.NewPredictor(workload.Sessions{workload.Only: s}, 3)
		if err != nil {
			t.Fatal(err)
		}
		store, err := workload.NewStore(3, w.Row)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			if err := w.Prepare(i, store.Row(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Use(store); err != nil {
			t.Fatal(err)
		}
		for _, batch := range [][]int{{2, 0, 1}, {1}, {0}, {0}} {
			got, items := make(replies, len(batch)), make([]workload.Item, len(batch))
			for k, index := range batch {
				items[k] = workload.Item{Row: index, Index: index}
			}
			if err := p.Predict(t.Context(), items, got); err != nil {
				t.Fatal(err)
			}
			for k, index := range batch {
				run := []struct{ first, n int }{{0, 3}, {3, 1}, {4, 4}}[index]
				var want []byte
				for i := run.first; i < run.first+run.n; i++ {
					chance := float32(math.Log(float64(i)+1)) + float32(26*i+25*26/2)
					for _, v := range []float32{chance, float32(i % 2)} {
						want = binary.LittleEndian.AppendUint32(want, math.Float32bits(v))
					}
				}
				if diff := cmp.Diff(want, got[k]); diff != "" {
					t.Errorf("%s: sample %d of %v (-want +got):\n%s", name, index, batch, diff)
				}
			}
		}
		s.nan = true
		if err := p.Predict(t.Context(), []workload.Item{{Row: 1, Index: 1}}, make(replies, 1)); !testenv.Names(err, "sample 1 … pair 0 … not a number") {
			t.Errorf("%s: error %v", name, err)
		}
		if err := p.Close(); err != nil || s.bound != s.closed {
			t.Errorf("%s: %d of %d values are closed, %v", name, s.closed, s.bound, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestSentSamplesHaveNoLabels(t *testing.T) {
	w := newClickWorkload(nil, nil, slices.Repeat([]int{2}, dataset.CriteoCategories))
	if sent := w.workload().Exchange.Inputs; len(sent) != 2 || len(w.row(1)) != 3 {
		t.Errorf("sent are %v of %v", sent, w.row(1))
	}
	for _, c := range []struct {
		pairs, categories int64
		right             bool
	}{{3, 3 * 52, true}, {0, 0, false}, {3, 3*52 + 1, false}, {maxPairs + 1, 52 * (maxPairs + 1), false}} {
		row, err := w.complete([]tensor.Shape{{c.pairs, 13}, {c.categories}})
		if (err == nil) != c.right || c.right && row[2].Shape[0] != c.pairs {
			t.Errorf("%d pairs with %d categories: %v, %v", c.pairs, c.categories, row, err)
		}
	}
	response, err := appendPairs(nil, []float32{0.5, 0.25}, []float32{0, 0})
	if err != nil {
		t.Fatal(err)
	}
	stampLabels(response, 7, []tensor.Tensor{{}, {}, tensor.Of([]float32{1, 0}, 1, 2)})
	if want, _ := appendPairs(nil, []float32{0.5, 0.25}, []float32{1, 0}); !cmp.Equal(response, want) {
		t.Errorf("the response is %x, want %x", response, want)
	}
	exact := slices.Clone(response[:8]) // of one pair, although there are two labels
	stampLabels(exact, 7, []tensor.Tensor{{}, {}, tensor.Of([]float32{0.75, 9}, 1, 2)})
	if want, _ := appendPairs(nil, []float32{0.5}, []float32{0.75}); !cmp.Equal(exact, want) {
		t.Errorf("the response of one pair is %x, want %x", exact, want)
	}
	stampLabels(response[:3], 7, []tensor.Tensor{{}, {}, tensor.Of([]float32{1, 0}, 1, 2)}) // which is not one
}

func TestCheckPairs(t *testing.T) {
	w := open(t, writePairs(t, 4, "0, 2, 2\n2, 4, 2\n", nil), joined())
	for _, c := range []struct {
		name    string
		numbers []float32
		ids     []int64
		want    string
	}{
		{"as usual", []float32{0, 1.5, -1}, []int64{0, 7, 1 << 40}, ""},
		{"nothing", nil, nil, ""},
		{"no number", []float32{0, float32(math.NaN())}, []int64{1}, "numbers … 1 … NaN"},
		{"an infinite number", []float32{float32(math.Inf(-1))}, []int64{1}, "numbers … 0 … -Inf"},
		{"a negative category", []float32{1}, []int64{3, 0, -1}, "categories … 2 … -1 … 0"},
	} {
		err := w.Exchange.Check([]tensor.Tensor{tensor.Of(c.numbers, int64(len(c.numbers))), tensor.Of(c.ids, int64(len(c.ids)))})
		if !testenv.Names(err, c.want) {
			t.Errorf("%s: Check() = %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPrepareErrors(t *testing.T) {
	for _, test := range []struct {
		name   string
		change map[[2]int]int32
		want   string
	}{
		{"a category below 0", map[[2]int]int32{{4, 16}: -1}, "terabyte_processed_test.bin: pair 4: field 16 is -1: must be 0 or more"},
		{"a number below 0", map[[2]int]int32{{5, 1}: -7}, "pair 5: field 1 is -7: must be 0 or more"},
		{"another label", map[[2]int]int32{{7, 0}: 2}, "pair 7: the label is 2: must be 0 or 1"},
	} {
		w := open(t, writePairs(t, 9, threeRuns, test.change), joined())
		store, err := workload.NewStore(1, func(int) []workload.Slot { return w.Row(2) })
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Prepare(2, store.Row(0)); !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	good := writePairs(t, 9, threeRuns, nil)
	cut := writePairs(t, 9, "", nil)
	if err := os.Truncate(filepath.Join(cut, "terabyte_processed_test.bin"), 1000); err != nil {
		t.Fatal(err)
	}
	s := joined()
	more := append([]backend.Port{}, s.info.Inputs...)
	for _, test := range []struct {
		name  string
		dir   string
		count int
		in    []backend.Port
		out   []backend.Port
		want  string
	}{
		{"nothing", t.TempDir(), 0, s.info.Inputs, s.info.Outputs, "terabyte_processed_test.bin"},
		{"a file that was cut off", cut, 0, s.info.Inputs, s.info.Outputs, "has 1000 bytes, expected 160 for each pair"},
		{"a trace of more pairs", writePairs(t, 7, threeRuns, nil), 0, s.info.Inputs, s.info.Outputs, "lists 8 pairs"},
		{"too many samples", good, 4, s.info.Inputs, s.info.Outputs, "expected 4 samples"},
		{"another input", good, 0, append(more, port("x", tensor.Int64, 1)), s.info.Outputs, "input x of the model is unknown"},
		{"no numbers", good, 0, s.info.Inputs[1:], s.info.Outputs, "0 inputs of the model are dense_x"},
		{"a table too many", good, 0, append(more, port("indices_26", tensor.Int64, -1)), s.info.Outputs, "indices_26 of the model names no table"},
		{"a table twice", good, 0, append(slices.Clone(split().info.Inputs[:51]), port("offsets_25", tensor.Int64, -1), port("indices_024", tensor.Int64, -1)), s.info.Outputs, "26 inputs of the model are indices: must be one, or one for each of the 26 tables"},
		{"one table only", good, 0, []backend.Port{s.info.Inputs[0], s.info.Inputs[1], port("indices_3", tensor.Int64, -1)}, s.info.Outputs, "1 inputs of the model are indices"},
		{"a table below 0", good, 0, append(more, port("indices_-1", tensor.Int64, -1)), s.info.Outputs, "indices_-1 of the model names no table"},
		{"a table without a number", good, 0, append(more, port("offsets_x", tensor.Int64, -1)), s.info.Outputs, "offsets_x of the model names no table"},
		{"categories as floats", good, 0, []backend.Port{s.info.Inputs[0], s.info.Inputs[1], port("indices", tensor.Float32, 26, -1)}, s.info.Outputs, "input indices of the model has elements of type float32, expected int64"},
		{"twelve numbers", good, 0, []backend.Port{port("dense_x", tensor.Float32, -1, 12)}, s.info.Outputs, "input dense_x of the model has shape [? 12], expected 13 numbers of each pair"},
		{"numbers in a row", good, 0, []backend.Port{port("dense_x", tensor.Float32, -1)}, s.info.Outputs, "expected 13 numbers of each pair"},
		{"numbers twice", good, 0, append(more, s.info.Inputs[0]), s.info.Outputs, "2 inputs of the model are dense_x"},
		{"no inputs", good, 0, nil, s.info.Outputs, "0 inputs of the model are"},
		{"no outputs", good, 0, s.info.Inputs, nil, "the model has no output with a prediction"},
		{"a prediction as float64", good, 0, s.info.Inputs, []backend.Port{port("y", tensor.Float64, -1, 1)}, "the model has no output with a prediction"},
		{"numbers as integers", good, 0, []backend.Port{port("dense_x", tensor.Int64, -1, 13)}, s.info.Outputs, "expected float32"},
		{"no prediction", good, 0, s.info.Inputs, []backend.Port{port("y", tensor.Float32, -1, 2)}, "the model has no output with a prediction"},
	} {
		_, err := dlrm().Open(workload.Setup{DatasetDir: test.dir, Count: test.count, Ports: map[string]workload.Ports{workload.Only: {Inputs: test.in, Outputs: test.out}}})
		if !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}

func TestCount(t *testing.T) {
	s := joined()
	setup := workload.Setup{DatasetDir: writePairs(t, 9, threeRuns, nil), Ports: map[string]workload.Ports{workload.Only: {Inputs: s.info.Inputs, Outputs: s.info.Outputs}}}
	for count, want := range map[int]string{
		0: "3 samples are runs of 8 pairs; a prediction is read from output pred", 2: "2 samples are runs of 4 pairs; a prediction is read from output pred",
		3: "3 samples are runs of 8 pairs; a prediction is read from output pred",
	} {
		setup.Count = count
		w, err := dlrm().Open(setup)
		if err != nil {
			t.Fatal(err)
		}
		if notes := w.Notes; len(notes) != 1 || notes[0] != want || w.Batch != 0 || !slices.Equal(w.Outputs(""), []string{"pred"}) {
			t.Errorf("%d are wanted: %q, want %q", count, notes, want)
		}
	}
}

// Memory is used again, and what was in it before is in no answer.
func TestMemoryIsReused(t *testing.T) {
	s := joined()
	w := open(t, writePairs(t, 9, threeRuns, nil), s)
	p, err := w.NewPredictor(workload.Sessions{workload.Only: s}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	store, err := workload.NewStore(3, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if err := p.Predict(t.Context(), []workload.Item{{}}, make(replies, 1)); !testenv.Names(err, "samples") {
		t.Errorf("before samples are loaded: %v", err)
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	c := p.(*predictor)
	for _, items := range [][]workload.Item{{{Row: 0}, {Row: 2}}, {{Row: 1}}, {{Row: 2}, {Row: 0}}, {{Row: 0}, {Row: 1}, {Row: 2}}} {
		pairs := 0
		for _, item := range items {
			pairs += []int{3, 1, 4}[item.Row]
		}
		before := len(c.predictions)
		if err := p.Predict(t.Context(), items, make(replies, len(items))); err != nil {
			t.Fatal(err)
		}
		if want := max(before, pairs); len(c.predictions) != want || c.pairs != pairs {
			t.Errorf("%d pairs: memory for %d, want %d", pairs, len(c.predictions), want)
		}
	}
	s.fails = errors.New("out of order")
	if err := p.Predict(t.Context(), []workload.Item{{Row: 1}}, make(replies, 1)); !errors.Is(err, s.fails) {
		t.Errorf("a run that fails: %v", err)
	}
}

func TestScoreErrors(t *testing.T) {
	dir := writePairs(t, 9, threeRuns, nil)
	for _, m := range Models()[:2] {
		for options, want := range map[string]string{"verbose=2x": `verbose … "2x"`, "predictions-only=y e s": `predictions-only … "y e s"`} {
			name, value, _ := strings.Cut(options, "=")
			if _, err := m.Score(t.Context(), accuracy.Named("log", strings.NewReader("[]")), workload.Scoring{DatasetDir: dir, Options: workload.Values{name: value}}); !testenv.Names(err, want) {
				t.Errorf("%s, %s: %v, want %q", m.Name, options, err, want)
			}
		}
		if _, err := m.Score(t.Context(), accuracy.Named("log", strings.NewReader("[]")), workload.Scoring{DatasetDir: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "terabyte_processed_test.bin") {
			t.Errorf("%s without data: %v", m.Name, err)
		}
	}
}

// The same log is scored alike with labels in it, with those of the data set, and with those of the text of day 23.
func TestLabelsOfDataSet(t *testing.T) {
	dir := writePairs(t, 9, threeRuns, nil)
	data, err := dataset.OpenCriteo(dir)
	if err != nil {
		t.Fatal(err)
	}
	var day strings.Builder
	logs := map[bool]string{} // with labels, without
	for _, labelled := range []bool{true, false} {
		var records []string
		for i := range data.Runs {
			labels, err := data.Labels(i)
			if err != nil {
				t.Fatal(err)
			}
			var payload []byte
			for j, click := range labels {
				payload = binary.LittleEndian.AppendUint32(payload, math.Float32bits(float32(j*7%5)/5))
				label := float32(0)
				if click {
					label = 1
				}
				if labelled {
					payload = binary.LittleEndian.AppendUint32(payload, math.Float32bits(label))
					fmt.Fprintf(&day, "%g\t1\t\tab\n", label)
				}
			}
			records = append(records, fmt.Sprintf(`{"seq_id":%d,"qsl_idx":%d,"data":"%X"}`, i, i, payload))
		}
		logs[labelled] = "[" + strings.Join(records, ",") + "]"
	}
	texts := t.TempDir()
	dayFile, trace := filepath.Join(texts, "day_23"), filepath.Join(texts, "trace.txt")
	testenv.Tree(t, texts, map[string]string{"day_23": day.String(), "trace.txt": threeRuns, "short": day.String()[:30], "odd": "2\t\n", "empty": ""})
	official := workload.Values{dayOption: dayFile, traceOption: trace}
	lines := ""
	for _, c := range []struct {
		labelled bool
		dir      string
		options  workload.Values
		samples  int // 0: an error
		want     string
	}{
		{true, dir, nil, 3, ""},
		{false, dir, workload.Values{predictionsOption: "true"}, 3, ""},
		{false, "", official, 3, ""},
		{true, "", nil, officialSamples, "no data set confirms them"},
		{true, "", official, 0, "response has 6 predictions, the sample has 3 pairs"},
		{false, "", nil, 0, "expected a prediction and a label"},
		{false, "", workload.Values{predictionsOption: "true"}, 0, "predictions-only: the labels are missing"},
		{false, dir, workload.Values{dayOption: dayFile}, 0, "aggregation-trace-file: missing"},
		{false, dir, workload.Values{traceOption: trace}, 0, "day-23-file: missing"},
		{false, "", workload.Values{dayOption: filepath.Join(texts, "short"), traceOption: trace}, 0, "short has 4 lines, "},
		{false, "", workload.Values{dayOption: filepath.Join(texts, "odd"), traceOption: trace}, 0, `odd: line 1: the label is "2"`},
		{false, "", workload.Values{dayOption: dayFile, traceOption: filepath.Join(texts, "empty")}, 0, "empty is empty"},
		{false, "", workload.Values{dayOption: dayFile, traceOption: filepath.Join(texts, "none")}, 0, "none: no such file"},
	} {
		score, err := dlrm().Score(t.Context(), accuracy.Named("log", strings.NewReader(logs[c.labelled])), workload.Scoring{DatasetDir: c.dir, Options: c.options})
		switch {
		case c.samples == 0:
			if !testenv.Names(err, c.want) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		case err != nil:
			t.Fatalf("%+v: %v", c, err)
		case lines == "":
			lines = score.Text()
		}
		if score.Text() != lines || !strings.Contains(lines, "queries=3") || score.Coverage.Samples != c.samples || !strings.Contains(strings.Join(score.Warnings, "\n"), c.want) {
			t.Errorf("%+v: %q over %+v with %q, want %q", c, score.Text(), score.Coverage, score.Warnings, lines)
		}
	}
}

// threeHot are pairs with three categories in the first table and one in all others: 10·pair, and so on.
type threeHot struct{}

func (threeHot) Len() int                   { return 2 }
func (threeHot) Labels(int) ([]bool, error) { return nil, nil }
func (threeHot) Read(sample int, c dataset.Click) error {
	n := len(c.Labels)
	for i := range c.Categories {
		pair := (i - 3*n) % n
		if i < 3*n {
			pair = i / 3
		}
		c.Categories[i] = int64(1000*sample + 10*pair)
		if i < 3*n {
			c.Categories[i] += int64(i % 3)
		}
	}
	return nil
}

// portsOf are inputs for each table, with one or two axes of categories.
func portsOf(axes int, withOffsets bool) []backend.Port {
	ports := []backend.Port{{Name: "dense_x", Type: tensor.Float32, Shape: tensor.Shape{-1, 13}}}
	for table := range dataset.CriteoCategories {
		number := string(rune('0'+table/10)) + string(rune('0'+table%10))
		shape := tensor.Shape{-1, -1}
		if table == 0 {
			shape[1] = 3
		}
		ports = append(ports, backend.Port{Name: "indices_" + number, Type: tensor.Int64, Shape: shape[:axes]})
		if withOffsets {
			ports = append(ports, backend.Port{Name: "offsets_" + number, Type: tensor.Int64, Shape: tensor.Shape{-1}})
		}
	}
	return ports
}

func TestMultiHotInputs(t *testing.T) {
	hot := slices.Repeat([]int{1}, dataset.CriteoCategories)
	hot[0] = 3
	for _, test := range []struct {
		name  string
		ports []backend.Port
		shape tensor.Shape
	}{
		{"in two axes", portsOf(2, false), tensor.Shape{3, 3}},
		{"one after the other, with offsets", portsOf(1, true), tensor.Shape{9}},
	} {
		w := newClickWorkload(threeHot{}, []dataset.Run{{First: 0, Count: 1}, {First: 1, Count: 2}}, hot)
		var err error
		if w.inputs, err = bindPairs(test.ports, hot); err != nil {
			t.Fatal(test.name, err)
		}
		s := &fakeDLRM{info: backend.Info{Inputs: test.ports, Outputs: []backend.Port{{Name: "pred", Shape: tensor.Shape{-1, 1}}}}}
		c := &predictor{w: w, session: s}
		store, err := workload.NewStore(2, w.workload().Row)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		items := []workload.Item{{Row: 0, Index: 0}, {Row: 1, Index: 1}}
		for i := range 2 {
			if err := w.prepare(i, store.Row(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Use(store); err != nil {
			t.Fatal(err)
		}
		if err := c.bind(3); err != nil {
			t.Fatal(err)
		}
		c.gather(items, 3)
		for i, port := range test.ports {
			x := c.values[i].Tensor()
			switch port.Name {
			case "indices_00":
				if diff := cmp.Diff([]int64{0, 1, 2, 1000, 1001, 1002, 1010, 1011, 1012}, tensor.Data[int64](x)); diff != "" || !slices.Equal(x.Shape, test.shape) {
					t.Errorf("%s: %v (-want +got):\n%s", test.name, x, diff)
				}
			case "indices_25":
				if diff := cmp.Diff([]int64{0, 1000, 1010}, tensor.Data[int64](x)); diff != "" {
					t.Errorf("%s, table 25 (-want +got):\n%s", test.name, diff)
				}
			case "offsets_00":
				if diff := cmp.Diff([]int64{0, 3, 6}, tensor.Data[int64](x)); diff != "" {
					t.Errorf("%s, offsets (-want +got):\n%s", test.name, diff)
				}
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestMultiHotErrors(t *testing.T) {
	hot := slices.Repeat([]int{1}, dataset.CriteoCategories)
	hot[0] = 4
	for _, test := range []struct {
		name  string
		ports []backend.Port
		want  string
	}{
		{"another number", portsOf(2, false), "takes 3 categories of a pair, the data have 4"},
		{"no offsets", portsOf(1, false), "0 inputs of the model are offsets"},
		{"all tables in one", []backend.Port{portsOf(1, false)[0], {Name: "indices", Type: tensor.Int64, Shape: tensor.Shape{26, -1}}}, "expected an input for each table"},
	} {
		if _, err := bindPairs(test.ports, hot); !testenv.Names(err, test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
	}
}
