package preprocess

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/tensor"
)

// Means and deviations, for red, green and blue, as the reference's dataset.py has them
// (mlcommons/inference, vision/classification_and_detection/python).
var (
	caffeMean    = Step{Subtract, [3]float32{123.68, 116.78, 103.94}}
	caffeMeanBGR = Step{Subtract, [3]float32{103.939, 116.779, 123.68}}
	torchMean    = Step{Subtract, [3]float32{0.485, 0.456, 0.406}}
	torchStd     = Step{Divide, [3]float32{0.229, 0.224, 0.225}}
)

// Mean and deviation of OpenAI's CLIP ViT-B/32, which scores generated images.
var (
	clipMean = Step{Subtract, [3]float32{0.48145466, 0.4578275, 0.40821073}}
	clipStd  = Step{Divide, [3]float32{0.26862954, 0.26130258, 0.27577711}}
)

// TFLite multiplies by the reciprocal of the deviation.
var toOne = []Step{each(Subtract, 127.5), each(Multiply, 1/float32(127.5))}

// pipelines returns the pipelines of the reference in a fixed order: those of the
// classification and detection functions in dataset.py, CLIP, Ultralytics' YOLO, and the TFLite evaluation stages
// as the mobile app configures them.
func pipelines() []Pipeline {
	unit := each(Divide, 255)
	return []Pipeline{
		{Name: "resnet50_vgg_224", Size: 224, Fit: CropCV2, Kernel: CV2Area, Steps: []Step{caffeMean}, Type: tensor.Float32},
		{Name: "mobilenet_224", Size: 224, Fit: CropCV2, Kernel: CV2Linear, Steps: []Step{unit, each(Subtract, 0.5), each(Multiply, 2)}, Type: tensor.Float32},
		{Name: "mobilenet_224_uint8", Size: 224, Fit: CropCV2, Kernel: CV2Linear, Type: tensor.Uint8},
		{Name: "mobilenet_224_int8", Size: 224, Fit: CropCV2, Kernel: CV2Linear, Steps: []Step{each(Subtract, 128)}, Type: tensor.Int8},
		{Name: "imagenet_pytorch_224", Size: 224, Fit: CropTorch, Kernel: PillowBilinear, Steps: []Step{unit, torchMean, torchStd}, Type: tensor.Float32},
		{Name: "imagenet_tflite_tpu_224", Size: 224, Fit: CropCV2, Kernel: CV2Linear, BGR: true, Steps: []Step{caffeMeanBGR}, Type: tensor.Float32, Layout: NHWC},
		{Name: "coco_mobilenet_300", Size: 300, Kernel: CV2Linear, Float: true, Type: tensor.Uint8, Layout: NHWC},
		{Name: "coco_pt_mobilenet_300", Size: 300, Kernel: CV2Linear, Float: true, Steps: []Step{each(Subtract, 127.5), each(Divide, 127.5)}, Type: tensor.Float32},
		{Name: "coco_resnet34_1200", Size: 1200, Kernel: CV2Linear, Float: true, Steps: []Step{unit, torchMean, torchStd}, Type: tensor.Float32},
		{Name: "coco_resnet34_tf_1200", Size: 1200, Kernel: CV2Linear, Float: true, Steps: []Step{caffeMean}, Type: tensor.Float32},
		{Name: "openimages_retinanet_800", Size: 800, Kernel: CV2Linear, Float: true, Steps: []Step{unit}, Type: tensor.Float32},
		{Name: "clip_vit_b32_224", Size: 224, Fit: CropTorchFull, Kernel: PillowBicubic, Steps: []Step{unit, clipMean, clipStd}, Type: tensor.Float32},
		{Name: "yolo_640", Size: 640, Fit: Letterbox, Kernel: CV2Linear, Steps: []Step{unit}, Type: tensor.Float32},
		{Name: "yolo_640_rect", Size: 640, Fit: Letterbox, Stride: 32, Kernel: CV2Linear, Steps: []Step{unit}, Type: tensor.Float32},
		mobile("mobile_classification_224_float32", 224, CropTFLite, tensor.Float32, toOne),
		mobile("mobile_classification_224_uint8", 224, CropTFLite, tensor.Uint8, nil),
		mobile("mobile_classification_224_int8", 224, CropTFLite, tensor.Int8, []Step{each(Subtract, 128)}),
		mobile("mobile_detection_320_float32", 320, Stretch, tensor.Float32, toOne),
		mobile("mobile_detection_320_uint8", 320, Stretch, tensor.Uint8, nil),
		mobile("mobile_detection_320_int8", 320, Stretch, tensor.Int8, []Step{each(Subtract, 128)}),
	}
}

func each(op Op, by float32) Step { return Step{op, [3]float32{by, by, by}} }

func mobile(name string, size int, fit Fit, typ tensor.DType, steps []Step) Pipeline {
	return Pipeline{
		Name: name, Size: size, Fit: fit, Kernel: TFLiteBilinear, Float: true, Steps: steps, Type: typ, Layout: NHWC,
		IgnoreOrientation: true,
	}
}

// Lookup returns the reference's pipeline of that name, perhaps with changes: NAME,KEY=VALUE,… as in Changes.
func Lookup(name string) (Pipeline, error) {
	name, changes, changed := strings.Cut(name, ",")
	var names []string
	for _, p := range pipelines() {
		if p.Name == name {
			if !changed {
				return p, nil
			}
			return p.changed(changes)
		}
		names = append(names, p.Name)
	}
	return Pipeline{}, fmt.Errorf("pre-processing pipeline %q is not known: must be one of %s", name, strings.Join(names, ", "))
}

// Changes says what the changes of Lookup may be.
const Changes = "resize=PIXELS of the shorter side before the middle is cut out, NxN of both sides, stretch or pad; " +
	"kernel=opencv-linear, opencv-area, pillow-bilinear or pillow-bicubic; scale, mean and std, as (pixel/scale − mean)/std, a number for " +
	"all channels, or three with / between in the model's order; order=rgb or bgr; exif=apply or ignore the orientation"

var kernels = map[string]Kernel{"opencv-linear": CV2Linear, "opencv-area": CV2Area, "pillow-bilinear": PillowBilinear,
	"pillow-bicubic": PillowBicubic}

// changed is the pipeline with changes. Each of scale, mean and std that is missing then does nothing, but scale is 255.
func (p Pipeline) changed(changes string) (Pipeline, error) {
	steps := map[string]Step{"scale": each(Divide, 255), "mean": each(Subtract, 0), "std": each(Divide, 1)}
	p.Name += "," + changes
	for change := range strings.SplitSeq(changes, ",") {
		key, value, _ := strings.Cut(change, "=")
		refused := fmt.Errorf("change %q of a pre-processing is not known, expected %s", change, Changes)
		switch key {
		case "resize":
			width, height, both := strings.Cut(value, "x")
			n, err := strconv.Atoi(width)
			switch {
			case value == "stretch":
				p.Fit, p.Short = Stretch, 0
			case value == "pad":
				p.Fit, p.Short = PadBlack, 0
			case err != nil || n < 1 || both && width != height:
				return p, refused
			case both:
				p.Fit, p.Short = CropStretched, n
			default:
				p.Short = n
				if p.Fit != CropCV2 && p.Fit != CropTorch && p.Fit != CropTFLite {
					p.Fit = CropTorch
				}
			}
		case "kernel":
			k, ok := kernels[value]
			if !ok {
				return p, refused
			}
			p.Kernel, p.Float = k, p.Float && k == CV2Linear
		case "scale", "mean", "std":
			numbers := strings.Split(value, "/")
			if len(numbers) == 1 {
				numbers = []string{value, value, value}
			}
			step := steps[key]
			for i, number := range numbers {
				v, err := strconv.ParseFloat(number, 32)
				if err != nil || len(numbers) != 3 || v == 0 && key != "mean" {
					return p, refused
				}
				step.By[i] = float32(v)
			}
			steps[key] = step
			p.Steps = []Step{steps["scale"], steps["mean"], steps["std"]}
		case "order":
			if p.BGR = value == "bgr"; !p.BGR && value != "rgb" {
				return p, refused
			}
		case "exif":
			if p.IgnoreOrientation = value == "ignore"; !p.IgnoreOrientation && value != "apply" {
				return p, refused
			}
		default:
			return p, refused
		}
	}
	if p.BGR && p.Float {
		return p, fmt.Errorf("pre-processing %s resizes in float32, and order=bgr needs bytes: choose a kernel that makes bytes", p.Name)
	}
	return p, nil
}
