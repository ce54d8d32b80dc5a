package preprocess

import (
	"fmt"
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
// classification and detection functions in dataset.py, CLIP, and the TFLite evaluation stages
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

// Lookup returns the reference's pipeline of that name.
func Lookup(name string) (Pipeline, error) {
	var names []string
	for _, p := range pipelines() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Pipeline{}, fmt.Errorf("pre-processing pipeline %q is not known, want one of %s", name, strings.Join(names, ", "))
}
