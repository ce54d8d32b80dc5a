package config

import "fmt"

// A Bandwidth is the network that a datacenter system must have, in bytes per second.
// 0: any.
type Bandwidth struct{ Ingress, Egress float64 }

// MinBandwidth returns the bandwidth that the rules ask of a datacenter system which
// answers samplesPerSecond of a model, with inputs and outputs of bytesPerValue. It
// returns an error for a model that the rules have no formula for.
func MinBandwidth(model string, samplesPerSecond float64, bytesPerValue int) (Bandwidth, error) {
	if samplesPerSecond < 0 || bytesPerValue <= 0 {
		return Bandwidth{}, fmt.Errorf("want a speed of at least 0 and values of at least 1 byte, got %g and %d", samplesPerSecond, bytesPerValue)
	}
	name := ConfName(model, false)
	var known []string
	for _, m := range sampleSizes() {
		if m.model == name || m.model+interactiveSuffix == name {
			return Bandwidth{
				Ingress: samplesPerSecond * (float64(m.inValues)*float64(bytesPerValue) + float64(m.inBytes)),
				Egress:  samplesPerSecond * float64(m.outValues) * float64(bytesPerValue),
			}, nil
		}
		known = append(known, m.model)
	}
	return Bandwidth{}, newKeyError(Place{Source: "bandwidth"}, "model", model, known)
}

// A sampleSize is what crosses the network for a sample: values of the input and
// output type, and bytes whose type the rules fix. Negligible sizes are 0.
type sampleSize struct {
	model               string
	inValues, outValues uint64
	inBytes             uint64
}

// sampleSizes is the table of inference_rules.adoc, appendix "Datacenter Bandwidth
// Requirements" (ingress and egress). Models that are no longer in it have the last
// values that they had.
func sampleSizes() []sampleSize {
	const averageKits19 = 32_944_795 // voxels, mean of meta/inference_cases.json
	return []sampleSize{
		{model: "resnet50", inValues: 3 * 224 * 224},
		{model: "retinanet", inValues: 3 * 800 * 800},
		{model: "ssd-resnet34", inValues: 3 * 1200 * 1200},
		{model: "3d-unet", inValues: averageKits19, outValues: averageKits19},
		{model: "rnnt", inBytes: 15 * 16000 * 16 / 8}, // 15 s of 16-bit audio at 16 kHz
		{model: "bert", inValues: 3 * 384},
		// 270 pairs on average, of 13 numbers and 26 categories of the same size
		{model: "dlrm", inValues: 270 * (13 + 26)},
		{model: "dlrm-v2", inValues: 270 * (13 + 26)},
		{model: "dlrm-v3", inBytes: (2 + 6*1 + 6*2048) * 8}, // as printed: 98368
		{model: "gptj", inValues: 2048},
		{model: "llama3_1-8b", inValues: 2048},
		{model: "llama2-70b", inValues: 1024, outValues: 1024},
		{model: "llama3_1-405b", inValues: 20000, outValues: 20000},
		{model: "mixtral-8x7b", inValues: 2048, outValues: 2048},
		{model: "deepseek-r1", inValues: 3136, outValues: 20000},
		{model: "gpt-oss-120b", inValues: 15330, outValues: 10000}, // performance mode
		{model: "qwen3-vl-235b-a22b", inValues: 27051, outValues: 500},
		{model: "stable-diffusion-xl", inValues: 77, outValues: 3 * 1024 * 1024},
		// The product that the rules give, 81·720·1280·3, is 921600 less than their number.
		{model: "wan-2.2-t2v-a14b", outValues: 224_870_400},
		{model: "rgat"},
		{model: "e2e-rag-qna"},
		{model: "e2e-rag-db"},
	}
}
