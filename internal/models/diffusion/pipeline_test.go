package diffusion

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/builtin/synth"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
)

// A fakePipeline is a pipeline whose networks compute what a test can follow: the states of a token are its
// number; the UNet says that with a caption an eighth of the latents is noise and nothing
// without; the decoder repeats each latent eight times along both sides.
type fakePipeline struct {
	t      *testing.T
	engine backend.Engine
	setup  workload.Setup
	model  workload.Model

	steps   []int64   // that the UNet was asked for
	context []float32 // that it was given last
	texts   []float32
	times   []float32
	spoil   func(outputs []tensor.Tensor) error // makes the decoder do something wrong
}

const side = 16

func newFakePipeline(t *testing.T, captions int) *fakePipeline {
	t.Helper()
	c := &fakePipeline{t: t, model: stableDiffusionXL()}
	tokens, latents := arch.DiffusionSizes(false)
	dir := t.TempDir()
	c.setup.DatasetDir, c.setup.ModelPath = filepath.Join(dir, "data"), filepath.Join(dir, "model")
	if err := synth.WriteCaptions(t.Context(), c.setup.DatasetDir, synth.CaptionSpec{Seed: 1, Captions: captions, Tokens: tokens, Side: latents}, nil); err != nil {
		t.Fatal(err)
	}
	small := arch.SmallSDXL()
	networks := map[string]arch.Architecture{textEncoder: small.TextEncoder, textEncoder2: small.TextEncoder2, unet: small.UNet, vaeDecoder: small.VAEDecoder}
	for _, role := range roles() {
		m, _, err := networks[role].Build(arch.Options{})
		if err == nil {
			err = os.MkdirAll(filepath.Join(c.setup.ModelPath, role), 0o755)
		}
		if err == nil {
			err = m.WriteFile(t.Context(), filepath.Join(c.setup.ModelPath, role, "model.onnx"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	engine, err := simulated.New(simulated.Config{Answer: c.answer})
	if err != nil {
		t.Fatal(err)
	}
	c.engine = engine
	c.setup.Ports, err = workload.PortsOf(t.Context(), engine, c.files(), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *fakePipeline) files() []workload.File {
	files, err := c.model.FilesOf(c.setup.ModelPath)
	if err != nil {
		c.t.Fatal(err)
	}
	return files
}

// answer is that of all networks, which are told apart by what they are given.
func (c *fakePipeline) answer(inputs, outputs []tensor.Tensor) error {
	switch first := inputs[0]; {
	case first.Type == tensor.Int64:
		for i, out := range outputs {
			values := tensor.Data[float32](out)
			for k := range values {
				at := 1 // the first word stands for the whole text
				if len(out.Shape) == 3 {
					at = k / int(out.Shape[2])
				}
				values[k] = float32(tensor.Data[int64](first)[at]) + float32(i)/2
			}
		}
	case len(inputs) == 5:
		c.steps = append(c.steps, tensor.Data[int64](inputs[1])[0])
		c.context, c.texts, c.times = tensor.Data[float32](inputs[2]), tensor.Data[float32](inputs[3]), tensor.Data[float32](inputs[4])
		noise, latents := tensor.Data[float32](outputs[0]), tensor.Data[float32](first)
		for k, v := range latents {
			noise[k] = 0
			if k >= len(latents)/2 {
				noise[k] = v / guidance
			}
		}
	default:
		image, latents := tensor.Data[float32](outputs[0]), tensor.Data[float32](first)
		for k := range image {
			plane, y, x := k/(128*128), k/128%128, k%128
			image[k] = latents[plane*side*side+y/8*side+x/8] * latentScale
		}
		if c.spoil != nil {
			return c.spoil(outputs)
		}
	}
	return nil
}

func (c *fakePipeline) open() *pipeline {
	c.t.Helper()
	w, err := newPipeline(c.setup)
	if err != nil {
		c.t.Fatal(err)
	}
	return w
}

// album takes images.
type album map[int][]byte

func (album) FirstToken(int, []byte)                 {}
func (a album) Done(ticket int, image []byte, _ int) { a[ticket] = slices.Clone(image) }

// paint has captions painted in batches.
func (c *fakePipeline) images(ctx context.Context, p *pipeline, batch int) (album, error) {
	c.t.Helper()
	return c.allImages(ctx, p.workload(), batch)
}

func (c *fakePipeline) allImages(ctx context.Context, w *workload.Workload, batch int) (album, error) {
	c.t.Helper()
	sessions := workload.Sessions{}
	for _, f := range c.files() {
		s, err := c.engine.Open(c.t.Context(), backend.Options{ModelPath: f.Path, Outputs: w.Outputs(f.Role)})
		if err != nil {
			c.t.Fatal(err)
		}
		defer s.Close()
		sessions[f.Role] = s
	}
	p, err := w.NewPredictor(sessions, batch)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			c.t.Error(err)
		}
	}()
	store, err := workload.NewStore(w.Samples, w.Row)
	if err != nil {
		c.t.Fatal(err)
	}
	defer store.Close()
	if err := p.Predict(ctx, []workload.Item{{}}, album{}); err == nil {
		c.t.Error("images without samples")
	}
	if err := p.Use(store); err != nil {
		c.t.Fatal(err)
	}
	var items []workload.Item
	for i := range w.Samples {
		if err := w.Prepare(i, store.Row(i)); err != nil {
			c.t.Fatal(err)
		}
		items = append(items, workload.Item{Row: i, Index: i, Ticket: 100 + i})
	}
	images := album{}
	for part := range slices.Chunk(items, batch) {
		if err := p.Predict(ctx, part, images); err != nil {
			return images, err
		}
	}
	return images, nil
}

// With guidance 8 all of the latents is noise, so each step has a known part of it left.
func TestImages(t *testing.T) {
	c := newFakePipeline(t, 3)
	w := c.open()
	for _, batch := range []int{1, 2, 3} {
		c.steps = nil
		images, err := c.images(t.Context(), w, batch)
		if err != nil || len(images) != 3 {
			t.Fatalf("batches of %d: %d images, %v", batch, len(images), err)
		}
		var asked []int64
		for _, at := range w.euler.timesteps {
			asked = append(asked, int64(at))
		}
		if got := c.steps[:steps]; !slices.Equal(got, asked) || len(c.steps) != steps*((2+batch)/batch) {
			t.Errorf("batches of %d: %d runs, at the steps %d, want %d", batch, len(c.steps), got, asked)
		}
		left := float64(w.euler.initialNoise())
		for i := range steps {
			left *= 1 + float64(w.euler.sigmas[i+1]-w.euler.sigmas[i])/float64(inputScale(w.euler.sigmas[i]))
		}
		for i := range 3 {
			checkImage(t, fmt.Sprintf("batches of %d: image %d", batch, i), images[100+i], w.latents.Values, left)
		}
	}
}

func checkImage(t *testing.T, name string, image []byte, latents []float32, left float64) {
	t.Helper()
	for k, v := range image {
		pixel, plane := k/3, k%3
		latent := float64(latents[plane*side*side+pixel/128/8*side+pixel%128/8]) * left
		want := min(max(latent/2+0.5, 0), 1) * 255
		if math.Abs(float64(v)-want) > 0.51 {
			t.Fatalf("%s: byte %d is %d, want about %.2f", name, k, v, want)
		}
	}
}

// The negative prompt comes first for all samples, then their captions. A token has the states of the
// first encoder and then those of the second.
func TestUNetInputs(t *testing.T) {
	c := newFakePipeline(t, 2)
	w := c.open()
	if _, err := c.images(t.Context(), w, 2); err != nil {
		t.Fatal(err)
	}
	const width = 32 + 64
	var wanted [4][2][]int64
	for i := range 4 {
		wanted[i] = w.negative
		if i >= 2 {
			for k, tok := range w.tokenizers {
				wanted[i][k] = make([]int64, clip.Length)
				if _, err := tok.Encode(wanted[i][k], w.captions[i-2]); err != nil {
					t.Fatal(err)
				}
			}
		}
		for at := range clip.Length {
			first, second := c.context[(i*clip.Length+at)*width], c.context[(i*clip.Length+at)*width+32]
			if first != float32(wanted[i][0][at]) || second != float32(wanted[i][1][at]) {
				t.Fatalf("text %d, token %d is given as %v and %v, want %d and %d", i, at, first, second, wanted[i][0][at], wanted[i][1][at])
			}
		}
		if whole := c.texts[i*64]; whole != float32(wanted[i][1][1])+0.5 {
			t.Errorf("text %d as a whole is %v, want %d and a half", i, whole, wanted[i][1][1])
		}
		if got := c.times[i*6 : i*6+6]; !slices.Equal(got, []float32{128, 128, 0, 0, 128, 128}) {
			t.Errorf("text %d has the sizes %v", i, got)
		}
	}
	if slices.Equal(wanted[2][0], wanted[2][1]) {
		t.Error("both encoders are filled up alike")
	}
	if notes := strings.Join(w.notes(), "\n"); !strings.Contains(notes, "hidden_states.1") || !strings.Contains(notes, "128×128 in 20 Euler steps") {
		t.Errorf("notes %q", notes)
	}
}

func TestPredictErrors(t *testing.T) {
	c := newFakePipeline(t, 2)
	w := c.open()
	runs := 0
	c.spoil = func(outputs []tensor.Tensor) error {
		if runs++; runs == 2 {
			tensor.Data[float32](outputs[0])[128*128+5] = float32(math.NaN())
		}
		return nil
	}
	if images, err := c.images(t.Context(), w, 2); !testenv.Names(err, "sample 1 … not a number … pixel 5 … plane 1") || len(images) != 1 {
		t.Errorf("%d images, %v", len(images), err)
	}
	broken := errors.New("out of memory")
	c.spoil = func([]tensor.Tensor) error { return broken }
	if _, err := c.images(t.Context(), w, 1); !errors.Is(err, broken) || !strings.Contains(err.Error(), "sample 0") {
		t.Errorf("an error of the engine: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(broken)
	if images, err := c.images(ctx, w, 1); !errors.Is(err, broken) || len(images) != 0 {
		t.Errorf("a run that was stopped: %d images, %v", len(images), err)
	}
}

func TestPixelsRoundToEven(t *testing.T) {
	half := func(n float64) float32 { return float32(2*n/255 - 1) }
	got := make([]byte, 6)
	if err := toBytes(got, []float32{half(2.4), half(2.6), -3, 3, 0, half(254.7)}); err != nil {
		t.Fatal(err)
	}
	if want := []byte{2, 0, 128, 3, 255, 255}; !slices.Equal(got, want) { // planes become pixels; 127.5 is rounded to 128
		t.Errorf("pixels %d, want %d", got, want)
	}
}

// change changes the ports of a role.
func (c *fakePipeline) change(role string, output bool, name string, f func(*backend.Port)) {
	p := c.setup.Ports[role]
	list := &p.Inputs
	if output {
		list = &p.Outputs
	}
	*list = slices.Clone(*list)
	for i := range *list {
		if (*list)[i].Name == name {
			f(&(*list)[i])
		}
	}
	c.setup.Ports[role] = p
}

func TestOpenErrors(t *testing.T) {
	c := newFakePipeline(t, 2)
	good := c.setup.Ports
	rename := func(to string) func(*backend.Port) { return func(p *backend.Port) { p.Name = to } }
	shape := func(s ...int64) func(*backend.Port) { return func(p *backend.Port) { p.Shape = s } }
	for _, test := range []struct {
		name, role string
		output     bool
		port       string
		f          func(*backend.Port)
		want       string
	}{
		{"a UNet with another input", unet, false, "text_embeds", rename("class_labels"), `the model's unet has no input "text_embeds", it has`},
		{"an unknown input", unet, false, "time_ids", func(p *backend.Port) { p.Name = "guidance" }, "the model's unet has an unknown input guidance"},
		{"half precision", unet, false, "sample", func(p *backend.Port) { p.Type = tensor.Float16 }, "sample … float16 … [float32]"},
		{"too few axes", vaeDecoder, true, "sample", shape(1, 3), "sample … [1 3] … 4"},
		{"any shape", vaeDecoder, true, "sample", func(p *backend.Port) { p.AnyShape = true }, "4 axes"},
		{"no hidden states", textEncoder, true, "hidden_states.1", rename("x"), ""},
		{"states of another width", unet, false, "encoder_hidden_states", shape(-1, 77, 2048), "unet.encoder_hidden_states … [? 77 2048] … 96 … axis 2"},
		{"a text of another width", unet, false, "text_embeds", shape(-1, 1280), "unet.text_embeds … [? 1280] … 64 … axis 1"},
		{"latents of another size", unet, false, "sample", shape(-1, 4, 128, 128), "unet.sample … [? 4 128 128] … 16 … axis 2"},
		{"nine channels, as for inpainting", unet, false, "sample", shape(-1, 9, 16, 16), "4 … axis 1"},
		{"one at a time", unet, false, "sample", shape(1, 4, 16, 16), "1 … even"},
		{"shorter captions", textEncoder2, false, "input_ids", shape(-1, 64), "text_encoder_2.input_ids … [? 64] … 77 … axis 1"},
		{"an unknown width", textEncoder, true, "hidden_states.1", shape(-1, 77, -1), "text_encoder.hidden_states … axis 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.setup.Ports = map[string]workload.Ports{}
			for role, p := range good {
				c.setup.Ports[role] = p
			}
			c.change(test.role, test.output, test.port, test.f)
			if _, err := stableDiffusionXL().Open(c.setup); test.want != "" && !testenv.Names(err, test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
	c.setup.Ports = map[string]workload.Ports{}
	for role, p := range good {
		c.setup.Ports[role] = p
	}
	c.change(unet, false, "sample", func(p *backend.Port) { p.Name, p.Shape = "x", tensor.Shape{6, 4, -1, -1} })
	c.change(unet, false, "timestep", func(p *backend.Port) { p.Type, p.Shape = tensor.Float32, nil })
	c.setup.Options = workload.Values{portsOption: "unet.sample=x, text_encoder.hidden_states=hidden_states.2"}
	w, err := stableDiffusionXL().Open(c.setup)
	if err != nil || w.Batch != 3 || !slices.Equal(w.Outputs(textEncoder), []string{"hidden_states.2"}) {
		t.Errorf("ports that an option names: %v", err)
	}
}

func TestFilesBesideModel(t *testing.T) {
	c := newFakePipeline(t, 2)
	for name, change := range map[string]struct {
		f    func()
		want string
	}{
		"another scheduler": {func() { c.write("scheduler/scheduler_config.json", `{"_class_name":"DDIMScheduler"}`) }, `scheduler_config.json: _class_name is "DDIMScheduler"`},
		"the model's own tokenizers, of which one is missing": {func() {
			_ = os.Remove(filepath.Join(c.setup.ModelPath, "scheduler", "scheduler_config.json"))
			c.write("tokenizer/vocab.json", "{}")
		}, "merges.txt"},
		"tokenizers that an option names": {func() { c.setup.Options = workload.Values{tokenizerOption: t.TempDir()} }, "vocab.json"},
		"an option that is none":          {func() { c.setup.Options = workload.Values{portsOption: "unet.latents=x"} }, "pipeline-ports: \"unet.latents\" is not one of text_encoder.input_ids"},
		"an option without a name":        {func() { c.setup.Options = workload.Values{portsOption: "unet.sample"} }, "must be role.name=own"},
		"no captions":                     {func() { c.setup.Options, c.setup.DatasetDir = nil, t.TempDir() }, "opening the captions"},
	} {
		saved := c.setup
		change.f()
		if _, err := stableDiffusionXL().Open(c.setup); !testenv.Names(err, change.want) {
			t.Errorf("%s: %v, want %q", name, err, change.want)
		}
		c.setup = saved
		_ = os.RemoveAll(filepath.Join(c.setup.ModelPath, "tokenizer"))
		_ = os.RemoveAll(filepath.Join(c.setup.ModelPath, "scheduler"))
	}
	if err := os.RemoveAll(filepath.Join(c.setup.DatasetDir, "latents")); err != nil {
		t.Fatal(err)
	}
	if _, err := stableDiffusionXL().Open(c.setup); err == nil || !strings.Contains(err.Error(), "reading the latents") {
		t.Errorf("no latents: %v", err)
	}
}

// write writes a file beside the model.
func (c *fakePipeline) write(name, content string) {
	c.t.Helper()
	path := filepath.Join(c.setup.ModelPath, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o644)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func TestPipelineFiles(t *testing.T) {
	dir := t.TempDir()
	if _, err := pipelineFiles(roles())(dir); err == nil || !strings.Contains(err.Error(), "the model's unet") || !strings.Contains(err.Error(), filepath.Join("vae_decoder", "model.onnx")) {
		t.Errorf("an empty folder: %v", err)
	}
	for i, role := range roles() {
		path := filepath.Join(dir, role+".onnx")
		if i == 2 {
			path = filepath.Join(dir, role, "model.onnx")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	files, err := pipelineFiles(roles())(dir)
	if err != nil || len(files) != 4 || files[2].Path != filepath.Join(dir, "unet", "model.onnx") || files[3].Path != filepath.Join(dir, "vae_decoder.onnx") {
		t.Errorf("files %v, %v", files, err)
	}
	for _, path := range []string{files[0].Path, filepath.Join(dir, "none")} {
		if _, err := pipelineFiles(roles())(path); err == nil {
			t.Errorf("%s is a folder of files", path)
		}
	}
}

func FuzzPortNames(f *testing.F) {
	f.Add("unet.sample=x, text_encoder.hidden_states=hidden_states.2")
	f.Fuzz(func(t *testing.T, text string) {
		names, err := sdxlPorts().parse(text)
		for usual, own := range names {
			if err == nil && (own == "" || !slices.Contains(sdxlPorts().keys(), usual)) {
				t.Errorf("%q names %q %q", text, usual, own)
			}
		}
	})
}
