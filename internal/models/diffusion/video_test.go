package diffusion

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/jpeg"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/fileio/mp4"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A fakeStudio is a video pipeline whose networks compute what a test can follow: the states of a token are its number; the experts
// say that the speed is the latents by a factor of their own with a prompt, and nothing without; the decoder repeats the first channel
// of the latents.
type fakeStudio struct {
	t        *testing.T
	setup    workload.Setup
	w        *videoPipeline
	sessions workload.Sessions

	steps    map[string][]int64 // that each expert was asked for
	contexts [][]float32        // that experts were given
	spoiled  bool               // the decoder makes a pixel that is not a number
}

// factors are those of the experts.
var factors = map[string]float32{transformer: 0.1, transformer2: -0.2}

func newFakeStudio(t *testing.T, prompts int) *fakeStudio {
	t.Helper()
	c := &fakeStudio{t: t, sessions: workload.Sessions{}, steps: map[string][]int64{}}
	dir := t.TempDir()
	c.setup = workload.Setup{DatasetDir: filepath.Join(dir, "data"), ModelPath: filepath.Join(dir, "model"), Options: workload.Values{}}
	spec := synth.VBenchSpec{Seed: 1, Prompts: prompts, Tokens: arch.VideoTokens()}
	for _, n := range arch.VideoLatents(false) {
		spec.Latents = append(spec.Latents, int(n))
	}
	testenv.Must(t, synth.WriteVBench(t.Context(), c.setup.DatasetDir, spec))
	small := arch.SmallWan()
	networks := map[string]arch.Architecture{textEncoder: small.TextEncoder, transformer: small.Transformer, transformer2: small.Transformer2, vaeDecoder: small.VAEDecoder}
	testenv.Must(t, os.MkdirAll(c.setup.ModelPath, 0o755))
	var files []workload.File
	for role, a := range networks {
		m, _, err := a.Build(arch.Options{})
		testenv.Must(t, err)
		path := filepath.Join(c.setup.ModelPath, role+".onnx")
		testenv.Must(t, m.WriteFile(t.Context(), path))
		files = append(files, workload.File{Role: role, Path: path})
	}
	engine, err := simulated.New(simulated.Config{})
	testenv.Must(t, err)
	c.setup.Ports, err = workload.PortsOf(t.Context(), engine, files, backend.Options{})
	testenv.Must(t, err)
	for _, f := range files {
		engine, err := simulated.New(simulated.Config{Answer: func(inputs, outputs []tensor.Tensor) error { return c.answer(f.Role, inputs, outputs) }})
		testenv.Must(t, err)
		c.sessions[f.Role], err = engine.Open(t.Context(), backend.Options{ModelPath: f.Path})
		testenv.Must(t, err)
	}
	return c
}

func (c *fakeStudio) answer(role string, inputs, outputs []tensor.Tensor) error {
	out := tensor.Data[float32](outputs[0])
	switch role {
	case textEncoder:
		for i := range out {
			out[i] = float32(tensor.Data[int64](inputs[0])[i/64]) + 1 // also behind the text
		}
	case vaeDecoder:
		latents := tensor.Data[float32](inputs[0])
		for i := range out {
			x, y, frame := i%256/8, i/256%144/8, i/256/144%9
			out[i] = latents[(frame+3)/4*18*32+y*32+x]
		}
		if c.spoiled {
			out[7] -= out[7]
			out[7] /= out[7]
		}
	default:
		c.steps[role] = append(c.steps[role], tensor.Data[int64](inputs[1])...)
		c.contexts = append(c.contexts, slices.Clone(tensor.Data[float32](inputs[2])))
		latents := tensor.Data[float32](inputs[0])
		clear(out[:len(out)/2])
		for i := len(out) / 2; i < len(out); i++ {
			out[i] = factors[role] * latents[i]
		}
	}
	return nil
}

// films has all prompts filmed in batches.
func (c *fakeStudio) films(batch int) (album, error) {
	c.t.Helper()
	var err error
	if c.w, err = newVideoPipeline(c.setup); err != nil {
		return nil, err
	}
	w := c.w.workload()
	store, err := workload.NewStore(w.Samples, w.Row)
	testenv.Must(c.t, err)
	defer store.Close()
	p, err := w.NewPredictor(c.sessions, batch)
	testenv.Must(c.t, err)
	defer p.Close()
	testenv.Must(c.t, p.Use(store))
	var items []workload.Item
	for i := range w.Samples {
		testenv.Must(c.t, w.Prepare(i, store.Row(i)))
		items = append(items, workload.Item{Row: i, Index: i, Ticket: i})
	}
	got := album{}
	for part := range slices.Chunk(items, batch) {
		if err := p.Predict(c.t.Context(), part, got); err != nil {
			return nil, err
		}
	}
	return got, nil
}

// frames are the JPEG images of a video, which lie one after the other.
func frames(t *testing.T, video []byte) (list [][]byte) {
	t.Helper()
	if !mp4.Is(video) {
		t.Fatalf("%.20q is not a video", video)
	}
	for at := bytes.Index(video, []byte{0xff, 0xd8, 0xff}); at >= 0 && at < len(video); {
		end := at + bytes.Index(video[at:], []byte{0xff, 0xd9}) + 2
		list = append(list, video[at:end])
		if !bytes.HasPrefix(video[end:], []byte{0xff, 0xd8, 0xff}) {
			break
		}
		at = end
	}
	return list
}

// Of the 20 steps the first six are those of the high-noise expert at shift 3. Guidance of either, and what the steps make of it, end
// in the video.
func TestExpertsTakeTurns(t *testing.T) {
	c := newFakeStudio(t, 3)
	for batch, shift := range map[int]string{1: "", 2: "12", 3: "5"} {
		c.steps, c.contexts = map[string][]int64{}, nil
		if delete(c.setup.Options, shiftOption); shift != "" {
			c.setup.Options[shiftOption] = shift
		}
		got, err := c.films(batch)
		if err != nil {
			t.Fatal(err)
		}
		high := map[string]int{"": 6, "5": 9, "12": 13}[shift]
		calls := (3 + batch - 1) / batch
		if n, low := len(c.steps[transformer]), len(c.steps[transformer2]); n != 2*3*high || low != 2*3*(20-high) || len(c.contexts) != 20*calls {
			t.Errorf("batches of %d: %d and %d steps in %d calls, want %d and %d in %d", batch, n, low, len(c.contexts), 2*3*high, 2*3*(20-high), 20*calls)
		}
		for role, list := range c.steps {
			for _, step := range list {
				if (step >= 875) != (role == transformer) {
					t.Errorf("%s was asked for step %d", role, step)
				}
			}
		}
		// The same with a single number: all that networks do is linear.
		s := officialFlow()
		s.Shift = c.w.schedule.Shift
		u, _ := newUniPC(s, steps)
		x, state := []float32{1}, newUniPCState(1)
		for step, at := range u.timesteps {
			role, g := expertOf(float64(at), s.Trained)
			if want := map[string]float32{transformer: 4, transformer2: 3}[role]; g != want {
				t.Errorf("guidance of %s is %v, want %v", role, g, want)
			}
			u.step(state, x, []float32{g * factors[role] * x[0]}, step)
		}
		for i := range 3 {
			images := frames(t, got[i])
			if len(images) != 9 {
				t.Fatalf("%d frames, want 9", len(images))
			}
			image, err := jpeg.Decode(bytes.NewReader(images[8]))
			testenv.Must(t, err)
			noise := c.w.noise.Values[2*18*32+3*32+5] // the last latent frame, row 3, column 5
			want := min(max((noise*x[0]*latentStd[0]+latentMean[0])*0.5+0.5, 0), 1) * 255
			r, _, _, _ := image.At(8*5+4, 8*3+4).RGBA()
			if got := float32(r >> 8); got < want-4 || got > want+4 {
				t.Errorf("batches of %d, sample %d: a pixel is %v, want %v", batch, i, got, want)
			}
		}
	}
}

// States are those of the prompt, without it those of the negative prompt, and 0 behind either.
func TestStatesBehindPromptsAreZero(t *testing.T) {
	c := newFakeStudio(t, 2)
	if _, err := c.films(2); err != nil {
		t.Fatal(err)
	}
	for i, prompt := range []string{c.w.prompts[0], c.w.prompts[1]} {
		ids := make([]int64, arch.WanTextLength)
		mask := make([]int64, arch.WanTextLength)
		testenv.Must(t, c.w.encode(videoText{ids, mask}, prompt))
		for k, is := range mask {
			for half, text := range [][2][]int64{{c.w.negative.ids, c.w.negative.mask}, {ids, mask}} {
				want := float32(0)
				if text[1][k] == 1 {
					want = float32(text[0][k]) + 1
				}
				if got := c.contexts[0][((half*2+i)*arch.WanTextLength+k)*64+63]; got != want {
					t.Fatalf("prompt %d, half %d, token %d (%d): the state is %v, want %v", i, half, k, is, got, want)
				}
			}
		}
	}
	long := videoText{make([]int64, arch.WanTextLength), make([]int64, arch.WanTextLength)}
	testenv.Must(t, c.w.encode(long, strings.Repeat(c.w.prompts[1]+" ", 300)))
	if long.ids[arch.WanTextLength-1] != 1 || long.mask[arch.WanTextLength-1] != 1 {
		t.Errorf("a long prompt ends with token %d, want 1, </s>", long.ids[arch.WanTextLength-1])
	}
	short := videoText{make([]int64, arch.WanTextLength), make([]int64, arch.WanTextLength)}
	testenv.Must(t, c.w.encode(short, "x &amp;amp; \n  y"))
	testenv.Must(t, c.w.encode(long, "x & y"))
	if !slices.Equal(short.ids, long.ids) {
		t.Errorf("prompts are not cleaned: %v, want %v", short.ids[:8], long.ids[:8])
	}
}

func TestVideosOfNoNumbers(t *testing.T) {
	c := newFakeStudio(t, 1)
	c.spoiled = true
	if _, err := c.films(1); !testenv.Names(err, "sample 0 … frame 0 … pixel 7 … plane 0") {
		t.Errorf("%v", err)
	}
}

func TestVideoPipelineErrors(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *workload.Setup)
		want   string
	}{
		"a shift of 0":   {func(s *workload.Setup) { s.Options[shiftOption] = "0" }, "flow-shift … 0 … 100"},
		"a shift of x":   {func(s *workload.Setup) { s.Options[shiftOption] = "x" }, "flow-shift … x"},
		"no tokenizer":   {func(s *workload.Setup) { testenv.Must(t, os.Remove(filepath.Join(s.DatasetDir, "tokenizer.json"))) }, "tokenizer … tokenizer.json"},
		"unknown ports":  {func(s *workload.Setup) { s.Options[portsOption] = "unet.sample=x" }, "unet.sample … transformer.hidden_states"},
		"another port":   {func(s *workload.Setup) { s.Options[portsOption] = "transformer_2.timestep=t" }, `transformer_2 … "t" … timestep`},
		"missing noise":  {func(s *workload.Setup) { s.Options[noiseOption] = "nowhere.pt" }, "nowhere.pt"},
		"too few":        {func(s *workload.Setup) { s.Count = 9 }, "2 … 9"},
		"another expert": {func(s *workload.Setup) { s.Ports[transformer2].Outputs[0].Shape[3] = 5 }, "transformer_2.out_hidden_states … 18 … axis 3"},
		"odd batches": {func(s *workload.Setup) {
			for _, role := range []string{transformer, transformer2} {
				s.Ports[role].Inputs[0].Shape[0] = 3
			}
		}, "transformer … 3 … even"},
		"another schedule": {func(s *workload.Setup) {
			testenv.Tree(t, s.ModelPath, map[string]string{"scheduler/scheduler_config.json": `{"solver_order": 3}`})
		}, "scheduler_config.json … solver_order … 3 … 2"},
	} {
		t.Run(name, func(t *testing.T) {
			studio := newFakeStudio(t, 2)
			c.change(&studio.setup)
			if _, err := newVideoPipeline(studio.setup); !testenv.Names(err, c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// The score of a log is that of VBench's results; without them the videos are written, and there is none.
func TestScoreOfVideos(t *testing.T) {
	dir := t.TempDir()
	var prompts []string
	for i := range 140 {
		prompts = append(prompts, fmt.Sprintf("prompt %d/%d", i, i))
	}
	testenv.Tree(t, dir, map[string]string{"vbench_prompts.txt": strings.Join(prompts, "\n"), "there.mp4": "\x00\x00\x00\x08ftyp there"})
	var log bytes.Buffer
	for i, response := range map[int]string{0: "\x00\x00\x00\x08ftyp 0", 130: "\x00\x00\x00\x08ftyp 130", 12: filepath.Join(dir, "there.mp4"), 139: "/nowhere/139.mp4", 9: "\x00\x00\x00\x08ftyp 9"} {
		fmt.Fprintf(&log, "%c{\"qsl_idx\":%d,\"data\":\"%X\"}\n", "[,"[min(log.Len(), 1)], i, response)
	}
	log.WriteString("]")
	score := func(options workload.Values, keep string) (*accuracy.Score, error) {
		return scoreVideos(t.Context(), accuracy.Named("log", bytes.NewReader(log.Bytes())), workload.Scoring{DatasetDir: dir, Options: options, Keep: keep})
	}
	run := filepath.Join(dir, "run")
	if _, err := score(nil, run); !strings.Contains(fmt.Sprint(err), workload.ErrScoredElsewhere.Error()) {
		t.Errorf("without results: %v", err)
	}
	var got []string
	list, _ := os.ReadDir(filepath.Join(run, "videos"))
	for _, e := range list {
		got = append(got, e.Name())
	}
	if want := []string{"0.mp4", "12.mp4", "130.mp4", "9.mp4"}; !slices.Equal(got, want) { // the first ten too, since not all of 248 are there
		t.Errorf("videos of a submission: %v, want %v", got, want)
	}
	results := map[string]any{}
	for _, name := range []string{"subject_consistency", "background_consistency", "motion_smoothness", "dynamic_degree", "appearance_style", "scene"} {
		results[name] = []any{0.75, []any{}}
	}
	text, _ := json.Marshal(results)
	testenv.Tree(t, dir, map[string]string{"results.json": string(text)})
	all := filepath.Join(dir, "all")
	s, err := score(workload.Values{vbenchOption: filepath.Join(dir, "results.json"), videosOption: all}, "")
	if err != nil || s.Values[0].Value != 75 || s.Coverage.Scored != 5 || len(s.Warnings) != 2 || !testenv.Tells(s.Warnings[0], "results.json") ||
		!testenv.Tells(s.Warnings[1], "1 … /nowhere/139.mp4") {
		t.Errorf("%+v, %v", s, err)
	}
	if data, err := os.ReadFile(filepath.Join(all, "prompt 12_12-0.mp4")); err != nil || !bytes.HasSuffix(data, []byte("there")) {
		t.Errorf("%q, %v", data, err)
	}
	delete(results, "scene")
	text, _ = json.Marshal(results)
	testenv.Tree(t, dir, map[string]string{"short.json": string(text)})
	for file, want := range map[string]string{"short.json": "vbench-results … short.json … scene", "missing.json": "vbench-results … missing.json"} {
		if _, err := score(workload.Values{vbenchOption: filepath.Join(dir, file)}, ""); !testenv.Names(err, want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// Of 248 prompts the videos are those of both rounds, and no others.
func TestShownVideos(t *testing.T) {
	got := map[int]bool{}
	for _, i := range shownVideos(248) {
		got[i] = true
	}
	want := []int{12, 22, 31, 32, 43, 59, 84, 86, 96, 106, 122, 123, 130, 233, 238}
	if list := slices.Sorted(maps.Keys(got)); !slices.Equal(list, want) {
		t.Errorf("%v, want %v", list, want)
	}
}

// Requests to servers are those of the client of mlcommons/endpoints, byte by byte.
func TestRequestsForVideosEqualTheOfficialClient(t *testing.T) {
	golden := testenv.JSON[[]struct {
		Headers map[string]string
		Body    struct {
			Prompt   string `json:"prompt"`
			Negative string `json:"negative_prompt"`
		}
	}](t, "testdata/requests.json")
	bodies := testenv.JSON[[]struct{ Body json.RawMessage }](t, "testdata/requests.json")
	var lines strings.Builder
	for _, g := range golden {
		line, err := json.Marshal(map[string]string{"prompt": g.Body.Prompt, "negative_prompt": g.Body.Negative})
		testenv.Must(t, err)
		fmt.Fprintf(&lines, "%s\n", line)
	}
	dir := t.TempDir()
	testenv.Tree(t, dir, map[string]string{"wan22_prompts.jsonl": lines.String()})
	w, err := openVideoPrompts(workload.Setup{DatasetDir: dir})
	testenv.Must(t, err)
	for i := range golden {
		got, err := jsonv2.Marshal(w.Prompts.Prompt(i).Video)
		testenv.Must(t, err)
		var want bytes.Buffer
		testenv.Must(t, json.Compact(&want, bodies[i].Body))
		if !bytes.Equal(got, want.Bytes()) || golden[i].Headers["Content-Length"] != fmt.Sprint(len(got)) {
			t.Errorf("request %d is\n%s\nwant\n%s of %s bytes", i, got, want.Bytes(), golden[i].Headers["Content-Length"])
		}
	}
	if len(golden) != 10 {
		t.Errorf("%d requests, want 10", len(golden))
	}

	// Scored answers come as bytes; without a negative prompt in the file it is that of the reference.
	testenv.Tree(t, dir, map[string]string{"vbench_prompts.txt": "a\nb\n"})
	w, err = openVideoPrompts(workload.Setup{DatasetDir: dir, Scored: true, Options: workload.Values{latentPathOption: "/shared/fixed_latent.pt"}})
	testenv.Must(t, err)
	v := w.Prompts.Prompt(1).Video
	if v.Prompt != "b" || v.NegativePrompt != golden[0].Body.Negative || v.LatentPath != "/shared/fixed_latent.pt" || v.ResponseFormat != videoBytes {
		t.Errorf("%+v", v)
	}
}
