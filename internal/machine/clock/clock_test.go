package clock

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestStep: half of the steps between different readings are shorter than any answer takes.
func TestStep(t *testing.T) {
	const most = 10 * time.Microsecond
	short := 0
	for range 100 {
		before := Now()
		step := time.Duration(0)
		for step == 0 {
			step = Since(before)
		}
		if step < 0 {
			t.Fatalf("the clock went back by %v", -step)
		}
		if step <= most {
			short++
		}
	}
	if short < 50 {
		t.Errorf("%d of 100 steps took at most %v, expected 50", short, most)
	}
}

func TestAgreesWithTheSystem(t *testing.T) {
	for range 5 {
		before, now, after := time.Now(), Now(), time.Now()
		const tick = 20 * time.Millisecond // Windows'
		if now.Sub(before) < -tick || now.Sub(after) > tick {
			t.Errorf("read %v after one reading of time.Now and %v before the next", now.Sub(before), after.Sub(now))
		}
		time.Sleep(time.Millisecond)
	}
}

func TestFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := Now()
		time.Sleep(time.Hour)
		if passed := Since(began); passed != time.Hour {
			t.Errorf("an hour of fake time lasted %v", passed)
		}
	})
}
