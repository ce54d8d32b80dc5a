package compliance

import (
	"strings"
	"testing"
)

func TestNeeds(t *testing.T) {
	for _, c := range []struct{ rules, model, want string }{
		{"v6.1", "resnet50", "TEST01 TEST04"}, {"v6.1", "resnet", "TEST01 TEST04"}, {"v6.1", "3d-unet", "TEST01"},
		{"v6.1", "gpt-oss-120b", "TEST07 TEST09"}, {"v5.0", "bert", "TEST01"}, {"v4.1", "resnet50", "TEST01 TEST04 TEST05"}, {"v4.1", "resnet50_v1", "TEST01 TEST04 TEST05"}, {"v2.1", "resnet50", "TEST01 TEST04 TEST05"},
		{"v4.1", "retinanet", "TEST01 TEST05"}, {"v4.1", "llama2-70b-99", "TEST06"}, {"v4.1", "stable-diffusion-xl", "TEST01 TEST04"},
		{"v4.0", "stable-diffusion-xl", ""}, {"v4.0", "gptj-99", ""}, {"v2.1", "dlrm-99", "TEST01 TEST05"},
		{"v2.0", "resnet50", "TEST01 TEST04-A TEST04-B TEST05"}, {"v0.7", "ssd-mobilenet", "TEST01 TEST04-A TEST04-B TEST05"}, {"v1.0", "bert", "TEST01 TEST05"},
		{"v0.5", "mobilenet", "TEST01 TEST03 TEST04-A TEST04-B TEST05"}, {"v0.5", "gnmt", "TEST01 TEST03 TEST05"},
	} {
		needs, err := Needs(c.rules, c.model, "offline")
		if err != nil || len(needs) != 1 || strings.Join(needs[0].Tests, " ") != c.want {
			t.Errorf("Needs(%s, %s) = %v, %v, want %s", c.rules, c.model, needs, err, c.want)
		}
	}
}

func TestNeedsOfAllScenarios(t *testing.T) {
	needs, err := Needs("", "resnet50", "")
	if err != nil || len(needs) != 4 {
		t.Fatalf("Needs = %v, %v, want four scenarios", needs, err)
	}
	for _, c := range []struct{ rules, model, scenario, want string }{
		{"v9", "resnet50", "", "v9"}, {"", "resnet50", "burst", "burst"}, {"v4.1", "gnmt", "", `rules v4.1 have no benchmark "gnmt"; they have 3d-unet-99, `},
		{"v5.1", "mine", "offline", `rules v5.1 have no benchmark "mine"; they have `},
	} {
		if _, err := Needs(c.rules, c.model, c.scenario); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Needs(%s, %s, %s): %v, want %q", c.rules, c.model, c.scenario, err, c.want)
		}
	}
	if needs, err := Needs("", "llama3.1-8b", "interactive"); err != nil || len(needs) != 1 || needs[0].Scenario != "Interactive" {
		t.Errorf("Interactive: %v, %v", needs, err)
	}
}

func TestConf(t *testing.T) {
	for _, c := range []struct{ test, model, rules, want string }{
		{"test01", "resnet50", "", "*.*.accuracy_log_rng_seed = 720381539243781796\n*.*.accuracy_log_sampling_target = 4096\n"},
		{test01, "retinanet", "", "= 256\n"}, {test01, "3d-unet-99.9", "", "= 64\n"},
		{test01, "resnet50", "v0.5", "*.Offline.accuracy_log_rng_seed = 456\n*.Offline.accuracy_log_probability = 10\n"},
		{test04, "resnet50", "v0.7", "*.*.performance_issue_unique = 0\n*.*.performance_issue_same = 1\n*.*.performance_issue_same_index = 3\n"},
		{test05, "resnet50", "v4.1", "*.*.test05 = 1\n"},
		{test06, "llama2-70b-99", "", "*.*.accuracy_log_sampling_target = 100\n*.*.min_query_count = 100\n*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0\n"},
		{test07, "gpt-oss-120b", "", "*.*.accuracy_log_sampling_target = 990\n*.*.min_query_count = 990\n*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0\n*.*.performance_issue_unique = 1\n"},
		{test08, "dlrm-v3", "", "*.*.accuracy_log_sampling_target = 4096\n"},
		{test09, "gpt-oss-120b", "", "*.*.min_query_count = 6396\n*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0\n*.*.performance_issue_unique = 1\n"},
		{test09, "e2e-rag-qna", "", "*.*.min_query_count = 824\n*.*.min_duration = 0\n*.*.sample_concatenate_permutation = 0\n"},
		{test03, "resnet50", "v0.5", ""},
	} {
		text, err := Conf(c.test, c.model, c.rules)
		if err != nil || !strings.HasSuffix(text, c.want) || c.want != "" && !strings.Contains(text, "*.*.mode = 2\n") {
			t.Errorf("Conf(%s, %s, %s) = %q, %v, want the end %q", c.test, c.model, c.rules, text, err, c.want)
		}
	}
}

func TestRoundsOfTests(t *testing.T) {
	for _, c := range []struct{ test, rules, want string }{
		{"TEST02", "", "test is \"TEST02\": must be one of TEST01, "}, {test03, "v0.7", "TEST03 is of the rules up to v0.5, not of v0.7"},
		{test05, "v5.0", "TEST05 is of the rules up to v4.1, not of v5.0"}, {test07, "v5.1", "TEST07 is of the rules from v6.0 on, not of v5.1"}, {test01, "v9", "rules"},
	} {
		if _, err := Conf(c.test, "resnet50", c.rules); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Conf(%s) of %s: %v, want %q", c.test, c.rules, err, c.want)
		}
	}
}
