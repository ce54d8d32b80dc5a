package audit

import (
	"strings"
	"testing"
)

func TestNeeds(t *testing.T) {
	for _, c := range []struct{ rules, model, want string }{
		{"v6.1", "resnet50", "TEST01 TEST04"}, {"v6.1", "resnet", "TEST01 TEST04"}, {"v6.1", "3d-unet", "TEST01"},
		{"v6.1", "gpt-oss-120b", "TEST07 TEST09"}, {"v5.0", "bert", "TEST01"}, {"v4.1", "resnet50", "TEST01 TEST04 TEST05"},
		{"v4.1", "retinanet", "TEST01 TEST05"}, {"v4.1", "llama2-70b-99", "TEST06"}, {"v4.1", "stable-diffusion-xl", "TEST01 TEST04"},
		{"v4.0", "stable-diffusion-xl", ""}, {"v4.0", "gptj-99", ""}, {"v2.1", "dlrm-99", "TEST01 TEST05"},
	} {
		t.Run(c.rules+" "+c.model, func(t *testing.T) {
			needs, err := Needs(c.rules, c.model, "offline")
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(needs[0].Tests, " "); got != c.want || len(needs) != 1 {
				t.Errorf("Needs = %v, want %s", needs, c.want)
			}
		})
	}
}

func TestConfOfUnknownTestsIsRefused(t *testing.T) {
	for _, test := range []string{"TEST06", "TEST02"} {
		if text, err := Conf(test, "resnet50"); err == nil {
			t.Errorf("Conf(%s) = %q, want an error", test, text)
		}
	}
	for model, want := range map[string]string{"resnet50": "= 4096\n", "retinanet": "= 256\n", "3d-unet-99.9": "= 64\n"} {
		if text, err := Conf("test01", model); err != nil || !strings.HasSuffix(text, want) {
			t.Errorf("Conf(TEST01, %s) = %q, %v, want the end %q", model, text, err, want)
		}
	}
}
