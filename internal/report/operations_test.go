package report

import "testing"

func TestOperations(t *testing.T) {
	o := &Operations{Parameters: 25557032, MACs: 4089184256}
	o.Measured(&Performance{SamplesPerSecond: 100})
	for _, c := range []struct {
		change func(o *Operations)
		want   string
	}{
		{func(*Operations) {}, "25.6 M parameters, 4.09 GMAC a sample, 818 GFLOP/s"},
		{func(o *Operations) { o.Ceiling = &Ceiling{GFLOPS: 1022.296064, Precision: "fp32"} }, "25.6 M parameters, 4.09 GMAC a sample, 818 GFLOP/s, 80 % of the 1.02 TFLOP/s of a matrix product (fp32)"},
		{func(o *Operations) { o.GFLOPS, o.Once = 0, []string{"body"} }, "25.6 M parameters, 4.09 GMAC a sample; loops counted once: body"},
		{func(o *Operations) { *o = Operations{Parameters: 999, Uncounted: []string{"a", "b", "c", "d", "e"}} }, "999 parameters; not counted: a, b, c and 2 more"},
	} {
		got := *o
		if c.change(&got); got.String() != c.want {
			t.Errorf("%q, want %q", got.String(), c.want)
		}
	}
}
