package main

import (
	"runtime"
	"testing"
)

func TestAClientOfServersHasMorePlacesThanCores(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(before)
	for _, want := range []int{2, placesToRun} { // a second run finds those of the first
		if cores := makePlaces(); cores != want || runtime.GOMAXPROCS(0) != placesToRun {
			t.Errorf("there were %d places, want %d; there are %d", cores, want, runtime.GOMAXPROCS(0))
		}
	}
	runtime.GOMAXPROCS(4 * placesToRun)
	if makePlaces(); runtime.GOMAXPROCS(0) != 4*placesToRun {
		t.Errorf("%d places of %d", runtime.GOMAXPROCS(0), 4*placesToRun)
	}
}
