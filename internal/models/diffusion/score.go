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

// ScoringFolder is the folder of the data set with the networks that score images.
const ScoringFolder = "scoring"

// The files in it.
const (
	CLIPImageFile = "clip_image.onnx"
	CLIPTextTable = "clip_text.npy"
	InceptionFile = "inception.onnx"

	clipTextFile = "clip_text.onnx"
)

// A scorer has the networks and statistics that score images.
type scorer struct {
	captions  *captionEncoder
	clip, fid *ImageEncoder
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
		return nil, errors.New("scoring needs an engine that runs the networks of CLIP and FID")
	}
	j, err := openScorer(ctx, s, len(list))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, j.close()) }()
	show, err := newImageFiles(s, list)
	if err != nil {
		return nil, err
	}
	return j.score(ctx, log, list, show)
}

// score goes through the log.
func (j *scorer) score(ctx context.Context, log accuracy.Input, list []string, show *imageFiles) (*accuracy.Score, error) {
	c := accuracy.Coverage{Samples: len(list)}
	var similarities []float64
	var features accuracy.FeatureTable
	for rec, err := range accuracy.FirstRecords(log, &c) {
		if err != nil {
			return nil, err
		}
		index := int(rec.QSLIndex)
		similarity, err := j.scoreImage(ctx, rec.Data, index, list[index], &features)
		if err == nil {
			err = show.add(index, rec.Data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: record %d (qsl_idx %d): %w", log.Name(), rec.Number, index, err)
		}
		similarities = append(similarities, similarity)
	}
	statistics, err := features.Statistics()
	if err != nil {
		return nil, err
	}
	distance, err := accuracy.FrechetDistance(statistics, j.photos)
	if err != nil {
		return nil, err
	}
	score, err := accuracy.ImageScore(similarities, distance, c)
	if err == nil {
		score.Warnings = append(score.Warnings, j.warnings...)
	}
	return score, err
}

// scoreImage returns the CLIP similarity of an image and its caption, and adds the image's features for FID.
func (j *scorer) scoreImage(ctx context.Context, image []byte, index int, caption string, features *accuracy.FeatureTable) (float64, error) {
	side, err := sideOf(image)
	if err != nil {
		return 0, err
	}
	found, err := j.fid.Encode(ctx, image, side, side)
	if err == nil {
		err = features.Add(found)
	}
	if err != nil {
		return 0, err
	}
	text, err := j.captions.encode(ctx, index, caption)
	if err != nil {
		return 0, err
	}
	if found, err = j.clip.Encode(ctx, image, side, side); err != nil {
		return 0, err
	}
	return accuracy.CLIPSimilarity(found, text)
}

// sideOf is the width and height of a square image.
func sideOf(image []byte) (int, error) {
	side := int(math.Sqrt(float64(len(image) / imageChannels)))
	if side == 0 || side*side*imageChannels != len(image) {
		return 0, fmt.Errorf("the response has %d bytes: not a square image (1024×1024 has %d)", len(image), 1024*1024*imageChannels)
	}
	return side, nil
}

// openScorer opens the networks and the statistics: where an option says, or beside the data.
func openScorer(ctx context.Context, s workload.Scoring, count int) (*scorer, error) {
	j := &scorer{}
	if err := j.open(ctx, s, count); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func (j *scorer) open(ctx context.Context, s workload.Scoring, count int) (err error) {
	for _, e := range []struct {
		to     **ImageEncoder
		kind   ImageEncoderKind
		option string
		name   string
	}{{&j.fid, Inception, inceptionOption, InceptionFile}, {&j.clip, CLIPImages, clipImageOption, CLIPImageFile}} {
		path, err := networkFile(s, e.option, e.name)
		if err != nil {
			return err
		}
		if *e.to, err = OpenImageEncoder(ctx, s.Engine, path, e.kind); err != nil {
			return err
		}
	}
	path, err := networkFile(s, clipTextOption, clipTextFile, CLIPTextTable)
	if err != nil {
		return err
	}
	words := cmp.Or(s.Options[clipTokenizerOption], filepath.Join(s.DatasetDir, ScoringFolder))
	if j.captions, err = openCaptionEncoder(ctx, s.Engine, path, words, count); err != nil {
		return err
	}
	if j.photos, err = captions.ReadStatistics(cmp.Or(s.Options[statisticsOption], filepath.Join(s.DatasetDir, captions.StatisticsFile))); err != nil {
		return err
	}
	return j.compare()
}

// The sizes of the official networks.
const (
	inceptionFeatures = 2048
	clipFeatures      = 512 // of ViT-B/32
)

// compare checks that network and statistics have one size, and warns if it is not the official one.
func (j *scorer) compare() error {
	if n := j.fid.Features(); n != len(j.photos.Mean) {
		return fmt.Errorf("the network for FID has %d features, the statistics have %d", n, len(j.photos.Mean))
	}
	if n := j.fid.Features(); n != inceptionFeatures {
		j.warnings = append(j.warnings, fmt.Sprintf("%s is over %d features of another network than Inception-v3, which has %d", accuracy.FIDScore,
			n, inceptionFeatures))
	}
	if n := j.clip.Features(); n != clipFeatures {
		j.warnings = append(j.warnings, fmt.Sprintf("%s is over %d features of other networks than CLIP's ViT-B/32, which has %d",
			accuracy.CLIPScore, n, clipFeatures))
	}
	return nil
}

// networkFile is the file that an option names, or the first of names in the data set's folder.
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
	return "", userinput.Errorf(option, "scoring images needs networks, and %s has no %s", folder, strings.Join(names, " or "))
}

// close closes the networks.
func (j *scorer) close() error {
	var errs []error
	if j.captions != nil {
		errs = append(errs, j.captions.Close())
	}
	for _, e := range []*ImageEncoder{j.clip, j.fid} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	return errors.Join(errs...)
}
