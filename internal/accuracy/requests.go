package accuracy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// A Recommendation is the answer to a request of DLRMv3: the time stamp and the number of the request among those of its time stamp,
// and predictions for its candidates. In logs of accuracy the labels and weights of the candidates are behind them.
type Recommendation struct {
	Time, Query                  int
	Predictions, Labels, Weights []float32
}

// ParseRecommendation reads a response, float32 (recommendation/dlrm_v3/main.py, Runner.run_one_item): time stamp, query, predictions, and
// if labelled also labels, weights, and the number of candidates.
func ParseRecommendation(data []byte, labelled bool) (r Recommendation, err error) {
	if len(data)%4 != 0 {
		return r, fmt.Errorf("%d bytes are not numbers of 4 bytes", len(data))
	}
	v := make([]float32, len(data)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	if len(v) < 2 {
		return r, fmt.Errorf("%d numbers, expected a time, a query, and predictions", len(v))
	}
	count := float32(0)
	if labelled {
		count = v[len(v)-1]
	}
	for i, x := range []float32{v[0], v[1], count} {
		if !(math.Abs(float64(x)) <= 1<<31) {
			return r, fmt.Errorf("the %s is %v: must be a whole number", []string{"time", "query", "number of candidates"}[i], x)
		}
	}
	r = Recommendation{Time: int(v[0]), Query: int(v[1]), Predictions: v[2:]}
	if labelled {
		n := int(count)
		if n < 0 || len(v) != 3+3*n {
			return r, fmt.Errorf("%d numbers for %d candidates, expected %d", len(v), n, 3+3*n)
		}
		r.Predictions, r.Labels, r.Weights = v[2:2+n], v[2+n:2+2*n], v[2+2*n:2+3*n]
	}
	return r, nil
}

// Append writes the response; one without labels has predictions only.
func (r Recommendation) Append(dst []byte) []byte {
	number := func(v float32) { dst = binary.LittleEndian.AppendUint32(dst, math.Float32bits(v)) }
	number(float32(r.Time))
	number(float32(r.Query))
	for _, list := range [][]float32{r.Predictions, r.Labels, r.Weights} {
		for _, v := range list {
			number(v)
		}
	}
	if r.Labels != nil {
		number(float32(len(r.Labels)))
	}
	return dst
}

// check wants numbers that can be scored.
func (r Recommendation) check() error {
	for i, p := range r.Predictions {
		switch label := r.Labels[i]; {
		case p-p != 0:
			return fmt.Errorf("prediction %d is %v, which is not a number", i, p)
		case label != 0 && label != 1:
			return fmt.Errorf("label %d is %v, which must be 0 or 1", i, label)
		}
	}
	return nil
}

// Values of the score of DLRMv3.
const (
	NormalizedEntropy = "NE"
	GroupedAUC        = "GAUC"
)

// ScoreRequests scores a log of recommendations as accuracy.py of DLRMv3 does (with torchrec's metrics): the entropy of the predictions
// divided by that of the mean label, of which 1 is as good as a guess and less is better; the share of predictions on the right side of one
// half; and the mean over the requests of the area under the ROC curve. All records count, also those of a request that was there before.
// The lines are those of the script, with the same for the last 3000 candidates. Samples is the number of requests of the data set.
//
// Sums are those of PyTorch for processors with AVX2, on which the last digits depend.
func ScoreRequests(log Input, samples int) (*Score, error) {
	score := &Score{Coverage: Coverage{Samples: samples}}
	var all requestSums
	window := requestWindow{}
	seen := map[[2]int]bool{}
	var parts [][]float64
	for rec, err := range Records(log) {
		if err != nil {
			return nil, err
		}
		r, err := ParseRecommendation(rec.Data, true)
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return nil, rec.errorf(log, "%w", err)
		}
		key := [2]int{r.Time, r.Query}
		score.Coverage.count(seen[key])
		seen[key] = true
		one := sumsOf(r)
		all.add(one, 1)
		window.add(one, len(r.Predictions))
		parts = append(parts, one[:sumGood])
	}
	count := score.Coverage.records()
	if count == 0 {
		return nil, errNoRecord(log)
	}
	if all[sumWeights] == 0 {
		return nil, fmt.Errorf("%s: no record has a candidate with a weight", log.Name())
	}
	score.Values = []Value{
		{Name: NormalizedEntropy, Value: all.entropy(), LowerIsBetter: true, Resampled: resampleSums(parts, sumGood, func(s []float64) float64 {
			return entropyOf(s[sumEntropy], s[sumWeights], s[sumPositive], s[sumNegative])
		})},
		{Name: "accuracy", Value: all.accuracy()},
		{Name: GroupedAUC, Value: all.area()},
	}
	score.printf("WARNING:main:Parsing loadgen accuracy log...")
	score.printf("WARNING:main:results have %d entries", count)
	say := func(name string, of func(requestSums) float64) {
		for i, sums := range []requestSums{all, window.sums} {
			score.printf("WARNING:main:metric/%s_%s/rating: %s", []string{"lifetime", "window"}[i], name, pythonFloat(of(sums)))
		}
	}
	say("ne", requestSums.entropy)
	say("accuracy", requestSums.accuracy)
	say("gauc", requestSums.area)
	say("gauc_num_samples", func(s requestSums) float64 { return s[sumRequests] })
	if score.Coverage.Repeated > 0 {
		score.warnf("%d records are of requests that the log has before: accuracy.py counts them too", score.Coverage.Repeated)
	}
	return score, nil
}

// requestSums are the states of torchrec's metrics.
type requestSums [7]float64

const (
	sumEntropy = iota
	sumWeights
	sumPositive
	sumNegative
	sumGood // of weights
	sumArea
	sumRequests // whose area counts
)

func (s *requestSums) add(one requestSums, sign float64) {
	for i, v := range one {
		s[i] += sign * v
	}
}

func (s requestSums) entropy() float64 {
	return entropyOf(s[sumEntropy], s[sumWeights], s[sumPositive], s[sumNegative])
}

// entropyOf is the normalised entropy of sums (torchrec/metrics/ne.py).
func entropyOf(entropy, weights, positive, negative float64) float64 {
	mean := clipped(positive / weights)
	return entropy / (float64(-positive*log2(mean)) - float64(negative*log2(1-mean)))
}

// accuracy is the share of weights whose prediction is on the right side (torchrec/metrics/accuracy.py).
func (s requestSums) accuracy() float64 { return s[sumGood] / s[sumWeights] }

// area is the mean area of the requests (torchrec/metrics/gauc.py).
func (s requestSums) area() float64 { return (s[sumArea] + 1e-9) / (s[sumRequests] + 2e-9) }

// clipped keeps logarithms finite.
func clipped(p float64) float64 {
	const least = 1e-12
	return min(max(p, least), 1-least)
}

// sumsOf are those of a request. Like the tensors of the script, all but the entropy are float32.
func sumsOf(r Recommendation) (s requestSums) {
	entropies := make([]float64, len(r.Predictions))
	var weights, positive, negative, good float32
	for i, p := range r.Predictions {
		label, w := r.Labels[i], r.Weights[i]
		chance := clipped(float64(p))
		entropies[i] = float64(float64(-w*label)*log2(chance)) - float64(float64(w*(1-label))*log2(1-chance))
		weights, positive, negative = weights+w, positive+w*label, negative+w*(1-label)
		if (p >= 0.5) == (label == 1) {
			good += w
		}
	}
	s = requestSums{sumEntropy: torchSum(entropies), sumWeights: float64(weights), sumPositive: float64(positive), sumNegative: float64(negative),
		sumGood: float64(good)}
	if area, counts := areaOf(r); counts {
		s[sumArea], s[sumRequests] = float64(area), 1
	}
	return s
}

// areaOf is the area under the ROC curve of a request, as float32. Of equal predictions the first is ranked higher. False: its labels, or
// its predictions, are all the same, or but for zeros.
func areaOf(r Recommendation) (area float32, counts bool) {
	n := len(r.Predictions)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Predictions[b], r.Predictions[a]) })
	var ranks, positives float32
	differ := false
	for place, i := range order {
		differ = differ || r.Predictions[i] != r.Predictions[0] && r.Predictions[i] != 0
		if r.Labels[i] != 0 {
			ranks += float32(n - place)
			positives++
		}
	}
	above := ranks - float32(positives*(positives+1)/2)
	return above / float32(float32(positives*(float32(n)-positives))+1e-10), differ && positives >= 1 && positives < float32(n)
}

// A requestWindow has the sums of the last requests (torchrec/metrics/rec_metric.py, WindowBuffer). What leaves the window is subtracted, so
// that roundings stay, as there.
type requestWindow struct {
	sums       requestSums
	last       []windowRequest
	candidates int
}

type windowRequest struct {
	sums       requestSums
	candidates int
}

func (w *requestWindow) add(one requestSums, candidates int) {
	const mostCandidates, mostRequests = 3000, 1000 // of accuracy.py; of torchrec
	drop := func() {
		w.sums.add(w.last[0].sums, -1)
		w.candidates -= w.last[0].candidates
		w.last = w.last[1:]
	}
	if len(w.last) == mostRequests {
		drop()
	}
	w.last = append(w.last, windowRequest{one, candidates})
	w.sums.add(one, 1)
	for w.candidates += candidates; w.candidates > mostCandidates; {
		drop()
	}
}

// torchSum adds as PyTorch adds a row of float64 on a processor with AVX2 (ATen/native/cpu/SumKernel.cpp): four rows of four lanes side by
// side, each in parts of parts, which are added up from the smallest.
func torchSum(v []float64) float64 {
	const lanes, rows, levels = 4, 4, 4
	vectors := len(v) / lanes
	size := vectors / rows
	power := max(4, bits.Len(uint(max(size, 1)-1))/levels)
	var sums [levels][rows * lanes]float64
	load := func(i int) {
		for k := range sums[0] {
			sums[0][k] += v[i*rows*lanes+k]
		}
	}
	i := 0
	for i+1<<power <= size {
		for range 1 << power {
			load(i)
			i++
		}
		for level := 1; level < levels; level++ {
			for k := range sums[level] {
				sums[level][k] += sums[level-1][k]
				sums[level-1][k] = 0
			}
			if i&((1<<power-1)<<(level*power)) != 0 {
				break
			}
		}
	}
	for ; i < size; i++ {
		load(i)
	}
	all := sums[0]
	for _, level := range sums[1:] {
		for k, s := range level {
			all[k] += s
		}
	}
	for at := size * rows * lanes; at < vectors*lanes; at++ {
		all[at%lanes] += v[at]
	}
	sum := 0.0
	for _, x := range v[vectors*lanes:] {
		sum += x
	}
	for lane := range lanes {
		of := all[lane]
		for row := 1; row < rows; row++ {
			of += all[row*lanes+lane]
		}
		sum += of
	}
	return sum
}

// log2 is the logarithm to the base 2, rounded correctly but for a case in thousands: math.Log2 is off by one bit more often, and sums of
// thousands are printed with all digits.
func log2(x float64) float64 {
	const high, low = 2.8853900817779268, 4.0710547481862066e-17 // 2/ln 2
	m, exponent := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, exponent = 2*m, exponent-1
	}
	// log2 m = 2/ln 2·(s + s³/3 + s⁵/5 + …) of s = (m-1)/(m+1), in two numbers.
	over := m + 1
	s := (m - 1) / over
	rest := (math.FMA(-s, over, m-1) - s*(m-(over-1))) / over
	z, series := s*s, 0.0
	for k := 25.0; k >= 3; k -= 2 {
		series = series*z + 1/k
	}
	a := high * s
	tail := math.FMA(high, s, -a) + high*rest + low*s + a*z*series
	whole := float64(exponent) + a
	if exponent != 0 {
		tail += a - (whole - float64(exponent))
	}
	return whole + tail
}
