package diffusion

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A exportSizes makes files whose ports fit each other, of any sizes.
type exportSizes struct {
	first, second, pooled, height, width, scale int64
	batch                                       int64 // of the UNet; -1: free
}

func port(name string, t tensor.DType, shape ...int64) backend.Port {
	return backend.Port{Name: name, Type: t, Shape: shape}
}

// official is what Optimum exports of Stable Diffusion XL, with axes that are free.
func official() exportSizes {
	return exportSizes{first: 768, second: 1280, pooled: 1280, height: 128, width: 128, scale: 8, batch: -1}
}

func (s exportSizes) files() map[string]workload.Ports {
	f := tensor.Float32
	return map[string]workload.Ports{
		textEncoder: {
			Inputs: []backend.Port{port("input_ids", tensor.Int32, -1, 77)},
			Outputs: []backend.Port{port("last_hidden_state", f, -1, 77, s.first), port("pooler_output", f, -1, s.first), port("hidden_states.0", f, -1, 77, s.first),
				port("hidden_states.11", f, -1, 77, s.first), port("hidden_states.12", f, -1, 77, s.first), port("hidden_states.9", f, -1, 77, s.first)},
		},
		textEncoder2: {
			Inputs:  []backend.Port{port("input_ids", tensor.Int64, -1, -1)},
			Outputs: []backend.Port{port("text_embeds", f, -1, s.pooled), port("hidden_states.31", f, -1, -1, s.second), port("hidden_states.32", f, -1, -1, s.second)},
		},
		unet: {
			Inputs: []backend.Port{port("sample", f, s.batch, 4, s.height, s.width), port("timestep", f), port("encoder_hidden_states", f, s.batch, 77, s.first+s.second),
				port("text_embeds", f, s.batch, s.pooled), port("time_ids", f, s.batch, 6)},
			Outputs: []backend.Port{port("out_sample", f, s.batch, 4, s.height, s.width)},
		},
		vaeDecoder: {
			Inputs:  []backend.Port{port("latent_sample", f, 1, 4, s.height, s.width)},
			Outputs: []backend.Port{port("sample", f, 1, 3, s.height*s.scale, s.width*s.scale)},
		},
	}
}

// sizesOf finds the ports and sizes of files, for latents of the exportSizes's.
func (s exportSizes) sizesOf(files map[string]workload.Ports) (sizes, error) {
	p, err := sdxlPorts().find(files, nil)
	if err != nil {
		return sizes{}, err
	}
	return p.sizesOf(int(s.height), int(s.width))
}

func TestSizes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*exportSizes)
		want   sizes
	}{
		"the official ones":                       {func(*exportSizes) {}, sizes{768, 1280, 1280, 128, 128, 8, -1}},
		"images that are wider than high":         {func(s *exportSizes) { s.width = 192 }, sizes{768, 1280, 1280, 128, 192, 8, -1}},
		"a decoder that makes four pixels of one": {func(s *exportSizes) { s.scale = 4 }, sizes{768, 1280, 1280, 128, 128, 4, -1}},
		"a UNet of one sample":                    {func(s *exportSizes) { s.batch = 2 }, sizes{768, 1280, 1280, 128, 128, 8, 1}},
		"a UNet of eight":                         {func(s *exportSizes) { s.batch = 16 }, sizes{768, 1280, 1280, 128, 128, 8, 8}},
		"encoders of other widths":                {func(s *exportSizes) { s.first, s.second, s.pooled = 7, 5, 3 }, sizes{7, 5, 3, 128, 128, 8, -1}},
	} {
		s := official()
		c.change(&s)
		if got, err := s.sizesOf(s.files()); err != nil || got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
	if got := (sizes{height: 2, width: 3, scale: 8}); got.pixels() != 16*24 || got.imageBytes() != 3*16*24 {
		t.Errorf("an image of 24×16 has %d pixels in %d bytes", got.pixels(), got.imageBytes())
	}
}

func TestDefaultScale(t *testing.T) {
	s := official()
	files := s.files()
	files[vaeDecoder].Outputs[0].Shape = tensor.Shape{-1, 3, -1, -1}
	if got, err := s.sizesOf(files); err != nil || got.scale != defaultScale {
		t.Errorf("%+v, %v, want a scale of %d", got, err, defaultScale)
	}
}

// Guidance runs each sample twice.
func TestUNetBatchIsEven(t *testing.T) {
	for _, batch := range []int64{0, 1, 3, 7} {
		s := official()
		s.batch = batch
		want := fmt.Sprintf("the model's unet takes %d at once, expected an even number", batch)
		if _, err := s.sizesOf(s.files()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d at once: %v, want %q", batch, err, want)
		}
	}
}

// An extent that differs from those of the other files is an error that names the port.
func TestSizesThatDoNotFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		s := exportSizes{first: 1 + r.Int64N(9), second: 1 + r.Int64N(9), pooled: 1 + r.Int64N(9), height: 2 + r.Int64N(9), width: 2 + r.Int64N(9), scale: 2 + r.Int64N(7), batch: -1}
		if _, err := s.sizesOf(s.files()); err != nil {
			t.Fatalf("%+v: %v", s, err)
		}
		for _, c := range []struct {
			role, port string
			output     bool
			axes       []int
		}{
			{unet, "encoder_hidden_states", false, []int{1, 2}}, {unet, "text_embeds", false, []int{1}}, {unet, "time_ids", false, []int{1}},
			{unet, "sample", false, []int{1, 2, 3}}, {unet, "out_sample", true, []int{1, 2, 3}},
			{vaeDecoder, "latent_sample", false, []int{0, 1, 2, 3}}, {vaeDecoder, "sample", true, []int{0, 1, 3}},
			{textEncoder, "input_ids", false, []int{0, 1}}, {textEncoder2, "input_ids", false, []int{0, 1}},
		} {
			for _, axis := range c.axes {
				files := s.files()
				list := files[c.role].Inputs
				if c.output {
					list = files[c.role].Outputs
				}
				i := slices.IndexFunc(list, func(p backend.Port) bool { return p.Name == c.port })
				if list[i].Shape[axis]++; list[i].Shape[axis] <= 1 { // it was free, or the batch
					list[i].Shape[axis] = 5
				}
				want := fmt.Sprintf("the model's %s.%s is %v: must be ", c.role, c.port, list[i].Shape)
				if _, err := s.sizesOf(files); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("along axis %d", axis)) {
					t.Errorf("%+v: axis %d of %s.%s is another one: %v, want %q", s, axis, c.role, c.port, err, want)
				}
			}
		}
	}
}

// The states before the last layer are those with the last number but one, however ports are ordered.
func TestHiddenStatesPort(t *testing.T) {
	w := sdxlPorts()[1]
	for _, c := range []struct {
		ports string
		want  string
	}{
		{"hidden_states.0 hidden_states.1 hidden_states.2", "hidden_states.1"},
		{"hidden_states.9 hidden_states.12 hidden_states.10 hidden_states.11", "hidden_states.11"},
		{"last_hidden_state hidden_states.3 pooled hidden_states.7", "hidden_states.3"},
		{"hidden_states.x hidden_states.4 hidden_states. hidden_states.5 hidden_states", "hidden_states.4"},
		{"hidden_states.4", "hidden_states.N"},
		{"last_hidden_state", "hidden_states.N"},
		{"", "hidden_states.N"},
	} {
		var list []backend.Port
		for name := range strings.FieldsSeq(c.ports) {
			list = append(list, port(name, tensor.Float32, -1, 77, 8))
		}
		if got := w.defaultName(list); got != c.want {
			t.Errorf("of %q %s is taken, want %s", c.ports, got, c.want)
		}
	}
	if got := sdxlPorts()[5].defaultName(nil); got != "sample" {
		t.Errorf("another port is called %s", got)
	}
}

func TestMissingPorts(t *testing.T) {
	_, err := sdxlPorts().find(nil, nil)
	if err == nil {
		t.Fatal("no files are a pipeline")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(sdxlPorts()) {
		t.Fatalf("%d lines for %d ports:\n%v", len(lines), len(sdxlPorts()), err)
	}
	for i, w := range sdxlPorts() {
		side := map[bool]string{false: "input", true: "output"}[w.output]
		if !strings.HasPrefix(lines[i], fmt.Sprintf("the model's %s has no %s %q, it has ", w.role, side, w.defaultName(nil))) {
			t.Errorf("line %d is %q", i, lines[i])
		}
	}
}

func TestPortTypes(t *testing.T) {
	all := []tensor.DType{tensor.Float32, tensor.Float16, tensor.Int64, tensor.Int32, tensor.Uint8}
	for _, c := range []struct {
		role, port string
		good       []tensor.DType
	}{
		{textEncoder, "input_ids", integers}, {textEncoder2, "input_ids", integers}, {unet, "timestep", numbers},
		{unet, "sample", floats}, {unet, "time_ids", floats}, {unet, "text_embeds", floats}, {vaeDecoder, "latent_sample", floats},
	} {
		for _, d := range all {
			files := official().files()
			for i := range files[c.role].Inputs {
				if p := &files[c.role].Inputs[i]; p.Name == c.port {
					p.Type = d
				}
			}
			_, err := sdxlPorts().find(files, nil)
			want := fmt.Sprintf("%s … %s … %v … %v", c.role, c.port, d, c.good)
			if good := slices.Contains(c.good, d); good != (err == nil) || err != nil && !testenv.Names(err, want) {
				t.Errorf("%s.%s of %v: %v, want it taken: %t", c.role, c.port, d, err, good)
			}
		}
	}
}

func TestTimestepShape(t *testing.T) {
	for _, c := range []struct {
		shape tensor.Shape
		good  bool
	}{{nil, true}, {tensor.Shape{1}, true}, {tensor.Shape{-1}, true}, {tensor.Shape{1, 1}, false}} {
		files := official().files()
		files[unet].Inputs[1].Shape = c.shape
		if _, err := sdxlPorts().find(files, nil); (err == nil) != c.good {
			t.Errorf("of shape %v: %v, want it taken: %t", c.shape, err, c.good)
		}
	}
}

func TestParsePorts(t *testing.T) {
	for text, want := range map[string]map[string]string{
		"":              {},
		"unet.sample=x": {"unet.sample": "x"},
		" unet.sample=x , vae_decoder.sample=image": {"unet.sample": "x", "vae_decoder.sample": "image"},
		"unet.timestep=a=b":                         {"unet.timestep": "a=b"},
		"text_encoder.hidden_states=penultimate":    {"text_encoder.hidden_states": "penultimate"},
	} {
		if got, err := sdxlPorts().parse(text); err != nil || !maps.Equal(got, want) {
			t.Errorf("%q names %v, %v, want %v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"unet.sample":            `"unet.sample": must be role.name=own`,
		"unet.sample=":           `"unet.sample=": must be role.name=own`,
		"unet.sample=x,":         `"": must be role.name=own`,
		"=x":                     `"" is not one of text_encoder.input_ids, `,
		"unet.latent=x":          `"unet.latent" is not one of `,
		"UNET.sample=x":          `"UNET.sample" is not one of `,
		"unet.sample=x,sample=y": `"sample" is not one of `,
	} {
		if got, err := sdxlPorts().parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q names %v, %v, want an error with %q", text, got, err, want)
		}
	}
}

// A port that an option names takes the place of the usual one, which may then be missing.
func TestNamedPorts(t *testing.T) {
	files := official().files()
	files[unet].Inputs[0].Name, files[vaeDecoder].Outputs[0].Name = "latents", "image"
	own := map[string]string{"unet.sample": "latents", "vae_decoder.sample": "image", "text_encoder.hidden_states": "last_hidden_state"}
	p, err := sdxlPorts().find(files, own)
	if err != nil {
		t.Fatal(err)
	}
	for usual, want := range own {
		if got := p[usual].Name; got != want {
			t.Errorf("%s is %s, want %s", usual, got, want)
		}
	}
	if got := p.key(unet, "latents", false); got != "unet.sample" {
		t.Errorf("the input latents stands for %q", got)
	}
	for _, c := range []struct {
		role, own string
		output    bool
	}{{unet, "latents", true}, {vaeDecoder, "latents", false}, {unet, "sample", false}, {"none", "image", true}} {
		if got := p.key(c.role, c.own, c.output); got != "" {
			t.Errorf("%s of %s, as an output: %t, stands for %q", c.own, c.role, c.output, got)
		}
	}
	own["unet.sample"] = "nowhere"
	if _, err := sdxlPorts().find(files, own); err == nil || !strings.Contains(err.Error(), `the model's unet has no input "nowhere", it has `) || !strings.Contains(err.Error(), "has an unknown input latents") {
		t.Errorf("a name that no port has: %v", err)
	}
}
