package synth

import "testing"

func TestFramesAreMixedAsInTheOfficialSets(t *testing.T) {
	const n = 20000
	type share struct {
		name      string
		low, high float64 // per cent
		of        func(f frame) bool
	}
	longer := func(f frame) int { return max(f.width, f.height) }
	common := []share{
		{"gray", 1.6, 2.4, func(f frame) bool { return f.gray }},
		{"quality from 70 to 98", 100, 100, func(f frame) bool { return f.quality >= 70 && f.quality <= 98 }},
		{"quality 90 and better", 40, 60, func(f frame) bool { return f.quality >= 90 }},
		{"upright", 18, 30, func(f frame) bool { return f.height > f.width }},
		{"square", 1, 6, func(f frame) bool { return f.height == f.width }},
		{"no side twice the other", 100, 100, func(f frame) bool { return longer(f) < 2*min(f.width, f.height) }},
	}
	for _, c := range []struct {
		name   string
		mix    mix
		shares []share
	}{
		{"ImageNet", imageNetMix(), []share{
			{"500×375 or upright", 54, 58, func(f frame) bool { return f.width+f.height == 875 && longer(f) == 500 }},
			{"300 to 640", 96, 98, func(f frame) bool { return longer(f) >= 300 && longer(f) <= 640 }},
			{"smaller than 224", 1, 2, func(f frame) bool { return longer(f) < 224 }},
			{"larger than 1000", 1, 2, func(f frame) bool { return longer(f) > 1000 }},
		}},
		{"COCO", cocoMix(), []share{
			{"640", 75, 90, func(f frame) bool { return longer(f) == 640 }},
			{"larger than 640", 0, 0, func(f frame) bool { return longer(f) > 640 }},
		}},
		{"OpenImages", openImagesMix(), []share{
			{"1024", 90, 95, func(f frame) bool { return longer(f) == 1024 }},
			{"larger than 1024", 0, 0, func(f frame) bool { return longer(f) > 1024 }},
		}},
	} {
		frames := make([]frame, n)
		for i := range frames {
			frames[i] = c.mix.draw(newStream("test", uint64(i)))
		}
		for _, s := range append(common, c.shares...) {
			count := 0
			for _, f := range frames {
				if s.of(f) {
					count++
				}
			}
			if got := 100 * float64(count) / n; got < s.low || got > s.high {
				t.Errorf("%s: %.2f %% are %s, want %v to %v", c.name, got, s.name, s.low, s.high)
			}
		}
	}
}
