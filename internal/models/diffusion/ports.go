package diffusion

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/tokenizer/clip"
)

// A portSpec is a port that the pipeline feeds or reads.
type portSpec struct {
	role, name string
	output     bool
	axes       []int // allowed numbers of axes
	types      []tensor.DType
}

var (
	floats   = []tensor.DType{tensor.Float32}
	integers = []tensor.DType{tensor.Int64, tensor.Int32}
	numbers  = []tensor.DType{tensor.Int64, tensor.Int32, tensor.Float32}
)

// portSpecs are all ports of a pipeline.
type portSpecs []portSpec

// sdxlPorts are those of Stable Diffusion XL, with the names that Optimum gives them. hidden_states stands for the states
// before the last layer, which are called hidden_states.N.
func sdxlPorts() portSpecs {
	return portSpecs{
		{textEncoder, "input_ids", false, []int{2}, integers},
		{textEncoder, hiddenStates, true, []int{3}, floats},
		{textEncoder2, "input_ids", false, []int{2}, integers},
		{textEncoder2, hiddenStates, true, []int{3}, floats},
		{textEncoder2, "text_embeds", true, []int{2}, floats},
		{unet, "sample", false, []int{4}, floats},
		{unet, "timestep", false, []int{0, 1}, numbers},
		{unet, "encoder_hidden_states", false, []int{3}, floats},
		{unet, "text_embeds", false, []int{2}, floats},
		{unet, "time_ids", false, []int{2}, floats},
		{unet, "out_sample", true, []int{4}, floats},
		{vaeDecoder, "latent_sample", false, []int{4}, floats},
		{vaeDecoder, "sample", true, []int{4}, floats},
	}
}

const hiddenStates = "hidden_states"

// keys are the names of ports in options: role.name.
func (all portSpecs) keys() (names []string) {
	for _, w := range all {
		names = append(names, w.role+"."+w.name)
	}
	return names
}

// ports are the ports of a pipeline's files, by role.name.
type ports map[string]foundPort

type foundPort struct {
	backend.Port
	output bool
}

// find finds all ports. Its error names each port that is missing, of another type or shape, or unknown.
func (all portSpecs) find(files map[string]workload.Ports, own map[string]string) (ports, error) {
	found := ports{}
	var errs []error
	var roles []string
	for _, w := range all {
		if !slices.Contains(roles, w.role) {
			roles = append(roles, w.role)
		}
		list := files[w.role].Inputs
		if w.output {
			list = files[w.role].Outputs
		}
		name := own[w.role+"."+w.name]
		if name == "" {
			name = w.defaultName(list)
		}
		port, ok := workload.PortNamed(list, name)
		if !ok {
			errs = append(errs, fmt.Errorf("the model's %s has no %s %q, it has %s", w.role, w.side(), name, workload.DescribePorts(list)))
			continue
		}
		if err := w.check(port); err != nil {
			errs = append(errs, err)
		}
		found[w.role+"."+w.name] = foundPort{port, w.output}
	}
	for _, role := range roles { // inputs that the pipeline does not know
		for _, in := range files[role].Inputs {
			if found.key(role, in.Name, false) == "" {
				errs = append(errs, fmt.Errorf("the model's %s has an unknown input %s", role, in.Name))
			}
		}
	}
	return found, errors.Join(errs...)
}

// parse reads names of ports that are not the usual ones: role.usual=own, separated by commas.
func (all portSpecs) parse(text string) (map[string]string, error) {
	names := map[string]string{}
	if text == "" {
		return names, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		of, own, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok || own == "" {
			return nil, fmt.Errorf("%q: must be role.name=own", part)
		}
		if !slices.Contains(all.keys(), of) {
			return nil, fmt.Errorf("%q is not one of %s", of, strings.Join(all.keys(), ", "))
		}
		names[of] = own
	}
	return names, nil
}

// outputs are the names of the outputs of a role that the pipeline reads, in order.
func (all portSpecs) outputs(found ports, role string) (names []string) {
	for _, want := range all {
		if want.role == role && want.output {
			names = append(names, found[want.role+"."+want.name].Name)
		}
	}
	return names
}

// key is role.name of a port; empty: unknown.
func (p ports) key(role, own string, output bool) string {
	for usual, port := range p {
		if port.output == output && port.Name == own && strings.HasPrefix(usual, role+".") {
			return usual
		}
	}
	return ""
}

func (w portSpec) side() string {
	if w.output {
		return "output"
	}
	return "input"
}

// defaultName is the name of a port unless an option says otherwise: of hidden states the last but one.
func (w portSpec) defaultName(list []backend.Port) string {
	if w.name != hiddenStates || !w.output {
		return w.name
	}
	var numbers []int
	for _, port := range list {
		if text, ok := strings.CutPrefix(port.Name, hiddenStates+"."); ok {
			if n, err := strconv.Atoi(text); err == nil {
				numbers = append(numbers, n)
			}
		}
	}
	if len(numbers) < 2 {
		return hiddenStates + ".N"
	}
	slices.Sort(numbers)
	return fmt.Sprintf("%s.%d", hiddenStates, numbers[len(numbers)-2])
}

func (w portSpec) check(p backend.Port) error {
	if p.AnyShape || !slices.Contains(w.axes, len(p.Shape)) {
		return fmt.Errorf("the model's %s has the %s %s of shape %v, expected %d axes", w.role, w.side(), p.Name, p.Shape, w.axes[len(w.axes)-1])
	}
	if !slices.Contains(w.types, p.Type) {
		return fmt.Errorf("the model's %s has the %s %s of type %v: must be one of %v", w.role, w.side(), p.Name, p.Type, w.types)
	}
	return nil
}

// sizes are those of the tensors that go from file to file.
type sizes struct {
	first, second, pooled int // values of a token of either encoder, and of the whole text
	height, width         int // of latents
	scale                 int // pixels for each latent, along a side
	batch                 int // samples that the UNet takes at once; -1: any number
}

// imageBytes are those of an image.
func (s sizes) imageBytes() int { return s.pixels() * imageChannels }

func (s sizes) pixels() int { return s.height * s.width * s.scale * s.scale }

const (
	imageChannels  = 3
	latentChannels = 4
	defaultScale   = 8
	timeNumbers    = 6
)

// sizesOf reads the sizes from the ports, for latents of a size.
func (p ports) sizesOf(height, width int) (sizes, error) {
	s := sizes{height: height, width: width, scale: defaultScale, batch: -1}
	var errs []error
	known := func(port string, axis int) int {
		n := p[port].Shape[axis]
		if n < 1 {
			errs = append(errs, fmt.Errorf("the model's %s has no known size along axis %d", port, axis))
		}
		return int(n)
	}
	s.first, s.second = known(textEncoder+"."+hiddenStates, 2), known(textEncoder2+"."+hiddenStates, 2)
	s.pooled = known(textEncoder2+".text_embeds", 1)
	if image := p[vaeDecoder+".sample"].Shape; image[2] > 0 && height > 0 {
		s.scale = int(image[2]) / height
	}
	return s, errors.Join(append(errs, p.fit(s), p.batch(&s))...)
}

// fit checks that the files fit each other and the latents.
func (p ports) fit(s sizes) error {
	var errs []error
	fits := func(port string, extents ...int) {
		for axis, n := range extents {
			if have := p[port].Shape[axis]; n >= 0 && have >= 0 && have != int64(n) {
				errs = append(errs, fmt.Errorf("the model's %s is %v: must be %d along axis %d: the files and the latents do not fit each other",
					port, p[port].Shape, n, axis))
			}
		}
	}
	fits(unet+".encoder_hidden_states", -1, clip.Length, s.first+s.second)
	fits(unet+".text_embeds", -1, s.pooled)
	fits(unet+".time_ids", -1, timeNumbers)
	for _, port := range []string{unet + ".sample", unet + ".out_sample"} {
		fits(port, -1, latentChannels, s.height, s.width)
	}
	fits(vaeDecoder+".latent_sample", 1, latentChannels, s.height, s.width)
	fits(vaeDecoder+".sample", 1, imageChannels, s.height*s.scale, s.width*s.scale)
	for _, role := range []string{textEncoder, textEncoder2} {
		fits(role+".input_ids", 1, clip.Length)
	}
	return errors.Join(errs...)
}

// batch reads how many samples the UNet takes at once.
func (p ports) batch(s *sizes) error {
	n := p[unet+".sample"].Shape[0]
	if n < 0 {
		return nil
	}
	if s.batch = int(n) / 2; n%2 != 0 || n == 0 {
		return fmt.Errorf("the model's %s takes %d at once, expected an even number: guidance runs each sample with its caption and without", unet, n)
	}
	return nil
}
