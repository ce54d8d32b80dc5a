package arch

import "testing"

// The published model has 214 categories of a pair and 204,184,588 rows.
func TestDLRMv2HasThePublishedTables(t *testing.T) {
	hot, rows := int64(0), int64(0)
	for i, n := range DLRMv2Rows(dlrmLargest) {
		hot, rows = hot+DLRMv2Hot()[i], rows+n
	}
	if hot != 214 || rows != 204184588 {
		t.Errorf("%d categories and %d rows", hot, rows)
	}
	small := DLRMv2Rows(50)
	if small[0] != 50 || small[5] != 3 {
		t.Errorf("limited to 50 rows: %v", small)
	}
}
