package arch

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"runtime"
	"testing"

	"github.com/mlperf-go/mlperf/internal/onnx"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A beginning keeps so much of what is written and refuses the rest.
type beginning struct {
	bytes []byte
	room  int
}

var errEnough = errors.New("that is enough")

func (b *beginning) Write(p []byte) (int, error) {
	n := min(len(p), b.room-len(b.bytes))
	b.bytes = append(b.bytes, p[:n]...)
	if n < len(p) {
		return n, errEnough
	}
	return n, nil
}

// sumOfBeginnings is that of a model with the first 4 KiB of each of its tensors.
func sumOfBeginnings(t *testing.T, m *onnx.Model) string {
	t.Helper()
	for tensor := range m.Tensors() {
		if tensor.Data == nil {
			continue
		}
		b := &beginning{room: 4 << 10}
		if _, err := tensor.Data.WriteTo(b); err != nil && !errors.Is(err, errEnough) {
			t.Fatalf("tensor %q: %v", tensor.Name, err)
		}
		tensor.Data = onnx.Raw(b.bytes)
	}
	h := sha256.New()
	if _, err := m.WriteTo(h); err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil)[:10])
}

// Files are kept by their keys, so equal keys have to mean equal files. A change of these sums is one of the files
// that users have in their caches: raise formatVersion with it. TestFilesAreTheSameByteByByte has the other files.
func TestFilesBeginTheSame(t *testing.T) {
	checkBeginnings(t, map[string]string{
		"3d-unet":                         "804046b63f8a826fa8c2",
		"retinanet":                       "33e1a5b51b598c66aa46",
		"ssd-resnet34":                    "b8fe68d5f7aa47162dc7",
		"bert":                            "d05957912eb481482ac8",
		"gnmt-encoder":                    "14881ff9edf4f51079f7",
		"gnmt-decoder":                    "322a3bc287a098f28e23",
		"dlrm":                            "75458fc5cb8c55b4f410",
		"dlrm-v2":                         "115d1904c7556d50b8f7",
		"rnnt-encoder":                    "4e11fc3b4eed2587228b",
		"rnnt-prediction":                 "e28bce9818acdd7233f3",
		"rnnt-joint":                      "738572806e19b6490b1e",
		"mobilebert":                      "214cb99b7cc54787af7d",
		"mixtral-70m":                     "845f91f00e9b5bccd01a",
		"gpt-j-60m":                       "a8e96b112070d5d15d6a",
		"llama-60m":                       "3ecb3d2361fef5000650",
		"llama-60m-plain":                 "0ce8f0afabd0e8128e28",
		"whisper-small-encoder":           "421641398823f1684cdd",
		"whisper-small-decoder":           "bb093c30ab7c3fc39fe9",
		"whisper-small-decoder_with_past": "6b32eab0a795b6e1f882",
		"sdxl-text-encoder":               "fdbaa2cabc44b00f64e7",
		"sdxl-vae-decoder":                "e21a002f315b25ea9710",
		"sdxl-mini-text-encoder":          "1060791659625b25da8e",
		"sdxl-mini-text-encoder-2":        "c3ea623fae34a7eaf521",
		"sdxl-mini-unet":                  "e809a045432df4b220ee",
		"sdxl-mini-vae-decoder":           "07caa5e53389f7e769b2",
	})
}

func TestLargeFilesBeginTheSame(t *testing.T) {
	testenv.SkipLong(t, "of the same layers as smaller ones, or rounded as a whole")
	checkBeginnings(t, map[string]string{
		"llama3.1-8b":                        "a15c23fe7b78b64d6021",
		"llama2-70b":                         "ec78e06749429d0a08e7",
		"mixtral-8x7b":                       "625c490598da738bd451",
		"gpt-j-6b":                           "69b4bf1ed7dfaa65d31b",
		"llama-60m-int4":                     "46e5020c0cbf2cf3dcd0",
		"llama-60m-export":                   "1be5499cc170ed968503",
		"whisper-large-v3-encoder":           "63e3aa897182ee448c00",
		"whisper-large-v3-decoder":           "20154d43e050e55b1920",
		"whisper-large-v3-decoder_with_past": "420ec9881d40345d4594",
		"sdxl-text-encoder-2":                "efb68d20c7e3022e3b03",
		"sdxl-unet":                          "d9e26b6b1e49fa3f5699",
	})
}

func checkBeginnings(t *testing.T, sums map[string]string) {
	t.Helper()
	if runtime.GOARCH != "amd64" {
		t.Skip("the last bits of sines differ between processors")
	}
	for name, want := range sums {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := build(t, lookup(t, name), Options{})
			if got := sumOfBeginnings(t, m); got != want {
				t.Errorf("the sum of %s is %s, want %s", name, got, want)
			}
		})
	}
}
