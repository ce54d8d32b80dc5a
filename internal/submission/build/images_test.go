package build

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/compliance"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// captions stand in for COCO's and Stable Diffusion XL: of the images only the scores are known.
type captions struct {
	numbers
	clip, fid float64
}

const coco = 5000

func (c captions) workload() *workload.Workload {
	w := c.numbers.workload()
	w.Samples = coco
	return w
}

func (c captions) score(ctx context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	return accuracy.ImageScore(slices.Repeat([]float64{c.clip}, coco), c.fid, accuracy.Coverage{Samples: coco, Scored: coco})
}

// imageCampaign makes the runs of an edge system. The images of the newest round are not shown.
func imageCampaign(t *testing.T, scores captions) *campaign {
	const name = "stable-diffusion-xl"
	c := &campaign{dir: t.TempDir(), model: name, numbers: scores}
	synctest.Test(t, func(t *testing.T) {
		c.t = t
		for _, s := range []loadgen.Scenario{loadgen.SingleStream, loadgen.Offline} {
			dir := filepath.Join(c.dir, s.String())
			c.run(s, "performance", "", dir+"/runs/performance")
			c.run(s, "accuracy", "", dir+"/runs/accuracy")
			needs, err := compliance.Needs("v6.1", name, s.String())
			ok(t, err)
			for _, need := range needs {
				for _, test := range need.Tests {
					c.audit(s, test, dir)
				}
			}
		}
	})
	c.t = t
	return c
}

func TestATreeOfImagesPasses(t *testing.T) {
	testenv.SkipLong(t, "runs of 600 s of fake time")
	t.Parallel()
	c := imageCampaign(t, captions{clip: 31.75, fid: 23.5})
	q := c.request()
	q.Measurements["starting_weights_filename"] = "stable-diffusion-xl-base-1.0"
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 2 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
	c.mayNotEnter()
}

func TestImagesThatMissARangeDoNotPass(t *testing.T) {
	testenv.SkipLong(t, "runs of 600 s of fake time")
	t.Parallel()
	for name, scores := range map[string]captions{
		"images that fit their captions too well": {clip: 31.9, fid: 23.5},
		"images that are too like photographs":    {clip: 31.75, fid: 22},
	} {
		built, err := Build(t.Context(), imageCampaign(t, scores).request())
		ok(t, err)
		if broken := rulesOf(built.Check); built.Check.Passes || !slices.ContainsFunc(broken, func(r string) bool { return strings.HasPrefix(r, "acc-") }) {
			t.Errorf("%s: the tree breaks %v", name, broken)
		}
	}
}
