package models

import (
	"slices"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/models/modeltest"
)

// ofNoRound are the benchmarks of MLPerf Mobile.
var ofNoRound = []string{"mobilenet-edgetpu", "ssd-mobilenet-v2", "deeplab-v3plus", "mobilebert"}

func TestEveryBenchmarkIsThatOfTheCheckersOrOfNoRound(t *testing.T) {
	all := others()
	for _, m := range slices.Concat(All(), Asked()) {
		all = append(all, m.Rules)
		if !slices.Contains(ofNoRound, m.Name) {
			modeltest.Quality(t, m)
		}
	}
	modeltest.Rules(t, all...)
}

// The interactive variants of v5.0 are scenarios since.
func TestEveryBenchmarkOfTheCheckersIsKnown(t *testing.T) {
	for _, row := range modeltest.Rows(t) {
		if _, ok := Rules(row.Name); !ok && !strings.Contains(row.Name, "-interactive-") {
			t.Errorf("nobody knows %s, which %s has", row.Name, row.First)
		}
	}
}
