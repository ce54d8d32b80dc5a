package arch

import (
	"fmt"
	"math"

	"github.com/mlperf-go/mlperf/internal/onnx"
)

// PaintingClasses is how many classes the segmentation of PointPainting tells apart.
const PaintingClasses = 19

// PaintingSegmentation is the first of the two files of PointPainting (Vora et al., arXiv:1911.10150): DeepLab v3+ on ResNet-50, with an
// output of a 16th of the picture inside (automotive/3d-object-detection, model/segmentation). The picture has any size; the output has the
// scores of each pixel. The official file, deeplabv3+.onnx, is for members of MLCommons: the names are ours.
func PaintingSegmentation() Architecture {
	free := func(channels int64) onnx.Shape {
		return onnx.Shape{onnx.Fixed(1), onnx.Fixed(channels), onnx.Free("height"), onnx.Free("width")}
	}
	in := onnx.Value{Name: "image", Type: onnx.Type{Elem: onnx.Float32, Shape: free(3)}}
	return Architecture{
		Name:     "pointpainting-segmentation",
		Title:    "DeepLab v3+ ResNet-50, 19 classes",
		Official: "https://waymo.mlcommons.org",
		Inputs:   []onnx.Value{in},
		Outputs:  []onnx.Value{{Name: "scores", Type: onnx.Type{Elem: onnx.Float32, Shape: free(PaintingClasses)}}},
		Seed:     59,
		layers: func(b *Builder, _ Options) {
			d := paintingDeepLab{resNet{b}}
			image := b.Input(in.Name, in.Type.Elem, in.Type.Shape)
			low, out := d.backbone(image)
			x := d.pyramid("classifier.aspp", out)
			x = b.Concat("classifier.joined", 1, d.relu("classifier.project", low, Conv{Filters: 48, Kernel: Axes{1}}), b.Like("classifier.enlarged", x, low))
			x = d.relu("classifier.classifier.0", x, Conv{Filters: 256, Kernel: Axes{3}, Pads: Pad(1)})
			x = b.Conv("classifier.classifier.3", x,
				Conv{Filters: PaintingClasses, Kernel: Axes{1}, Weights: Rounded{He{Gain: paintingGain, ZeroMean: true}}, Bias: paintingBiases()})
			b.Output(b.rename(b.Like("enlarged", x, image), "scores"))
		},
	}
}

// paintingGain makes the scores of a pixel differ by so much that one or two classes have most of it.
const paintingGain = 1.5

type paintingDeepLab struct{ resNet }

// backbone is ResNet-50, whose last stage has dilations in the place of a stride. It returns the features of the first stage too.
func (d paintingDeepLab) backbone(image *onnx.Value) (low, x *onnx.Value) {
	x = d.relu("backbone.conv1", image, Conv{Filters: 64, Kernel: Axes{7}, Strides: Axes{2}, Pads: Pad(3)})
	x = d.MaxPool("backbone.maxpool", x, Pool{Kernel: Axes{3}, Strides: Axes{2}, Pads: Pad(1)})
	for stage, blocks := range []int{3, 4, 6, 3} {
		for block := range blocks {
			stride, dilation := int64(1), int64(1)
			if block == 0 && (stage == 1 || stage == 2) {
				stride = 2
			}
			if block > 0 && stage == 3 {
				dilation = 2
			}
			x = d.bottleneck(fmt.Sprintf("backbone.layer%d.%d", stage+1, block), x, 64<<stage, stride, dilation)
		}
		if stage == 0 {
			low = x
		}
	}
	return low, x
}

// pyramid joins surroundings of several sizes with the mean of the picture.
func (d paintingDeepLab) pyramid(name string, x *onnx.Value) *onnx.Value {
	all := []*onnx.Value{d.relu(name+".convs.0", x, Conv{Filters: 256, Kernel: Axes{1}})}
	for i, rate := range []int64{6, 12, 18} {
		all = append(all, d.relu(fmt.Sprintf("%s.convs.%d", name, i+1), x, Conv{Filters: 256, Kernel: Axes{3}, Dilations: Axes{rate}, Pads: Pad(rate)}))
	}
	mean := d.relu(name+".convs.4", d.GlobalAveragePool(name+".convs.4.pool", x), Conv{Filters: 256, Kernel: Axes{1}})
	all = append(all, d.Like(name+".convs.4.enlarged", mean, x))
	return d.relu(name+".project", d.Concat(name+".joined", 1, all...), Conv{Filters: 256, Kernel: Axes{1}})
}

// relu adds a convolution, its batch norm and ReLU.
func (d paintingDeepLab) relu(name string, x *onnx.Value, c Conv) *onnx.Value {
	return d.Relu(name+"/relu", d.conv(name, x, c, 1))
}

// The grid of pillars, in metres (model/pointpillars_core.py): cells of pillarCell from pillarLow on, pillarPoints points of a pillar,
// of paintedFeatures numbers each.
const (
	pillarCell      = 0.32
	pillarLow       = -74.88
	pillarSide      = 468
	pillarPoints    = 20
	paintedFeatures = 11
	// PillarCandidates is how many boxes PointPillars gives, before suppression, PillarRow how many numbers each has.
	PillarCandidates = 4096
	PillarRow        = 11
	pillarAnchors    = 6 // at each place: three sizes, turned by two angles
	pillarClasses    = 3
)

// PaintingDetection is the second file: PointPillars (Lang et al., arXiv:1812.05784) on painted points. Its inputs are those of
// pp.onnx in their order:
//
//	pillars              float32[P 20 11]  points of each pillar: x, y, z, intensity, elongation and six scores
//	coors_batch          int64[P 4]        0, and the place of a pillar: x, y, z
//	npoints_per_pillar   int32[P]          how many points it has
//	boxes                float32[4096 11]  x, y, z, width, length, height, angle, three scores, direction
func PaintingDetection() Architecture { return paintingDetectionOf(pillarSide, pillarLow) }

// paintingDetectionOf is PaintingDetection on a square of side cells from low on.
func paintingDetectionOf(side int64, low float32) Architecture {
	p := onnx.Free("P")
	return Architecture{
		Name:     "pointpainting-detection",
		Title:    "PointPillars, 468×468 pillars",
		Official: "https://waymo.mlcommons.org",
		Inputs: []onnx.Value{
			{Name: "pillars", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.Shape{p, onnx.Fixed(pillarPoints), onnx.Fixed(paintedFeatures)}}},
			{Name: "coors_batch", Type: onnx.Type{Elem: onnx.Int64, Shape: onnx.Shape{p, onnx.Fixed(4)}}},
			{Name: "npoints_per_pillar", Type: onnx.Type{Elem: onnx.Int32, Shape: onnx.Shape{p}}},
		},
		Outputs: []onnx.Value{{Name: "boxes", Type: onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape([]int64{PillarCandidates, PillarRow})}}},
		Seed:    61,
		layers: func(b *Builder, _ Options) {
			n := pillarNet{b, side, low}
			n.head(n.backbone(n.canvas()))
		},
	}
}

type pillarNet struct {
	*Builder
	side int64
	low  float32
}

// canvas adds what is known of the points of each pillar, and puts it at its place: [1 64 y x].
func (n pillarNet) canvas() *onnx.Value {
	in := paintingDetectionOf(n.side, n.low).Inputs
	pillars, places, counts := n.Input(in[0].Name, in[0].Type.Elem, in[0].Type.Shape), n.Input(in[1].Name, in[1].Type.Elem, in[1].Type.Shape),
		n.Input(in[2].Name, in[2].Type.Elem, in[2].Type.Shape)
	const name = "pillar_encoder"
	position := n.Slice(name+".xyz", pillars, 2, 0, 3)
	count := n.Unsqueeze(name+".count", n.Unsqueeze(name+".count.points", n.Cast(name+".count.float", counts, onnx.Float32), 1), 2)
	mean := n.Binary("Div", name+".mean", n.Unsqueeze(name+".sum", n.Reduce("ReduceSum", name+".sum.points", position, 1), 1), count)
	fromMean := n.Binary("Sub", name+".from_mean", position, mean)
	middle := n.Binary("Mul", name+".cells", n.Cast(name+".places", n.Slice(name+".places.xy", places, 1, 1, 3), onnx.Float32), n.scalar(pillarCell))
	middle = n.Unsqueeze(name+".middle.points", n.Add(name+".middle", middle, n.scalar(pillarCell/2+n.low)), 1)
	fromMiddle := n.Binary("Sub", name+".from_middle", n.Slice(name+".xy", pillars, 2, 0, 2), middle)
	features := n.Concat(name+".features", 2, fromMiddle, n.Slice(name+".rest", pillars, 2, 2, paintedFeatures), fromMean, fromMiddle)

	numbers := make([]int32, pillarPoints)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	there := n.Compare("Less", name+".there", n.Constant(onnx.TensorOf(name+".numbers", numbers, 1, pillarPoints)),
		n.Unsqueeze(name+".counts", counts, 1))
	features = n.Binary("Mul", name+".masked", features, n.Unsqueeze(name+".mask", n.Cast(name+".there.float", there, onnx.Float32), 2))

	x := n.Conv(name+".conv", n.Transpose(name+".turned", features, 0, 2, 1),
		Conv{Filters: 64, Kernel: Axes{1}, Weights: Patched{He{ZeroMean: true}, pillarScale}})
	x = n.Relu(name+".relu", n.BatchNorm(name+".bn", x, pillarNorm()))
	x = n.Reduce("ReduceMax", name+".max", x, 2)

	empty := n.Node("ConstantOfShape", name+".empty", []*onnx.Value{n.ints(n.side, n.side, 64)},
		[]onnx.Attribute{onnx.Attr("value", onnx.TensorOf("", []float32{0}, 1))},
		onnx.Type{Elem: onnx.Float32, Shape: onnx.FixedShape([]int64{n.side, n.side, 64})})[0]
	x = n.ScatterND(name+".canvas", empty, n.Slice(name+".xy_places", places, 1, 1, 3), x)
	return n.Unsqueeze(name, n.Transpose(name+".canvas.turned", x, 2, 1, 0), 0)
}

// pillarScale brings the numbers of a point to about the same size: distances within a pillar are a few centimetres, and what the pictures
// say is a part of 1.
func pillarScale(_ int, w []float32) {
	for i, scale := range []float32{4, 4, 0.5, 1, 1, 2, 2, 2, 2, 2, 2, 4, 4, 1, 4, 4} {
		w[i] *= scale
	}
}

// pillarNorm is the form of all batch norms of PointPillars.
func pillarNorm() BatchNorm { return seededNorm(1e-3, 1) }

// backbone adds three stages of convolutions, each on half of the side of the one before, and joins them at the first one's.
func (n pillarNet) backbone(x *onnx.Value) *onnx.Value {
	var all []*onnx.Value
	for stage, layers := range []int{3, 5, 5} {
		filters, stride, enlarge := int64(64)<<stage, int64(min(stage+1, 2)), int64(1)<<stage
		for i := range layers + 1 {
			name := fmt.Sprintf("backbone.multi_blocks.%d.%d", stage, 3*i)
			c := Conv{Filters: filters, Kernel: Axes{3}, Strides: Axes{stride}, Pads: Pad(1), Weights: Rounded{Smooth{He{Gain: 1.4, ZeroMean: true}, 0.3}}}
			x = n.Relu(name+"/relu", n.BatchNorm(name+"/norm", n.Conv(name, x, c), pillarNorm()))
			stride = 1
		}
		name := fmt.Sprintf("neck.decoder_blocks.%d.0", stage)
		y := n.ConvTranspose(name, x, ConvTranspose{Filters: 128, Kernel: Axes{enlarge}, Weights: Bell{math.Sqrt(2 / float64(filters))}})
		all = append(all, n.Relu(name+"/relu", n.BatchNorm(name+"/norm", y, pillarNorm())))
	}
	return n.Concat("neck", 1, all...)
}

// head adds the scores, boxes and directions of all places, and the best of them.
func (n pillarNet) head(x *onnx.Value) {
	c := pillarCalibration
	conv := func(name string, filters int64, gain float64, bias Filler) *onnx.Value {
		return n.Conv("head."+name, x, Conv{Filters: filters, Kernel: Axes{1}, Weights: Rounded{He{Gain: gain, ZeroMean: true}}, Bias: bias})
	}
	n.candidates(
		conv("conv_cls", pillarAnchors*pillarClasses, c.gains[0], c.scores.biases(0, pillarAnchors, pillarClasses, anchorMajor)),
		conv("conv_reg", pillarAnchors*7, pillarShift, Constant(0)),
		conv("conv_dir_cls", pillarAnchors*2, 1, Constant(0)))
}

// candidates adds the boxes of the best scores, in metres.
func (n pillarNet) candidates(scores, deltas, turns *onnx.Value) {
	rows := func(name string, x *onnx.Value) *onnx.Value {
		each := x.Channels() / pillarAnchors
		return n.Reshape(name+".rows", n.Transpose(name+".turned", x, 0, 2, 3, 1), n.side*n.side*pillarAnchors, each)
	}
	scores, deltas, turns = n.Unary("Sigmoid", "scores", rows("scores", scores)), rows("deltas", deltas), rows("directions", turns)
	_, best := n.TopK("best", n.Reduce("ReduceMax", "score", scores, 1), 0, PillarCandidates)
	boxes := n.decode(n.Gather("best.deltas", deltas, best, 0), best)
	direction := n.Cast("best.direction", n.ArgMax("best.direction.index", n.Gather("best.directions", turns, best, 0), 1), onnx.Float32)
	n.Output(n.rename(n.Concat("rows", 1, boxes, n.Gather("best.scores", scores, best, 0), n.Unsqueeze("best.direction.column", direction, 1)), "boxes"))
}

// pillarShift is how much boxes differ from their anchors.
const pillarShift = 0.3

// decode turns what is said of anchors, by their numbers, into boxes (model/anchors.py). An anchor is a place, and one of six shapes.
func (n pillarNet) decode(deltas, numbers *onnx.Value) *onnx.Value {
	step := 2 * -n.low / float32(n.side)
	centers := make([]float32, n.side)
	for i := range centers {
		centers[i] = float32(n.low + float32((float32(i)+0.5)*step))
	}
	var shapes []float32
	for kind, size := range [][3]float32{{0.84, 0.91, 1.74}, {0.84, 1.81, 1.77}, {2.08, 4.73, 1.77}} {
		z := [...]float32{-0.0345, 0, -0.1188}[kind]
		for _, angle := range []float32{0, 1.57} {
			shapes = append(shapes, z+size[2]/2, size[0], size[1], size[2], angle,
				float32(math.Sqrt(float64(float32(size[0]*size[0])+float32(size[1]*size[1])))))
		}
	}
	table := n.Constant(onnx.TensorOf("anchors.centers", centers, n.side))
	place := n.Binary("Div", "anchors.place", numbers, n.ints(pillarAnchors))
	x := n.Gather("anchors.x", table, n.Binary("Mod", "anchors.column", place, n.ints(n.side)), 0)
	y := n.Gather("anchors.y", table, n.Binary("Div", "anchors.row", place, n.ints(n.side)), 0)
	shape := n.Gather("anchors.shape", n.Constant(onnx.TensorOf("anchors.shapes", shapes, pillarAnchors, 6)),
		n.Binary("Mod", "anchors.kind", numbers, n.ints(pillarAnchors)), 0)
	part := func(name string, start, end int64) *onnx.Value { return n.Slice("anchors."+name, shape, 1, start, end) }
	delta := func(name string, start, end int64) *onnx.Value { return n.Slice("deltas."+name, deltas, 1, start, end) }

	size := n.Binary("Mul", "boxes.size", n.Unary("Exp", "boxes.growth", delta("size", 3, 6)), part("size", 1, 4))
	ground := n.Concat("anchors.ground", 1, n.Unsqueeze("anchors.x.column", x, 1), n.Unsqueeze("anchors.y.column", y, 1))
	ground = n.Add("boxes.ground", n.Binary("Mul", "boxes.shift", delta("ground", 0, 2), part("diagonal", 5, 6)), ground)
	z := n.Add("boxes.middle", n.Binary("Mul", "boxes.rise", delta("z", 2, 3), part("height", 3, 4)), part("middle", 0, 1))
	z = n.Binary("Sub", "boxes.z", z, n.Binary("Div", "boxes.half", n.Slice("boxes.height", size, 1, 2, 3), n.scalar(2)))
	return n.Concat("boxes.all", 1, ground, z, size, n.Add("boxes.angle", part("angle", 4, 5), delta("angle", 6, 7)))
}
