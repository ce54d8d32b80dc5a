package rounds

import "testing"

func TestSpeculativeDecodingOfTheClosedDivision(t *testing.T) {
	head := "nvidia/gpt-oss-120b-Eagle3-long-context"
	for _, c := range []struct {
		version, benchmark, scenario string
		given                        Speculation
		ok                           bool
		want                         string
	}{
		{"v6.1", "gpt-oss-120b", "Interactive", Speculation{"EAGLE3", head, 3, 1, 2.5}, true, "EAGLE3 with " + head + ", num-steps 3, topk 1"},
		{"v6.1", "gpt-oss-120b", "Interactive", Speculation{"eagle3", head, 4, 1, 0}, false, "EAGLE3 with " + head + ", num-steps 3, topk 1"},
		{"v6.1", "gpt-oss-120b", "Interactive", Speculation{"EAGLE3", "my/head", 3, 1, 0}, false, "EAGLE3 with " + head + ", num-steps 3, topk 1"},
		{"v6.1", "gpt-oss-120b", "Server", Speculation{"EAGLE3", head, 3, 1, 0}, false, ""},
		{"v6.1", "deepseek-r1", "Interactive", Speculation{"EAGLE", "", 3, 1, 0}, true, "EAGLE, num-steps 3, topk 1"},
		{"v6.1", "deepseek-r1", "Interactive", Speculation{"EAGLE", "", 3, 4, 0}, false, "EAGLE, num-steps 3, topk 1"},
		{"v6.1", "deepseek-r1", "Offline", Speculation{"EAGLE", "", 3, 1, 0}, false, ""},
		{"v6.1", "qwen3.6-27b", "SingleStream", Speculation{"MTP", "", 2, 0, 0}, true, "MTP, num-steps declared"},
		{"v6.1", "qwen3.6-27b", "SingleStream", Speculation{"MTP", "", 0, 0, 0}, false, "MTP, num-steps declared"},
		{"v6.1", "llama3.1-8b", "Interactive", Speculation{"NGRAM", "", 3, 1, 0}, false, ""},
		{"v5.1", "deepseek-r1", "Interactive", Speculation{"EAGLE", "", 3, 1, 0}, false, ""},
	} {
		if ok, want := Allows(c.version, c.benchmark, c.scenario, c.given); ok != c.ok || want != c.want {
			t.Errorf("%s %s %s %v: %v, %q, want %v, %q", c.version, c.benchmark, c.scenario, c.given, ok, want, c.ok, c.want)
		}
	}
}
