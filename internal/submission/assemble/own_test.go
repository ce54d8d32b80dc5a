package assemble

import (
	"cmp"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/backend"
	"github.com/mlperf-go/mlperf/internal/backend/simulated"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/config/limitation"
	"github.com/mlperf-go/mlperf/internal/harness"
	"github.com/mlperf-go/mlperf/internal/loadgen"
	"github.com/mlperf-go/mlperf/internal/models"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/report"
	"github.com/mlperf-go/mlperf/internal/submission/checker"
	"github.com/mlperf-go/mlperf/internal/submission/compliance"
	"github.com/mlperf-go/mlperf/internal/tensor"
	"github.com/mlperf-go/mlperf/internal/testenv"
)

// A campaign makes all runs of a benchmark in fake time.
type campaign struct {
	t       *testing.T
	dir     string
	model   string // empty: resnet50
	rules   string // empty: v6.1
	numbers standIn
	batch   int // samples that the engine answers in latency; 0: 8 in 0.2 s
	latency time.Duration
	rate    string // per second, of Offline and Server; empty: 40 and 500
	served  bool   // by servers: runs have the files of mlcommons/endpoints

	interactive bool // Server is Interactive
}

// A standIn replaces a benchmark's data and model.
type standIn interface {
	workload() *workload.Workload
	score(ctx context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error)
}

// version is that of the rules.
func (c *campaign) version() string { return cmp.Or(c.rules, "v6.1") }

// entry is the model in the catalogue.
func (c *campaign) entry() workload.Model {
	c.t.Helper()
	m, err := models.LookupAny(cmp.Or(c.model, "resnet50"))
	ok(c.t, err)
	return m
}

// settings are those of a test, as package run makes them.
func (c *campaign) settings(s loadgen.Scenario, mode, audit string) *config.Resolved {
	c.t.Helper()
	set, err := config.Rules(c.version())
	ok(c.t, err)
	m := c.entry()
	m.Rules.Interactive = c.interactive
	q := config.Request{Model: m.Rules, Known: models.RuleNames(), Scenario: s, Rules: set, Options: []config.Override{{Key: "mode", Value: mode}}}
	if rate := map[loadgen.Scenario]string{loadgen.Offline: cmp.Or(c.rate, "40"), loadgen.Server: cmp.Or(c.rate, "500")}[s]; rate != "" {
		q.Options = append(q.Options, config.Override{Key: "target_qps", Value: rate})
	}
	if m.Turns > 0 && mode == "performance" { // as package run asks for
		q.Options = append(q.Options, config.Override{Key: "min_query_count", Value: strconv.Itoa(m.Turns)})
	}
	if audit != "" {
		q.AuditConf, err = config.ReadConf(audit, config.ParseOptions{})
		ok(c.t, err)
	}
	r, err := config.Resolve(q)
	ok(c.t, err)
	return r
}

// run makes one run of an engine.
func (c *campaign) run(s loadgen.Scenario, mode, audit, dir string) {
	c.t.Helper()
	r := c.settings(s, mode, audit)
	simulation := simulated.Config{
		Inputs: []backend.Port{{Name: "number", Type: tensor.Float32, Shape: tensor.Shape{-1, 1}}}, Outputs: []backend.Port{{Name: "class", Type: tensor.Float32, Shape: tensor.Shape{-1}}},
	}
	if mode == "performance" {
		simulation.Latency = cmp.Or(c.latency, 200*time.Millisecond)
	}
	engine, err := simulated.New(simulation)
	ok(c.t, err)
	m := c.entry()
	m.Open = func(workload.Setup) (*workload.Workload, error) { return c.numbers.workload(), nil }
	m.Score, m.Roles, m.Files, m.Rules.Interactive = c.numbers.score, nil, nil, c.interactive
	test, err := harness.Run(c.t.Context(), harness.Config{
		Program: "mlperf test", Model: m, Rules: c.version(), Settings: r.Settings, Precision: "fp32",
		Engine: renamed{engine}, Instances: 1, MaxBatch: cmp.Or(c.batch, 8), OutputDir: dir, Observer: quiet{},
		NewPacer: func() loadgen.Pacer { return loadgen.TimerPacer{} },
	})
	ok(c.t, err)
	ok(c.t, engine.Close())
	record := test.Results()
	record.Program, record.Model, record.Rules, record.Input.Precision, record.Limitations = "mlperf test", m.Name, c.version(), "fp32", append(easier(c.t, r), limitation.Limitation{ID: limitation.Unofficial})
	record.Input.Binding, record.Interactive = test.Input.Binding, c.interactive
	if c.served && mode == "performance" {
		c.summarise(test, record, dir)
	}
	ok(c.t, record.Write(dir))
	if record.Result != report.Valid && !(c.served && audit != "") { // phases of the audit of caching are short
		c.t.Errorf("%s: %s %v", dir, record.Result, record.Problems)
	}
}

// easier are the settings that are easier than the rules'.
func easier(t *testing.T, r *config.Resolved) (limitations report.Limitations) {
	t.Helper()
	list, err := r.Differences(r.Settings, config.Closed)
	ok(t, err)
	for _, d := range list {
		if d.Easier {
			limitations = append(limitations, d.Limitation())
		}
	}
	return limitations
}

// all makes the runs and tests of the three scenarios of an edge system.
func (c *campaign) all() {
	c.t.Helper()
	for _, s := range []loadgen.Scenario{loadgen.SingleStream, loadgen.MultiStream, loadgen.Offline} {
		dir := filepath.Join(c.dir, s.String())
		c.run(s, "performance", "", dir+"/runs/performance")
		c.run(s, "accuracy", "", dir+"/runs/accuracy")
		for _, test := range []string{"TEST01", "TEST04"} {
			c.audit(s, test, dir)
		}
	}
}

// audit makes a test, whose runs for performance and accuracy are there.
func (c *campaign) audit(s loadgen.Scenario, test, dir string) {
	c.t.Helper()
	conf, err := compliance.Conf(test, c.entry().Rules.Name, c.version())
	ok(c.t, err)
	path := filepath.Join(dir, "runs", test, "my-"+test+".conf") // not audit.config: its role counts, not its name
	write(c.t, path, conf)
	c.run(s, "performance", path, filepath.Dir(path))
	v, err := compliance.Verify(c.t.Context(), test, compliance.Logs{Performance: dir + "/runs/performance", Accuracy: dir + "/runs/accuracy", Audit: filepath.Dir(path)}, compliance.Options{})
	ok(c.t, err)
	ok(c.t, v.Write(dir, false))
}

// request asks for a tree of the runs, with all that these do not say.
func (c *campaign) request() Request {
	return Request{
		Tree: filepath.Join(c.t.TempDir(), "tree"), Runs: []string{c.dir}, Rules: c.version(), Division: "closed", Submitter: "ExampleOrg", System: "board1",
		Description: complete(c.t, "closed", "edge"), Measurements: map[string]string{"starting_weights_filename": "resnet50_v1.onnx"},
	}
}

// keepTree is for showing the tree to the official checker, in tools/submission of
// github.com/mlcommons/inference: python3 -m submission_checker.main --input TREE --version v6.1
var keepTree = flag.String("tree", "", "make the tree of our own runs here, and leave it")

func TestTreeOfOwnRunsPasses(t *testing.T) {
	testenv.SkipLong(t, "nine runs of 600 s of fake time, and three of 50,000 samples")
	t.Parallel()
	c := &campaign{dir: t.TempDir(), numbers: numbers{38_006}}
	synctest.Test(t, func(t *testing.T) { c.t = t; c.all() })
	c.t = t
	q := c.request()
	if *keepTree != "" {
		q.Tree = *keepTree
	}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 3 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: "v6.1"})
	ok(t, err)
	if !r.Passes {
		t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
	}
}

// numbers replaces ImageNet and ResNet-50: sample i is the number i, and so is its class, for
// as many of the 50,000 as the score needs.
type numbers struct{ right int }

const imagenet = 50_000

func (n numbers) workload() *workload.Workload {
	return &workload.Workload{
		Samples: imagenet, Notes: []string{"input: float32"},
		Row: func(int) []workload.Slot {
			return []workload.Slot{{Type: tensor.Float32, Shape: tensor.Shape{1}}}
		},
		Prepare: func(index int, row []tensor.Tensor) error {
			tensor.Data[float32](row[0])[0] = float32(index)
			return nil
		},
		NewPredictor: func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
			return &predictor{session: sessions[workload.Only]}, nil
		},
	}
}

func (n numbers) score(ctx context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	truth := make([]accuracy.LabeledImage, imagenet)
	for i := range truth {
		if truth[i].Label = int64(i); i >= n.right {
			truth[i].Label = -1
		}
	}
	return accuracy.ScoreImageNet(log, truth, accuracy.ImageNetOptions{})
}

// A predictor asks a session for the classes of a batch.
type predictor struct {
	session backend.Session
	store   *workload.Store
}

func (p *predictor) Use(store *workload.Store) error { p.store = store; return nil }
func (p *predictor) Close() error                    { return nil }

func (p *predictor) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	in, out := tensor.New(tensor.Float32, int64(len(items)), 1), tensor.New(tensor.Float32, int64(len(items)))
	var values [2]backend.Value
	for i, t := range []tensor.Tensor{in, out} {
		v, err := p.session.Bind(t)
		if err != nil {
			return err
		}
		defer v.Close()
		values[i] = v
	}
	for k, item := range items {
		copy(in.Rows(k, 1).Bytes(), p.store.Row(item.Row)[0].Bytes())
	}
	if err := p.session.Run(ctx, values[:1], values[1:]); err != nil {
		return err
	}
	for k, class := range tensor.Data[float32](out) {
		reply.Done(k, binary.LittleEndian.AppendUint32(nil, math.Float32bits(class)), 0)
	}
	return nil
}

// A renamed engine is not called simulated.
type renamed struct{ backend.Engine }

type renamedSession struct{ backend.Session }

func (e renamed) Open(ctx context.Context, o backend.Options) (backend.Session, error) {
	s, err := e.Engine.Open(ctx, o)
	return renamedSession{s}, err
}

func (s renamedSession) Info() backend.Info {
	info := s.Session.Info()
	info.Engine, info.Simulated = "onnxruntime 1.24", false
	return info
}

// quiet is an observer that shows nothing.
type quiet struct{}

func (quiet) Phase(string)             {}
func (quiet) Loading(int, int)         {}
func (quiet) Items(int, int)           {}
func (quiet) Traffic(loadgen.Progress) {}
func (quiet) Note(string)              {}

// captions replace COCO and Stable Diffusion XL by the scores of the images.
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

// edgeCampaign makes the runs and tests of an edge system.
func edgeCampaign(t *testing.T, rules, name string, numbers standIn, scenarios ...loadgen.Scenario) *campaign {
	c := &campaign{dir: t.TempDir(), model: name, rules: rules, numbers: numbers}
	synctest.Test(t, func(t *testing.T) {
		c.t = t
		for _, s := range scenarios {
			dir := filepath.Join(c.dir, s.String())
			c.run(s, "performance", "", dir+"/runs/performance")
			c.run(s, "accuracy", "", dir+"/runs/accuracy")
			needs, err := compliance.Needs(rules, name, s.String())
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

func TestTreeOfImagesPasses(t *testing.T) {
	testenv.SkipLong(t, "runs of 600 s of fake time")
	t.Parallel()
	c := edgeCampaign(t, "v6.1", "stable-diffusion-xl", captions{clip: 31.75, fid: 23.5}, loadgen.SingleStream, loadgen.Offline)
	q := c.request()
	q.Measurements["starting_weights_filename"] = "stable-diffusion-xl-base-1.0"
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 2 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
}

// boxes replace COCO and YOLO11l: a box in the middle of each image is right in so many of them.
type boxes struct{ numbers }

const safeCOCO = 1525

func (b boxes) workload() *workload.Workload {
	w := b.numbers.workload()
	w.Samples = safeCOCO
	w.NewPredictor = func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
		return &boxFinder{predictor{session: sessions[workload.Only]}}, nil
	}
	return w
}

func (b boxes) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	truth := &accuracy.GroundTruth{Categories: []accuracy.Category{{ID: 1, Name: "person"}}}
	for i := range int64(safeCOCO) {
		object := accuracy.Annotation{ID: i + 1, ImageID: i, CategoryID: 1, Box: accuracy.Box{X: 160, Y: 120, W: 320, H: 240}, Area: 320 * 240}
		if i >= int64(b.right) {
			object.Box.X, object.Box.W = 0, 20
		}
		truth.Images = append(truth.Images, accuracy.Image{ID: i, FileName: fmt.Sprint(i), Width: 640, Height: 480})
		truth.Annotations = append(truth.Annotations, object)
	}
	return accuracy.ScoreDetections(log, truth, accuracy.DetectionOptions{})
}

// boxFinder is a predictor whose responses are the boxes.
type boxFinder struct{ predictor }

func (p *boxFinder) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.predictor.Predict(ctx, items, boxing{reply, items})
}

type boxing struct {
	workload.Reply
	items []workload.Item
}

func (b boxing) Done(ticket int, _ []byte, tokens int) {
	var response []byte
	for _, v := range []float32{float32(b.items[ticket].Index), 0.25, 0.25, 0.75, 0.75, 0.9, 1} {
		response = binary.LittleEndian.AppendUint32(response, math.Float32bits(v))
	}
	b.Reply.Done(ticket, response, tokens)
}

func TestTreeOfBoxesPasses(t *testing.T) {
	testenv.SkipLong(t, "runs of 600 s of fake time")
	for _, rules := range []string{"v6.0", "v6.1"} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			c := edgeCampaign(t, rules, "yolo-95", boxes{numbers{850}}, loadgen.SingleStream, loadgen.MultiStream, loadgen.Offline)
			q := c.request()
			q.Measurements["starting_weights_filename"] = "yolo11l.pt"
			if *keepTree != "" {
				q.Tree = *keepTree + "-" + rules
			}
			built, err := Build(t.Context(), q)
			ok(t, err)
			if !built.Check.Passes || len(built.Check.Results) != 3 {
				t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
			}
		})
	}
}

// nodes replace IGBH and R-GAT: the class of sample i is i, for so many of the samples.
type nodes struct{ numbers }

const igbh = 788_379

func (n nodes) workload() *workload.Workload {
	w := n.numbers.workload()
	w.Samples = igbh
	w.NewPredictor = func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
		return &wide{predictor{session: sessions[workload.Only]}}, nil
	}
	return w
}

func (n nodes) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	classes := make([]int64, igbh)
	for i := range classes {
		if classes[i] = int64(i); i >= n.right {
			classes[i] = -1
		}
	}
	return accuracy.ScoreNodes(log, classes, accuracy.NodeOptions{DType: accuracy.Int64})
}

// wide is a predictor whose responses are int64, more than the engine's.
type wide struct{ predictor }

func (p *wide) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.predictor.Predict(ctx, items, widening{reply, items})
}

type widening struct {
	workload.Reply
	items []workload.Item
}

func (w widening) Done(ticket int, _ []byte, tokens int) {
	w.Reply.Done(ticket, binary.LittleEndian.AppendUint64(nil, uint64(w.items[ticket].Index)), tokens)
}

// The line of accuracy.txt has percent, and the target is a share.
func TestTreeOfNodesPasses(t *testing.T) {
	testenv.SkipLong(t, "three runs of 788,379 samples")
	t.Parallel()
	c := &campaign{dir: t.TempDir(), model: "rgat", numbers: nodes{numbers{570_000}}, batch: 1024, latency: time.Second}
	synctest.Test(t, func(t *testing.T) {
		c.t = t
		c.run(loadgen.Offline, "performance", "", c.dir+"/runs/performance")
		c.run(loadgen.Offline, "accuracy", "", c.dir+"/runs/accuracy")
		c.audit(loadgen.Offline, "TEST01", c.dir)
	})
	c.t = t
	q := c.request()
	q.Description, q.Measurements["starting_weights_filename"] = complete(t, "closed", "datacenter"), "RGAT.pt"
	q.Measurements["input_data_types"], q.Bandwidth = "int64", "not needed: the graph is in the system"
	if *keepTree != "" {
		q.Tree = *keepTree
	}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 1 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
}

// streets replace Waymo and PointPainting: each frame has a box of each class, which is found in a part of them.
type streets struct{ numbers }

const frames = 39_987

// boxOf is that of a class in a frame, in the form of a response.
func boxOf(class, frame int, found bool) []float32 {
	row := []float32{4, 2, 2, 10, 1, float32(20 * (class + 1)), 0, 0, 0, 9, 9, float32(class), float32(1+frame%89) / 100, float32(1_000_000 + frame)}
	if !found {
		row[3] += 100
	}
	return row
}

func (s streets) workload() *workload.Workload {
	w := s.numbers.workload()
	w.Samples = frames
	w.NewPredictor = func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
		return &finder{predictor{session: sessions[workload.Only]}, s.right}, nil
	}
	return w
}

func (s streets) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	truth := make([]accuracy.WaymoFrame, frames)
	for i := range truth {
		truth[i].ID = int64(1_000_000 + i)
		for class, name := range accuracy.WaymoClasses() {
			row := boxOf(class, i, true)
			truth[i].Objects = append(truth[i].Objects, accuracy.WaymoObject{Name: name, WaymoBox: accuracy.WaymoBox{Dimensions: [3]float32(row), Location: [3]float32(row[3:])}})
		}
	}
	return accuracy.ScoreWaymo(log, truth, false)
}

// finder is a predictor whose responses are boxes.
type finder struct {
	predictor
	right int
}

func (p *finder) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.predictor.Predict(ctx, items, finding{reply, items, p.right})
}

type finding struct {
	workload.Reply
	items []workload.Item
	right int
}

func (f finding) Done(ticket int, _ []byte, tokens int) {
	var response []byte
	index := f.items[ticket].Index
	for class := range accuracy.WaymoClasses() {
		for _, v := range boxOf(class, index, index%100 < f.right) {
			response = binary.LittleEndian.AppendUint32(response, math.Float32bits(v))
		}
	}
	f.Reply.Done(ticket, response, tokens)
}

// The round before the newest, the only scenario, two tests; the line of accuracy.txt has percent.
func TestTreeOfStreetsPasses(t *testing.T) {
	testenv.SkipLong(t, "runs of 39,987 samples")
	t.Parallel()
	c := &campaign{dir: t.TempDir(), model: "pointpainting", rules: "v6.0", numbers: streets{numbers{80}}, latency: 60 * time.Millisecond}
	synctest.Test(t, func(t *testing.T) {
		c.t = t
		c.run(loadgen.SingleStream, "performance", "", c.dir+"/runs/performance")
		c.run(loadgen.SingleStream, "accuracy", "", c.dir+"/runs/accuracy")
		needs, err := compliance.Needs(c.rules, c.model, loadgen.SingleStream.String())
		ok(t, err)
		for _, need := range needs {
			for _, test := range need.Tests {
				c.audit(loadgen.SingleStream, test, c.dir)
			}
		}
	})
	c.t = t
	q := c.request()
	q.Measurements["starting_weights_filename"] = "deeplabv3+.onnx, pp.onnx"
	if *keepTree != "" {
		q.Tree = *keepTree
	}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 1 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: c.rules})
	ok(t, err)
	if !r.Passes {
		t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
	}
}

// wishes replace the requests of DLRMv3: a user likes two of four candidates, which get the higher chance.
type wishes struct {
	numbers
	chance   float32
	labelled bool // in accuracy mode
}

const requests = 349_823

func (w wishes) workload() *workload.Workload {
	made := w.numbers.workload()
	made.Samples = requests
	made.NewPredictor = func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
		return &wisher{predictor{session: sessions[workload.Only]}, w}, nil
	}
	return made
}

func (w wishes) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	return accuracy.ScoreRequests(log, requests)
}

type wisher struct {
	predictor
	wishes
}

func (p *wisher) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.predictor.Predict(ctx, items, wishing{reply, items, p.wishes})
}

type wishing struct {
	workload.Reply
	items []workload.Item
	wishes
}

func (w wishing) Done(ticket int, _ []byte, tokens int) {
	index := w.items[ticket].Index
	r := accuracy.Recommendation{Time: index % 10, Query: index / 10, Predictions: []float32{w.chance, 1 - w.chance, 1 - w.chance, w.chance}}
	if w.labelled {
		r.Labels, r.Weights = []float32{1, 0, 0, 1}, []float32{1, 1, 1, 1}
	}
	w.Reply.Done(ticket, r.Append(nil), tokens)
}

// Server and Offline, two forms of responses, three metrics, of one of which less is better. The entropy keeps both what the rules want and
// what the official checker does.
func TestTreeOfRequestsPasses(t *testing.T) {
	testenv.SkipLong(t, "runs of 349,823 samples")
	for _, rules := range []string{"v6.0", "v6.1"} {
		t.Run(rules, func(t *testing.T) {
			t.Parallel()
			w := wishes{chance: float32(math.Exp2(-0.867))}
			c := &campaign{dir: t.TempDir(), model: "dlrm-v3", rules: rules, numbers: w, batch: 64}
			synctest.Test(t, func(t *testing.T) {
				c.t = t
				for s, latency := range map[loadgen.Scenario]time.Duration{loadgen.Server: 30 * time.Millisecond, loadgen.Offline: 200 * time.Millisecond} {
					dir := filepath.Join(c.dir, s.String())
					c.latency, c.numbers = latency, w
					c.run(s, "performance", "", dir+"/runs/performance")
					c.numbers = wishes{chance: w.chance, labelled: true}
					c.run(s, "accuracy", "", dir+"/runs/accuracy")
					c.numbers = w
					c.audit(s, "TEST08", dir)
				}
			})
			c.t = t
			q := c.request()
			q.Description, q.Measurements["starting_weights_filename"] = complete(t, "closed", "datacenter"), "streaming_100b"
			q.Measurements["input_data_types"], q.Bandwidth = "int64", "not needed: the requests are in the system"
			if *keepTree != "" {
				q.Tree = filepath.Join(*keepTree, rules)
			}
			built, err := Build(t.Context(), q)
			ok(t, err)
			if !built.Check.Passes || len(built.Check.Results) != 2 {
				t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
			}
			r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: rules})
			ok(t, err)
			if !r.Passes {
				t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
			}
		})
	}
}

// products replace Shopify's catalogue, or its first ones: of each five answers one is of another category.
type products struct{ count int }

const catalogue = 48_289

// answerOf is the answer to a product.
func answerOf(index int, right bool) []byte {
	category := fmt.Sprintf("A > B > %d", index%97)
	if !right {
		category = "Z"
	}
	return fmt.Appendf(nil, `{"category": "%s", "brand": "acme", "is_secondhand": false}`, category)
}

func (p products) workload() *workload.Workload {
	return answered(p.count, func(index int) ([]byte, int) { return answerOf(index, index%5 > 0), 0 })
}

func (p products) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	truth := make([]accuracy.Product, p.count)
	for i := range truth {
		truth[i] = accuracy.Product{Category: fmt.Sprintf("A > B > %d", i%97), Brand: "acme"}
	}
	return accuracy.ScoreProducts(log, truth)
}

// The LoadGen results of v6.0: Server bounds the whole answer, the target is a share, and accuracy.txt has a hash that is not of the log.
func TestTreeOfProductsPasses(t *testing.T) {
	testenv.SkipLong(t, "four runs of 48,289 samples")
	t.Parallel()
	c := &campaign{dir: t.TempDir(), model: "qwen3-vl-235b-a22b", rules: "v6.0", numbers: products{catalogue}, batch: 64}
	synctest.Test(t, func(t *testing.T) {
		c.t = t
		for s, latency := range map[loadgen.Scenario]time.Duration{loadgen.Server: 30 * time.Millisecond, loadgen.Offline: time.Second} {
			dir := filepath.Join(c.dir, s.String())
			c.latency = latency
			c.run(s, "performance", "", dir+"/runs/performance")
			c.run(s, "accuracy", "", dir+"/runs/accuracy")
		}
	})
	c.t = t
	q := c.request()
	q.Description, q.Measurements["starting_weights_filename"] = complete(t, "closed", "datacenter"), "Qwen/Qwen3-VL-235B-A22B-Instruct"
	q.Measurements["input_data_types"], q.Bandwidth = "fp32", "not needed: the products are in the system"
	if *keepTree != "" {
		q.Tree = *keepTree
	}
	built, err := Build(t.Context(), q)
	ok(t, err)
	if !built.Check.Passes || len(built.Check.Results) != 2 {
		t.Errorf("%d results; the tree breaks %v", len(built.Check.Results), rulesOf(built.Check))
	}
	r, err := checker.Check(t.Context(), checker.Options{Tree: q.Tree, Rules: c.rules})
	ok(t, err)
	if !r.Passes {
		t.Errorf("profile reference: the tree breaks %v", rulesOf(r))
	}
}

// questions replace FRAMES: an answer has 270 tokens, and of each five one is wrong.
type questions struct{}

func (questions) workload() *workload.Workload {
	return answered(824, func(int) ([]byte, int) { return make([]byte, 4*270), 270 })
}

func (questions) score(_ context.Context, log accuracy.Input, _ workload.Scoring) (*accuracy.Score, error) {
	c := accuracy.Coverage{Samples: 824}
	var judged []accuracy.Judged
	for rec, err := range accuracy.FirstRecords(log, &c) {
		if err != nil {
			return nil, err
		}
		judged = append(judged, accuracy.Judged{Index: int(rec.QSLIndex), Reply: fmt.Sprintf(`{"correct": %t}`, rec.QSLIndex%5 > 0)})
	}
	return accuracy.ScoreJudged(judged, c)
}

// answered is a workload of so many samples with these responses and numbers of tokens.
func answered(samples int, response func(index int) ([]byte, int)) *workload.Workload {
	w := numbers{}.workload()
	w.Samples = samples
	w.NewPredictor = func(sessions workload.Sessions, _ int) (workload.Predictor, error) {
		return &answerer{predictor{session: sessions[workload.Only]}, response}, nil
	}
	return w
}

// answerer is a predictor with responses of its own.
type answerer struct {
	predictor
	response func(index int) ([]byte, int)
}

func (p *answerer) Predict(ctx context.Context, items []workload.Item, reply workload.Reply) error {
	return p.predictor.Predict(ctx, items, answering{reply, items, p.response})
}

type answering struct {
	workload.Reply
	items    []workload.Item
	response func(index int) ([]byte, int)
}

func (a answering) Done(ticket int, _ []byte, _ int) {
	response, tokens := a.response(a.items[ticket].Index)
	a.Reply.Done(ticket, response, tokens)
}
