package diffusion

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/dataset/captions"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// ScoringFolder is where, beside the data, the networks lie that images are judged with.
const ScoringFolder = "scoring"

// The files in it.
const (
	CLIPImageFile = "clip_image.onnx"
	CLIPTextTable = "clip_text.npy"
	InceptionFile = "inception.onnx"

	clipTextFile = "clip_text.onnx"
)

// A judge has what images are judged with.
type judge struct {
	texts     *textTower
	clip, fid *Eye
	photos    accuracy.FeatureStatistics
	warnings  []string
}

// scoreImages scores a log of images as accuracy_coco.py does: by the first record of each sample.
func scoreImages(ctx context.Context, log accuracy.Input, s workload.Scoring) (score *accuracy.Score, err error) {
	list, err := captions.Read(s.DatasetDir, 0)
	if err != nil {
		return nil, err
	}
	if s.Engine == nil {
		return nil, errors.New("CLIP and FID are computed with networks, and there is no engine that runs them")
	}
	j, err := openJudge(ctx, s, len(list))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	show, err := newGallery(s, list)
	if err != nil {
		return nil, err
	}
	return j.score(ctx, log, list, show)
}

// score goes through the log.
func (j *judge) score(ctx context.Context, log accuracy.Input, list []string, show *gallery) (*accuracy.Score, error) {
	c := accuracy.Coverage{Samples: len(list)}
	var similarities []float64
	var features accuracy.FeatureTable
	for rec, err := range accuracy.FirstRecords(log, &c) {
		if err != nil {
			return nil, err
		}
		index := int(rec.QSLIndex)
		similarity, err := j.look(ctx, rec.Data, index, list[index], &features)
		if err == nil {
			err = show.add(index, rec.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: record %d (qsl_idx %d): %w", log.Name(), rec.Number, index, err)
		}
		similarities = append(similarities, similarity)
	}
	distance, err := j.distance(&features)
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ImageScore(similarities, distance, c)
	if err == nil {
		score.Warnings = append(score.Warnings, j.warnings...)
	}
	return score, err
}

// distance is that of images to the photographs.
func (j *judge) distance(images *accuracy.FeatureTable) (float64, error) {
	statistics, err := images.Statistics()
	if err != nil {
		return 0, err
	}
	return accuracy.FrechetDistance(statistics, j.photos)
}

// look judges one image.
func (j *judge) look(ctx context.Context, image []byte, index int, caption string, features *accuracy.FeatureTable) (float64, error) {
	side, err := sideOf(image)
	if err != nil {
		return 0, err
	}
	seen, err := j.fid.See(ctx, image, side, side)
	if err == nil {
		err = features.Add(seen)
	}
	if err != nil {
		return 0, err
	}
	text, err := j.texts.read(ctx, index, caption)
	if err != nil {
		return 0, err
	}
	if seen, err = j.clip.See(ctx, image, side, side); err != nil {
		return 0, err
	}
	return accuracy.CLIPSimilarity(seen, text)
}

// sideOf is that of a square image.
func sideOf(image []byte) (int, error) {
	side := int(math.Sqrt(float64(len(image) / imageChannels)))
	if side == 0 || side*side*imageChannels != len(image) {
		return 0, fmt.Errorf("the response of %d bytes is no square image: one of 1024×1024 has %d", len(image), 1024*1024*imageChannels)
	}
	return side, nil
}

// openJudge opens the networks and the statistics: where an option says, or beside the data.
func openJudge(ctx context.Context, s workload.Scoring, count int) (*judge, error) {
	j := &judge{}
	if err := j.open(ctx, s, count); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *judge) open(ctx context.Context, s workload.Scoring, count int) (err error) {
	for _, e := range []struct {
		eye    **Eye
		kind   EyeKind
		option string
		name   string
	}{{&j.fid, InceptionEye, inceptionOption, InceptionFile}, {&j.clip, CLIPEye, clipImageOption, CLIPImageFile}} {
		path, err := networkFile(s, e.option, e.name)
		if err != nil {
			return err
		}
		if *e.eye, err = OpenEye(ctx, s.Engine, path, e.kind); err != nil {
			return err
		}
	}
	path, err := networkFile(s, clipTextOption, clipTextFile, CLIPTextTable)
	if err != nil {
		return err
	}
	words := cmp.Or(s.Options[clipTokenizerOption], filepath.Join(s.DatasetDir, ScoringFolder))
	if j.texts, err = openTextTower(ctx, s.Engine, path, words, count); err != nil {
		return err
	}
	if j.photos, err = captions.ReadStatistics(cmp.Or(s.Options[statisticsOption], filepath.Join(s.DatasetDir, captions.StatisticsFile))); err != nil {
		return err
	}
	return j.compare()
}

// What the official networks see.
const (
	inceptionFeatures = 2048
	clipFeatures      = 512 // of ViT-B/32
)

// compare wants networks and statistics of one size, and says if it is not the official one.
func (j *judge) compare() error {
	if n := j.fid.Features(); n != len(j.photos.Mean) {
		return fmt.Errorf("the network for FID sees %d features, the statistics have %d", n, len(j.photos.Mean))
	}
	if n := j.fid.Features(); n != inceptionFeatures {
		j.warnings = append(j.warnings, fmt.Sprintf("%s is over %d features of another network than Inception-v3, which has %d", accuracy.FIDScore, n, inceptionFeatures))
	}
	if n := j.clip.Features(); n != clipFeatures {
		j.warnings = append(j.warnings, fmt.Sprintf("%s is over %d features of other networks than CLIP's ViT-B/32, which has %d", accuracy.CLIPScore, n, clipFeatures))
	}
	return nil
}

// networkFile is a file that an option names, or the first that lies beside the data.
func networkFile(s workload.Scoring, option string, names ...string) (string, error) {
	if path := s.Options[option]; path != "" {
		return path, nil
	}
	folder := filepath.Join(s.DatasetDir, ScoringFolder)
	for _, name := range names {
		path := filepath.Join(folder, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
	}
	return "", userinput.Errorf(option, "images are judged with networks, and %s has no %s", folder, strings.Join(names, " or "))
}

// close closes the networks.
func (j *judge) close() error {
	var errs []error
	if j.texts != nil {
		errs = append(errs, j.texts.Close())
	}
	for _, e := range []*Eye{j.clip, j.fid} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}
