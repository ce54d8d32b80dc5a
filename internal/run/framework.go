package run

import "github.com/mlperf-go/mlperf/internal/backend/ort"

// Framework names ONNX Runtime with its version, as descriptions of systems do. Library is
// its file; empty: the installed one. Empty: there is none, or it does not tell its version.
func Framework(library string) string {
	found, _, err := ort.Search{Explicit: library}.Find()
	if err != nil || found.Version == "" {
		return ""
	}
	return "ONNX Runtime " + found.Version
}
