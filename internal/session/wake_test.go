package session

import (
	"runtime"
	"testing"
)

func TestOnlyAClientOfServersHasMorePlacesThanCores(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(before)
	for engine, want := range map[string]int{OpenAI: placesToRun, Simulated: 2, OIP: 2} {
		undo := (&Resolved{Request: Request{Engine: Engine{Name: engine}}}).wakeQuickly()
		if n := runtime.GOMAXPROCS(0); n != want {
			t.Errorf("%s: %d places, want %d", engine, n, want)
		}
		if undo(); runtime.GOMAXPROCS(0) != 2 {
			t.Errorf("%s: %d places afterwards", engine, runtime.GOMAXPROCS(0))
		}
	}
}
