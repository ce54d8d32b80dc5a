package builtin

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mlperf-go/mlperf/internal/userinput"
)

// The decoder of 8 B parameters takes 5.7 GB: nothing of it is written where it has no room.
func TestAModelThatIsTooLargeIsRefusedWithBothNumbers(t *testing.T) {
	const gb = 1_000_000_000
	for _, test := range []struct {
		name         string
		disk, memory uint64
		full         bool
		want         string
	}{
		{"too little disk", 3 * gb, 100 * gb, true, "has room for 3000 MB"},
		{"too little memory", 100 * gb, 6 * gb, true, "MB of memory, 6000 MB are free"},
		{"a small model on a full disk", 1000, 100 * gb, false, "has room for 0 MB"},
	} {
		m := Maker{
			Dir: t.TempDir(), Observer: &observer{t: t}, FullSize: test.full,
			FreeDisk: func(string) uint64 { return test.disk }, FreeMemory: func() uint64 { return test.memory },
		}
		_, err := m.Model(t.Context(), lookupModel(t, "llama3.1-8b"))
		var named *userinput.Error
		if errors.As(err, &named) != test.full || test.full && named.Field != "full_size" || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.want)
		}
		if test.full && !strings.Contains(err.Error(), "57") { // 5.7 GB
			t.Errorf("%s: %v does not say how much is needed", test.name, err)
		}
		if list, err := os.ReadDir(m.Dir + "/models"); err != nil || len(list) > 0 {
			t.Errorf("%s: %d files were written, %v", test.name, len(list), err)
		}
	}
}
