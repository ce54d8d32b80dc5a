package accuracy

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mlperf-go/mlperf/internal/testenv"
)

const databaseMD5 = "e04e12f107962d8d9a02d698073f05d6" // of "a database\n"

// databaseLog is the log of make_database.py: of 200 pages some failed, and the last answer is the MD5.
func databaseLog(failed []int, md5 string) Input {
	const n = 200
	var b bytes.Buffer
	for i := range n {
		data := "01"
		if slices.Contains(failed, i) {
			data = "00"
		}
		if i == n-1 {
			data = hex.EncodeToString([]byte(md5))
		}
		fmt.Fprintf(&b, "%s{\"seq_id\":%d,\"qsl_idx\":%d,\"data\":%q}", []string{"[", ",\n"}[min(i, 1)], i, i*7%n, data)
	}
	b.WriteString("]")
	return Named("mlperf_log_accuracy.json", &b)
}

// testdata/database.json was made by testdata/make_database.py. What differs are the time and the line that is added.
func TestDatabaseReportEqualsScript(t *testing.T) {
	var cases []struct {
		Name           string
		Failed         []int
		MD5, Text      string
		Validate       bool
		Width, Vectors int
		Passed         bool
	}
	data, err := os.ReadFile("testdata/database.json")
	if err == nil {
		err = json.Unmarshal(data, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		lines := strings.Split(strings.TrimSuffix(c.Text, "\n"), "\n")
		written, err := time.Parse("2006-01-02T15:04:05.000000", strings.TrimPrefix(lines[3], "Timestamp: "))
		if err != nil {
			t.Fatal(err)
		}
		f := DatabaseFile{Path: "database", MD5: databaseMD5, Time: written}
		if c.Validate {
			f.Checks = DatabaseChecks(c.Vectors, c.Width, c.Vectors > 0, nil)
		}
		s, err := DatabaseScore(databaseLog(c.Failed, c.MD5), 200, f)
		if err != nil {
			t.Errorf("%s: %v", c.Name, err)
			continue
		}
		if diff := cmp.Diff(lines, s.Lines[:len(s.Lines)-1]); diff != "" {
			t.Errorf("%s (-script +here):\n%s", c.Name, diff)
		}
		if value := s.Values[0].Value; (value >= 99) != c.Passed || s.Lines[len(s.Lines)-1] != fmt.Sprintf("Accuracy: %.4f", value) || c.Passed == (len(s.Warnings) > 0) {
			t.Errorf("%s: accuracy %v, last line %q, warnings %q; the script says passed %v", c.Name, value, s.Lines[len(s.Lines)-1], s.Warnings, c.Passed)
		}
	}
}

func TestDatabaseOfAnotherManifest(t *testing.T) {
	s, err := DatabaseScore(databaseLog(nil, databaseMD5), 200, DatabaseFile{Path: "d", MD5: databaseMD5, Differences: []string{"total_passages is 1"}})
	if err != nil || s.Values[0].Value != 0 || !testenv.Tells(strings.Join(s.Warnings, "; "), "total_passages is 1 … 0") {
		t.Errorf("%+v, %v: want accuracy 0 and the difference", s, err)
	}
}

func TestDatabaseLogErrors(t *testing.T) {
	for _, c := range []struct {
		log     Input
		samples int
		want    string
	}{
		{Named("l", strings.NewReader("[]")), 3, "l … no record"},
		{Named("l", strings.NewReader(`[{"qsl_idx":0,"data":"01"}]`)), 3, "l … MD5"},
		{Named("l", strings.NewReader(`[{"qsl_idx":3,"data":"01"}]`)), 3, "l … qsl_idx 3 … 3 samples"},
	} {
		if _, err := DatabaseScore(c.log, c.samples, DatabaseFile{MD5: databaseMD5}); !testenv.Names(err, c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
