package accuracy

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readLog returns copies of all records before the first error.
func readLog(in Input) ([]Record, error) {
	var all []Record
	for rec, err := range Records(in) {
		if err != nil {
			return all, err
		}
		rec.Data = slices.Clone(rec.Data)
		rec.TokenData = slices.Clone(rec.TokenData)
		all = append(all, rec)
	}
	return all, nil
}

func TestRecordsAcceptAnyLayout(t *testing.T) {
	count := int64(10)
	one := []Record{{SeqID: 3, QSLIndex: 5, Data: []byte{0xAB, 1}}}
	for _, c := range []struct {
		name, log string
		want      []Record
	}{
		{"as LoadGen writes it", "[\n{ \"seq_id\" : 3, \"qsl_idx\" : 5, \"data\" : \"AB01\" }\n]\n", one},
		{"lower-case digits", `[{"seq_id":3,"qsl_idx":5,"data":"aB01"}]`, one},
		{"spread over lines", "\r\n[\t{\n\"data\"\n:\n\"AB01\",\"qsl_idx\":5\n,\"seq_id\":3}\n] \n", one},
		{"keys that LoadGen does not write", `[{"x":{"y":[1,-2.5e3,true,null,"z"]},"seq_id":3,"qsl_idx":5,"data":"AB01"}]`, one},
		{"keys with escapes", `[{"seq_id":3,"\u0071sl_idx":5,"data":"AB01"}]`, one},
		{"without seq_id, which no script reads", `[{"qsl_idx":5,"data":"AB01"}]`, []Record{{QSLIndex: 5, Data: []byte{0xAB, 1}}}},
		{"tokens", `[{"seq_id":3,"qsl_idx":5,"data":"AB01","token_data":"02","token_count":10},{"qsl_idx":6,"data":""}]`,
			[]Record{{SeqID: 3, QSLIndex: 5, Data: []byte{0xAB, 1}, TokenData: []byte{2}, TokenCount: &count}, {QSLIndex: 6, Number: 1}}},
		{"an empty log", "[\n]\n", nil},
		{"the largest numbers", `[{"seq_id":18446744073709551615,"qsl_idx":18446744073709551615,"data":""}]`,
			[]Record{{SeqID: 1<<64 - 1, QSLIndex: 1<<64 - 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, in := range []Input{text(c.log), Named("slow", iotest.OneByteReader(strings.NewReader(c.log)))} {
				got, err := readLog(in)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, got, exact...); d != "" {
					t.Errorf("records (-want +got):\n%s", d)
				}
			}
		})
	}
}

func TestRecordsNameThePlace(t *testing.T) {
	for _, c := range []struct{ name, log, want string }{
		{"no file", ``, "line 1, offset 0: the file ends here"},
		{"not an array", `{}`, `line 1, offset 0: expected a list, got {`},
		{"the run was killed", "[\n{ \"seq_id\" : 0, \"qsl_idx\" : 1, \"data\" : \"00\" },\n", "line 3, offset 50: the file ends here"},
		{"the run was killed within data", `[{"qsl_idx":1,"data":"00A`, "record 0, line 1, offset 25: the file ends here"},
		{"the run was killed within a key", `[{"qsl_i`, "record 0, line 1, offset 8: the file ends here"},
		{"the run was killed within a number", `[{"qsl_idx":1`, "record 0, line 1, offset 13: the file ends here"},
		{"no digits", `[{"qsl_idx":1,"data":"0G"}]`, `record 0, line 1, offset 21: data: encoding/hex: invalid byte: U+0047 'G'`},
		{"an odd number of digits", `[{"qsl_idx":1,"data":"012"}]`, "data: encoding/hex: odd length hex string"},
		{"data that is null", `[{"qsl_idx":1,"data":null}]`, `expected a string of hexadecimal digits, got null`},
		{"a negative index", "[\n{\"qsl_idx\":-1,\"data\":\"\"}]", `record 0, line 2, offset 13: qsl_idx: expected a whole number from 0, got -1`},
		{"an index that is a float", `[{"qsl_idx":1.0,"data":""}]`, "qsl_idx: expected a whole number from 0, got 1.0"},
		{"no index", `[{"qsl_idx":0,"data":""},{"data":""}]`, `record 1, line 1, offset 36: no "qsl_idx"`},
		{"no data", `[{"qsl_idx":0}]`, `no "data"`},
		{"a key twice", `[{"qsl_idx":0,"qsl_idx":0,"data":""}]`, `qsl_idx: duplicate object member name`},
		{"a comma too few", `[{"qsl_idx":0,"data":""}{}]`, `line 1, offset 24: invalid character '{' after array element (expecting ',' or ']')`},
		{"something after the end", "[]\n[]", `line 2, offset 4: expected the end of the file, got [`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := readLog(text(c.log))
			wantError(t, err, "test.json: ", c.want)
			var syntax *syntaxError
			if !errors.As(err, &syntax) {
				t.Errorf("error is a %T, want a *syntaxError", err)
			}
			_, slow := readLog(Named("test.json", iotest.OneByteReader(strings.NewReader(c.log))))
			if slow == nil || slow.Error() != err.Error() {
				t.Errorf("read byte by byte: %v, want %v", slow, err)
			}
		})
	}
}

func TestTruncatedLogGivesItsRecords(t *testing.T) {
	log := string(must(io.ReadAll(goldenLog(t, "resnet50/offline_float32/mlperf_log_accuracy.json"))))
	whole, err := readLog(text(log))
	if err != nil {
		t.Fatal(err)
	}
	for end := 0; end < len(log)-2; end += 97 {
		got, err := readLog(text(log[:end]))
		if !errors.Is(err, errTruncated) {
			t.Fatalf("log cut after %d bytes: %v, want ErrTruncated", end, err)
		}
		if n := strings.Count(log[:end], "}"); len(got) != n || !cmp.Equal(whole[:n], got, exact...) {
			t.Fatalf("log cut after %d bytes: %d records, want the first %d", end, len(got), n)
		}
	}
}

func TestLogCutForSubmission(t *testing.T) {
	var payloads [][]byte
	for i := range 400 {
		payloads = append(payloads, bytes.Repeat([]byte{byte(i)}, 20))
	}
	log := must(io.ReadAll(logOf(payloads...)))
	const keep = 4096        // truncate_accuracy_log.py
	for shift := range 120 { // so that the cut falls on every part of a record
		cut := slices.Concat(log[:keep-shift], []byte(cutMark), log[len(log)-keep:])
		for _, in := range []Input{Named("log", bytes.NewReader(cut)), Named("log", iotest.OneByteReader(bytes.NewReader(cut)))} {
			if _, err := readLog(in); !errors.Is(err, errCutForSubmission) {
				t.Fatalf("log cut after %d bytes: %v, want ErrCutForSubmission", keep-shift, err)
			}
		}
	}
}

func TestRecordsReportReadErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	in := Named("log", io.MultiReader(strings.NewReader(`[{"qsl_idx":1,"data":"00`), iotest.ErrReader(broken)))
	_, err := readLog(in)
	if !errors.Is(err, broken) {
		t.Fatalf("error %v, want %v", err, broken)
	}
	wantError(t, err, "log: record 0", "reading: disk on fire")
	_, err = readLog(Named("log", io.MultiReader(strings.NewReader(`[]`), iotest.ErrReader(broken))))
	if !errors.Is(err, broken) {
		t.Errorf("error after the array: %v, want %v", err, broken)
	}
}

func TestRecordsStopEarly(t *testing.T) {
	n := 0
	for range Records(logOf(nil, nil, nil)) {
		if n++; n == 2 {
			break
		}
	}
	if n != 2 {
		t.Errorf("%d records, want 2", n)
	}
}

func TestFirstRecordsEndsWithTheFirstError(t *testing.T) {
	c := Coverage{Samples: 2}
	seen := 0
	var last error
	for rec, err := range FirstRecords(text(formatLog([]Record{{QSLIndex: 1}, {QSLIndex: 1}, {QSLIndex: 2}, {QSLIndex: 0}})), &c) {
		seen++
		if last = err; err == nil && rec.QSLIndex != 1 {
			t.Errorf("record of sample %d", rec.QSLIndex)
		}
	}
	wantError(t, last, "record 2 (qsl_idx 2): the ground truth has only 2 samples")
	if want := (Coverage{2, 1, 1}); seen != 2 || c != want {
		t.Errorf("%d records, %+v, want 2, %+v", seen, c, want)
	}
}

func FuzzRecords(f *testing.F) {
	f.Add("[\n{ \"seq_id\" : 0, \"qsl_idx\" : 1, \"data\" : \"00FF\" },\n{ \"seq_id\" : 1, \"qsl_idx\" : 2, \"data\" : \"\" }\n]\n")
	f.Add(`[{"qsl_idx":1,"data":"aB","token_count":3,"token_data":"00","x":[{}, 1.5e-3, "\u00e9\n", true]}]`)
	f.Add("[{\"qsl_idx\":1,\"data\":\"00\n\n...\n\n")
	f.Fuzz(func(t *testing.T, log string) {
		records, err := readLog(text(log))
		slow, slowErr := readLog(Named("test.json", iotest.HalfReader(strings.NewReader(log))))
		if d := cmp.Diff(records, slow); d != "" || (err == nil) != (slowErr == nil) { // how much the JSON library quotes follows from the pieces
			t.Fatalf("read in pieces: %v, want %v, records (-want +got):\n%s", slowErr, err, d)
		}
		if err != nil {
			return
		}
		again, err := readLog(text(formatLog(records)))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(records, again, exact...); d != "" {
			t.Errorf("records after writing and reading (-want +got):\n%s", d)
		}
		for _, r := range Readings([]DType{float32s, Int64, Float16}, "", true) {
			other, err := r.Rewrite(text(log))
			if err != nil {
				continue
			}
			if as, err := readLog(other); err != nil || len(as) != len(records) {
				t.Errorf("read as %s: %d records of %d, %v", r.Name, len(as), len(records), err)
			}
		}
	})
}

func BenchmarkRecords(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name          string
		records, size int
	}{
		{"50k labels", 50_000, 4},
		{"detections", 500, 28 * 80},
		{"KiTS volumes", 4, 32 << 20},
	} {
		b.Run(c.name, func(b *testing.B) {
			payload := make([]byte, c.size)
			for i := range payload {
				payload[i] = byte(rng.Uint32())
			}
			digits := hex.EncodeToString(payload)
			var log bytes.Buffer
			for i := range c.records {
				fmt.Fprintf(&log, `%c{ "seq_id" : %d, "qsl_idx" : %d, "data" : "%s" }`, "[,"[min(i, 1)], i, i, digits)
			}
			log.WriteString("]")
			b.SetBytes(int64(log.Len()))
			b.ReportAllocs()
			for b.Loop() {
				for _, err := range Records(Named("log", bytes.NewReader(log.Bytes()))) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func ExampleRecords() {
	log := Named("mlperf_log_accuracy.json", strings.NewReader(`[
{ "seq_id" : 0, "qsl_idx" : 7, "data" : "00008F43" },
{ "seq_id" : 1, "qsl_idx" : 3, "data" : "0040494" }
]`))
	for rec, err := range Records(log) {
		if err != nil {
			fmt.Println(err)
			break
		}
		fmt.Println(rec.QSLIndex, rec.Data)
	}
	// Output:
	// 7 [0 0 143 67]
	// mlperf_log_accuracy.json: record 1, line 3, offset 96: data: encoding/hex: odd length hex string
}
