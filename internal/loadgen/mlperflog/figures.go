package mlperflog

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mlperf-go/mlperf/internal/loadgen"
)

// Figures that both logs have, beside those of loadgen.Performance
// (loadgen/results.cc). All are per second, and NaN if nothing was measured.

func tokensPer(p *loadgen.Performance, d time.Duration) float64 {
	return rate(float64(p.TokenCount), seconds(d))
}

func rate(n, time float64) float64 {
	if n < 0 || time <= 0 {
		return math.NaN()
	}
	return n / time
}

// estimates returns the latencies that early stopping guarantees. With token latencies the
// reference evaluates the criterion twice, and the second result, for the first token,
// remains.
func estimates(p *loadgen.Performance) (singleStream, multiStream time.Duration) {
	e := p.EarlyStopping
	if p.Effective.UseTokenLatencies && p.FirstTokenEarlyStopping.Met {
		e = p.FirstTokenEarlyStopping
	}
	if p.Effective.Scenario == loadgen.MultiStream {
		return 0, e.Estimate
	}
	return e.Estimate, e.MultiStreamEstimate
}

// general writes a number as a C++ stream does by default: six significant digits, no trailing zeros.
func general(v float64) string { return formatReal(v, 'g', 6) }

// fixed writes a number with so many decimals.
func fixed(v float64, decimals int) string { return formatReal(v, 'f', decimals) }

func twoDecimals(v float64) string { return fixed(v, 2) }

// formatReal spells NaN and infinities as Python's JSON reads them; a C++ stream writes nan and inf.
func formatReal(v float64, format byte, precision int) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, format, precision, 64)
}

// percent writes a fraction as a percentage.
func percent(p float64, decimals int) string { return fixed(p*100, decimals) }

func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

// oneLine replaces line breaks, which would end a line of a log.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u0085' || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}
