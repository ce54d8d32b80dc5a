//go:build ort && linux

package decode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/ort"
	"github.com/mlperf-go/mlperf/internal/backend/ort/orttest"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/onnx/arch"
)

// These benchmarks compare ways to decode with the built-in decoder of 60 M parameters, in turns: what is
// reported are ratios of one run (make bench-generate).

const turns = 5

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}

// wholeDecoder opens the decoder that runs have, at its full size.
func wholeDecoder(b *testing.B, architecture arch.Architecture, threads int, room Limits) (*Decoder, string) {
	b.Helper()
	before := small
	small = arch.Options{}
	path := written(b, architecture)
	small = before
	return opened(b, orttest.Engine(b), backend.Options{ModelPath: path, IntraThreads: threads}, "", room), path
}

// BenchmarkORTDecodeLoop compares a step with that of a loop in C over the same model.
func BenchmarkORTDecodeLoop(b *testing.B) {
	const prompt, tokens, length = 64, 200, 512
	program := filepath.Join(b.TempDir(), "cdecode")
	if out, err := exec.Command("cc", "-O2", "-w", "-o", program, "testdata/cdecode/cdecode.c", "-ldl").CombinedOutput(); err != nil {
		b.Skipf("the C loop cannot be compiled: %v: %s", err, out)
	}
	ids := make([]int32, prompt)
	for i := range ids {
		ids[i] = int32(16 + 7*i%97)
	}
	for _, form := range []arch.Architecture{arch.SmallLlama(arch.FusedDecoder), arch.SmallLlama(arch.FusedInt4)} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s, %d threads", form.Name, threads), func(b *testing.B) {
				d, path := wholeDecoder(b, form, threads, Limits{1, length, prompt})
				args := []string{os.Getenv(ort.LibraryVariable), path}
				for _, n := range []int64{int64(threads), int64(d.layout.Layers), d.layout.KVHeads, d.layout.HeadSize, d.layout.Rows, length, prompt, tokens} {
					args = append(args, strconv.FormatInt(n, 10))
				}
				var ours, theirs, ratios []float64
				for b.Loop() {
					for turn := range turns {
						var c, own float64
						for side := range 2 {
							if (turn+side)%2 == 0 {
								c = inC(b, d, program, args)
							} else {
								own = stepTime(b, d, ids, tokens)
							}
						}
						ours, theirs, ratios = append(ours, own), append(theirs, c), append(ratios, c/own)
					}
				}
				b.ReportMetric(median(ours), "step-ms")
				b.ReportMetric(median(theirs), "C-step-ms")
				b.ReportMetric(median(ratios), "C/ours")
			})
		}
	}
}

// inC runs the loop in C, which ends with the same token.
func inC(b *testing.B, d *Decoder, program string, args []string) float64 {
	out, err := exec.CommandContext(b.Context(), program, args...).Output()
	if err != nil {
		b.Fatalf("the C loop: %v", err)
	}
	var ms float64
	var token int
	if _, err := fmt.Sscan(string(out), &ms, &token); err != nil {
		b.Fatalf("the C loop says %q: %v", out, err)
	}
	if d.Length(0) > 0 && token != d.Next(0) {
		b.Fatalf("the C loop ends with token %d, the decoder with %d", token, d.Next(0))
	}
	return ms
}

// stepTime is the median time of a step, ms.
func stepTime(b *testing.B, d *Decoder, ids []int32, tokens int) float64 {
	d.Clear(0)
	if err := d.Prefill(b.Context(), 0, ids); err != nil {
		b.Fatal(err)
	}
	times := make([]float64, tokens)
	for i := range times {
		start := time.Now()
		if err := d.Step(context.Background(), 1); err != nil {
			b.Fatal(err)
		}
		times[i] = time.Since(start).Seconds() * 1e3
	}
	return median(times)
}

// A meter measures the answers of a Batcher.
type meter struct {
	items   []workload.Item
	static  bool // admits only when all are answered
	under   int
	began   time.Time
	first   map[int]time.Duration
	tokens  int
	tpot    []float64 // ms
	elapsed time.Duration
}

func (m *meter) Admit(items []workload.Item, n int, _ bool) ([]workload.Item, bool) {
	if m.static && m.under > 0 {
		return items, true
	}
	n = min(n, len(m.items))
	items = append(items, m.items[:n]...)
	m.items = m.items[n:]
	m.under += n
	return items, len(m.items) > 0
}

func (m *meter) FirstToken(ticket int, _ []byte) { m.first[ticket] = time.Since(m.began) }
func (*meter) Token(int, []byte)                 {}
func (*meter) Worked()                           {}

func (m *meter) Done(ticket int, _ []byte, tokens int) {
	m.under--
	m.tokens += tokens
	m.elapsed = time.Since(m.began)
	m.tpot = append(m.tpot, (m.elapsed-m.first[ticket]).Seconds()*1e3/float64(max(1, tokens-1)))
}

// serve answers prompts and says how many tokens were made per second, and the 99th percentile of TPOT.
func serve(b *testing.B, d *Decoder, static bool, prompts [][]int32, newTokens int) (rate, p99 float64) {
	b.Helper()
	m := &meter{items: itemsOf(len(prompts)), static: static, began: time.Now(), first: map[int]time.Duration{}}
	batcher := NewBatcher(d, Rules{MinNew: newTokens, MaxNew: newTokens, Width: 4}, func(i workload.Item) []int32 { return prompts[i.Index] })
	if err := batcher.Serve(b.Context(), m); err != nil {
		b.Fatal(err)
	}
	slices.Sort(m.tpot)
	return float64(m.tokens) / m.elapsed.Seconds(), m.tpot[len(m.tpot)*99/100]
}

func plainPrompts(n int, length func(i int) int) [][]int32 {
	prompts := make([][]int32, n)
	for i := range prompts {
		for k := range length(i) {
			prompts[i] = append(prompts[i], int32(16+(7*k+i)%97))
		}
	}
	return prompts
}

// BenchmarkORTSlots compares tokens per second of 8 slots with those of one.
func BenchmarkORTSlots(b *testing.B) {
	prompts := plainPrompts(16, func(int) int { return 8 })
	one, _ := wholeDecoder(b, arch.SmallLlama(arch.FusedDecoder), 2, Limits{1, 128, 8})
	eight, _ := wholeDecoder(b, arch.SmallLlama(arch.FusedDecoder), 2, Limits{8, 128, 8})
	var ratios []float64
	for b.Loop() {
		for range turns {
			slow, _ := serve(b, one, false, prompts[:4], 64)
			fast, _ := serve(b, eight, false, prompts, 64)
			ratios = append(ratios, fast/slow)
		}
	}
	b.ReportMetric(median(ratios), "8-slots/1-slot")
}

// BenchmarkORTMixedLoad compares the 99th percentile of TPOT where every fourth prompt is long: read in
// chunks, at once, and with batches that are answered as a whole.
func BenchmarkORTMixedLoad(b *testing.B) {
	prompts := plainPrompts(32, func(i int) int {
		if i%4 == 3 {
			return 900
		}
		return 24
	})
	var p99, rate [3][]float64
	chunked, _ := wholeDecoder(b, arch.SmallLlama(arch.FusedDecoder), 2, Limits{8, 1024, 64})
	whole, _ := wholeDecoder(b, arch.SmallLlama(arch.FusedDecoder), 2, Limits{8, 1024, 900})
	for b.Loop() {
		for range 2 {
			for way, do := range []func() (float64, float64){
				func() (float64, float64) { return serve(b, chunked, false, prompts, 40) },
				func() (float64, float64) { return serve(b, whole, false, prompts, 40) },
				func() (float64, float64) { return serve(b, whole, true, prompts, 40) },
			} {
				r, p := do()
				rate[way], p99[way] = append(rate[way], r), append(p99[way], p)
			}
		}
	}
	for way, name := range []string{"chunked", "unchunked", "static"} {
		b.ReportMetric(median(p99[way]), name+"-p99-TPOT-ms")
		b.ReportMetric(median(rate[way]), name+"-tok/s")
	}
}
