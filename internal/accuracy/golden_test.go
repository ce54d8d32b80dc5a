package accuracy

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

// near compares sums that the reference adds in another order; NaN equals NaN.
var near = append(exact, cmpopts.EquateApprox(0, 1e-9))

// exact compares results that must not differ in a bit.
var exact = []cmp.Option{cmpopts.EquateNaNs(), cmpopts.EquateEmpty()}

// golden decodes a JSON file below testdata.
func golden[T any](t testing.TB, name string) T {
	t.Helper()
	return testenv.JSON[T](t, "testdata/"+name)
}

// goldenLog opens a file below testdata/logs.
func goldenLog(t testing.TB, name string) Input {
	t.Helper()
	return Named(path.Base(name), bytes.NewReader(testenv.Read(t, "testdata/logs/"+name+".gz")))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// text is an Input of a string.
func text(content string) Input { return Named("test.json", strings.NewReader(content)) }

// logOf is an accuracy log with a record for each payload, of sample 0, 1 and so on.
func logOf(payloads ...[]byte) Input {
	var records []Record
	for i, p := range payloads {
		records = append(records, Record{SeqID: uint64(i), QSLIndex: uint64(i), Data: p})
	}
	return text(formatLog(records))
}

// formatLog writes records as LoadGen does (loadgen/logging.cc).
func formatLog(records []Record) string {
	var lines []string
	for _, r := range records {
		line := fmt.Sprintf(`{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%X"`, r.SeqID, r.QSLIndex, r.Data)
		if r.TokenData != nil {
			line += fmt.Sprintf(`, "token_data" : "%X"`, r.TokenData)
		}
		if r.TokenCount != nil {
			line += fmt.Sprintf(`, "token_count" : %d`, *r.TokenCount)
		}
		lines = append(lines, line+" }")
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

// floats is a payload of float32.
func floats(values ...float32) []byte {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

// jsonNumber is a float64 in golden JSON, where null and "NaN" stand for NaN.
type jsonNumber float64

func (n *jsonNumber) UnmarshalJSON(data []byte) error {
	switch string(data) {
	case `null`, `"NaN"`:
		*n = jsonNumber(math.NaN())
	case `"inf"`:
		*n = jsonNumber(math.Inf(1))
	case `"-inf"`:
		*n = jsonNumber(math.Inf(-1))
	default:
		return json.Unmarshal(data, (*float64)(n))
	}
	return nil
}

// decodeRLE expands value, count, value, count …
func decodeRLE(runs []int) []uint8 {
	var v []uint8
	for run := range slices.Chunk(runs, 2) {
		v = append(v, bytes.Repeat([]byte{byte(run[0])}, run[1])...)
	}
	return v
}

// wantError fails unless err's text has every part.
func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}
