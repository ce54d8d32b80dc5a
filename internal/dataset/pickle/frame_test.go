package pickle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readFrame(t *testing.T, name string) *Frame {
	t.Helper()
	v, err := Read(readFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	return v.(*Frame)
}

func column(t *testing.T, f *Frame, name string) []any {
	t.Helper()
	c, ok := f.Column(name)
	if !ok {
		t.Fatalf("there is no column %s among %q", name, f.Names)
	}
	return c
}

func TestTablesOfAllProtocolsAreRead(t *testing.T) {
	for _, protocol := range []string{"2", "4", "5"} {
		t.Run("protocol "+protocol, func(t *testing.T) {
			f := readFrame(t, "frame_protocol"+protocol+".pkl")
			if f.Rows != 3 || strings.Join(f.Names, " ") != "id input tok_input n f origin ok m" {
				t.Fatalf("%d rows of %q", f.Rows, f.Names)
			}
			for name, want := range map[string][]any{
				"id": {"a", "b", "c"}, "input": {"x é", "", "z\n"}, "n": {int64(2), int64(1), int64(3)}, "f": {1.5, 2.5, -3.5},
				"origin": {"cot", nil, "t0"}, "ok": {true, false, true}, "m": {int64(20), int64(10), int64(30)},
			} {
				if diff := cmp.Diff(want, column(t, f, name)); diff != "" {
					t.Errorf("column %s (-want +got):\n%s", name, diff)
				}
			}
			tokens := column(t, f, "tok_input")
			if diff := cmp.Diff([]any{int64(1), int64(29871)}, tokens[0]); diff != "" {
				t.Errorf("the first tokens (-want +got):\n%s", diff)
			}
			ids, err := tokens[2].(*Array).Integers()
			if diff := cmp.Diff([]int64{4, 5, 6}, ids); diff != "" || err != nil {
				t.Errorf("the last tokens are %v, %v", ids, err)
			}
			if _, ok := f.Column("output"); ok {
				t.Error("there is a column output")
			}
		})
	}
}

func TestPartsOfTablesAreRead(t *testing.T) {
	f := readFrame(t, "frame_part.pkl")
	if diff := cmp.Diff([]any{"a", "c"}, column(t, f, "id")); diff != "" || f.Rows != 2 {
		t.Errorf("%d rows, ids (-want +got):\n%s", f.Rows, diff)
	}
}

func TestTablesOfOtherTypesAreRefusedByName(t *testing.T) {
	_, err := Read(readFile(t, "frame_dates.pkl"))
	if err == nil || !strings.Contains(err.Error(), "datetime") && !strings.Contains(err.Error(), "DatetimeArray") && !strings.Contains(err.Error(), "pandas") {
		t.Errorf("a column of dates: %v", err)
	}
}

func TestDamagedTablesAreErrors(t *testing.T) {
	whole := string(readFile(t, "frame_protocol4.pkl"))
	for claim, replace := range map[string][2]string{
		"rows that are not there":    {"stop\x94K\x03", "stop\x94K\x04"},
		"an endless range":           {"step\x94K\x01", "step\x94K\x00"},
		"columns beyond the last":    {"K\x04K\x05K\x01", "K\x04K\x09K\x01"},
		"a place twice":              {"K\x04K\x05K\x01", "K\x03K\x04K\x01"},
		"a name that is no text":     {"\x8c\x06origin\x94", "K\x01K\x02K\x030000"},
		"another name than a module": {"pandas.core.frame", "pandas.core.evilx"},
	} {
		t.Run(claim, func(t *testing.T) {
			damaged := strings.Replace(whole, replace[0], replace[1], 1)
			if damaged == whole {
				t.Fatal("the text to be replaced is not there")
			}
			if v, err := Read([]byte(damaged)); err == nil {
				t.Errorf("Read = %v, want an error", v)
			}
		})
	}
}
