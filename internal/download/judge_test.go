package download

import "testing"

func TestAListedFileIsReplacedWhereItsPublisherHasAnother(t *testing.T) {
	for name, tt := range map[string]struct {
		published, ours string
		want            bool
	}{
		"listed, and as published":        {"aa", "aa", true},
		"listed, but published otherwise": {"bb", "aa", false},
		"listed, and none published":      {"", "aa", true},
		"listed otherwise":                {"", "bb", false},
	} {
		t.Run(name, func(t *testing.T) {
			j := &job{list: &sumList{sums: map[string]string{"f": tt.ours}}}
			got, err := j.judge(File{Name: "f", SHA256: tt.published}, sums{SHA256: "aa"})
			if got != tt.want || err != nil {
				t.Errorf("judge = %v, %v, want %v", got, err, tt.want)
			}
		})
	}
}
