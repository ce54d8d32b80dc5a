package download

import "fmt"

// Bytes is a number of bytes as people read it: 815.6 MB.
type Bytes int64

// String returns the number with three or four digits and a decimal unit.
func (b Bytes) String() string {
	if b < 1000 {
		return fmt.Sprintf("%d B", int64(b))
	}
	v, unit := float64(b), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if v /= 1000; v < 999.95 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", v, unit)
}
