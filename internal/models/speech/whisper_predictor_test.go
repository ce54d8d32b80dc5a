package speech

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/decode"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/preprocess/audio"
	"github.com/mlperf-go/mlperf/internal/tensor"
)

// A scriptedWhisper writes, of the n-th recording that it hears, the n-th of its texts.
type scriptedWhisper struct {
	texts [][]int64 // tokens
	heard int
	fails map[string]error // by role
	runs  int
	ran   func(role string) // called for each run; nil: none
}

type scriptedFile struct {
	of   *scriptedWhisper
	role string
}

const scriptedRows = 12

func (f *scriptedFile) Bind(t tensor.Tensor) (backend.Value, error) { return scriptedValue{t}, nil }
func (f *scriptedFile) Close() error                                { return nil }

type scriptedValue struct{ t tensor.Tensor }

func (v scriptedValue) Tensor() tensor.Tensor { return v.t }
func (scriptedValue) Close() error            { return nil }

func (f *scriptedFile) Info() backend.Info {
	p := func(name string, t tensor.DType, shape ...int64) backend.Port {
		return backend.Port{Name: name, Type: t, Shape: shape}
	}
	cache := func(kind, of string, length int64) (list []backend.Port) {
		for _, kv := range []string{"key", "value"} {
			list = append(list, p(fmt.Sprintf("%s.0.%s.%s", kind, of, kv), tensor.Float32, -1, 1, length, 1))
		}
		return list
	}
	switch f.role {
	case decode.EncoderRole:
		return backend.Info{Inputs: []backend.Port{p("input_features", tensor.Float32, -1, whisperBands, audio.WhisperFrames)}, Outputs: []backend.Port{p("last_hidden_state", tensor.Float32, -1, 2, 1)}}
	case decode.FirstRole:
		return backend.Info{
			Inputs:  []backend.Port{p("input_ids", tensor.Int64, -1, -1), p("encoder_hidden_states", tensor.Float32, -1, 2, 1)},
			Outputs: append(append([]backend.Port{p("logits", tensor.Float32, -1, -1, scriptedRows)}, cache("present", "decoder", -1)...), cache("present", "encoder", 2)...),
		}
	}
	return backend.Info{
		Inputs:  append(append([]backend.Port{p("input_ids", tensor.Int64, -1, 1)}, cache("past_key_values", "decoder", -1)...), cache("past_key_values", "encoder", 2)...),
		Outputs: append([]backend.Port{p("logits", tensor.Float32, -1, 1, scriptedRows)}, cache("present", "decoder", -1)...),
	}
}

func (f *scriptedFile) Run(ctx context.Context, in, out []backend.Value) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.of.runs++; f.of.ran != nil {
		f.of.ran(f.role)
	}
	if err := f.of.fails[f.role]; err != nil {
		return err
	}
	first := tensor.Data[float32](out[0].Tensor())
	if f.role == decode.EncoderRole {
		first[0] = float32(f.of.heard)
		f.of.heard++
		return nil
	}
	ids := in[0].Tensor()
	rows, n := int(ids.Shape[0]), int(ids.Shape[1])
	clear(first)
	for row := range rows {
		var text, place int
		if f.role == decode.FirstRole {
			text = int(tensor.Data[float32](in[1].Tensor())[2*row])
			tensor.Data[float32](out[3].Tensor())[2*row] = float32(text) // present.0.encoder.key
		} else {
			text = int(tensor.Data[float32](in[3].Tensor())[2*row])
			place = int(in[1].Tensor().Shape[2]) - 3
		}
		first[(row*n+n-1)*scriptedRows+int(f.of.texts[text][place])] = 1
	}
	return nil
}

const scriptedTokenizer = `{"added_tokens": [
	{"id": 0, "content": "<|endoftext|>", "special": true}, {"id": 1, "content": "<|startoftranscript|>", "special": true}, {"id": 2, "content": "<|en|>", "special": true},
	{"id": 3, "content": "<|transcribe|>", "special": true}, {"id": 4, "content": "<|notimestamps|>", "special": true}],
	"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [], "vocab": {"ĠThe": 5, "Ġcolour": 6, ",": 7, "Ġé": 8, "Ġ42": 9, "'s": 10}}}`

// openScripted opens a Whisper of texts with as many recordings.
func openScripted(t *testing.T, model *scriptedWhisper, tokenizer string) (*workload.Workload, workload.Sessions, error) {
	t.Helper()
	dir, model0 := t.TempDir(), t.TempDir()
	var entries []string
	for i := range model.texts {
		name := fmt.Sprintf("1-2_%d.wav", i)
		write(t, filepath.Join(dir, name), string(wav(1600+160*i)))
		entries = append(entries, fmt.Sprintf(`{"files": [{"fname": "/somewhere/dev-all-repack/%s", "num_samples": %d, "speed": 1}], "original_duration": 1, "transcript": "the color"}`, name, 1600+160*i))
	}
	write(t, filepath.Join(dir, "dev-all-repack.json"), "["+strings.Join(entries, ",")+"]")
	write(t, filepath.Join(model0, "tokenizer.json"), tokenizer)
	sessions, ports := workload.Sessions{}, map[string]workload.Ports{}
	for _, role := range []string{decode.EncoderRole, decode.FirstRole, decode.NextRole} {
		f := &scriptedFile{model, role}
		sessions[role], ports[role] = f, workload.Ports{Inputs: f.Info().Inputs, Outputs: f.Info().Outputs}
	}
	w, err := whisper().Open(workload.Setup{DatasetDir: dir, ModelPath: model0, Ports: ports})
	return w, sessions, err
}

// written are answers as text, with the number of tokens and the first one.
type written map[int]string

func (w written) FirstToken(ticket int, token []byte) {
	w[ticket] = fmt.Sprintf("%d:", binary.LittleEndian.Uint64(token))
}

func (w written) Done(ticket int, response []byte, tokens int) {
	text := ""
	for ; len(response) > 0; response = response[8:] {
		text += whisperLabels[binary.LittleEndian.Uint64(response):][:1]
	}
	w[ticket] += fmt.Sprintf("%s:%d", text, tokens)
}

func TestWhisperTranscripts(t *testing.T) {
	endless := make([]int64, 300)
	for i := range endless {
		endless[i] = 5
	}
	model := &scriptedWhisper{texts: [][]int64{{5, 6, 7, 9, 0}, {8, 10, 0}, endless, {5, 0}}}
	w, sessions, err := openScripted(t, model, scriptedTokenizer)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.NewPredictor(sessions, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	store, err := workload.NewStore(4, w.Row)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var items []workload.Item
	for i := range 4 {
		if err := w.Prepare(i, store.Row(i)); err != nil {
			t.Fatal(err)
		}
		items = append(items, workload.Item{Row: i, Index: i, Ticket: i})
	}
	if err := p.Use(store); err != nil {
		t.Fatal(err)
	}
	got := written{}
	if err := p.Predict(t.Context(), items, got); err != nil {
		t.Fatal(err)
	}
	want := written{0: "5:the colour 42:5", 1: "8:'s:3", 2: "5:" + strings.TrimSpace(strings.Repeat(" the", 200)) + ":200", 3: "5:the:2"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("first token, text and number of tokens (-want +got):\n%s", diff)
	}
	stopped := errors.New("interrupted by the user")
	for _, role := range []string{decode.EncoderRole, decode.FirstRole, decode.NextRole} {
		ctx, cancel := context.WithCancelCause(t.Context())
		model.runs, model.heard = 0, 0
		last := 0
		model.ran = func(now string) {
			if now == role {
				cancel(stopped)
				last = model.runs
			}
		}
		if err := p.Predict(ctx, items, written{}); !errors.Is(err, stopped) || model.runs != last {
			t.Errorf("stopped in the %s: %v, and %d runs after it", role, err, model.runs-last)
		}
	}
	model.ran = nil
	for role, part := range map[string]string{decode.EncoderRole: "sample 0: no current", decode.FirstRole: "4 recordings, the first of sample 0: no current"} {
		model.fails = map[string]error{role: errors.New("no current")}
		if err := p.Predict(t.Context(), items, written{}); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("a failing %s: %v, want %q", role, err, part)
		}
	}
}

func TestWhisperOpenErrors(t *testing.T) {
	for part, tokenizer := range map[string]string{
		"the tokenizer has no token <|transcribe|>": strings.Replace(scriptedTokenizer, "<|transcribe|>", "<|translate|>", 1),
		"opening the tokenizer":                     "{",
		"they do not belong together":               strings.Replace(scriptedTokenizer, `"'s": 10`, `"'s": 10, "x": 12`, 1),
	} {
		if _, _, err := openScripted(t, &scriptedWhisper{texts: [][]int64{{0}}}, tokenizer); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("error %v, want %q", err, part)
		}
	}
	if _, err := openTokenizer(workload.Setup{DatasetDir: t.TempDir(), ModelPath: t.TempDir()}); err == nil || !strings.Contains(err.Error(), "has a tokenizer.json") {
		t.Errorf("no tokenizer: %v", err)
	}
}

func TestWhisperFiles(t *testing.T) {
	for _, names := range [][3]string{{"encoder.onnx", "decoder.onnx", "decoder_with_past.onnx"}, {"encoder_model.onnx", "decoder_model.onnx", "decoder_with_past_model.onnx"}} {
		dir := t.TempDir()
		for _, name := range names {
			write(t, filepath.Join(dir, name), "")
		}
		files, err := whisperFiles(dir)
		if err != nil || len(files) != 3 {
			t.Fatalf("%v: %v, %v", names, files, err)
		}
		for i, f := range files {
			if filepath.Base(f.Path) != names[i] || f.Role != []string{decode.EncoderRole, decode.FirstRole, decode.NextRole}[i] {
				t.Errorf("file %d of %v is %+v", i, names, f)
			}
		}
		if err := os.Remove(files[2].Path); err != nil {
			t.Fatal(err)
		}
		if _, err := whisperFiles(dir); err == nil || !strings.Contains(err.Error(), "decoder_with_past") {
			t.Errorf("without a file: %v", err)
		}
	}
}
