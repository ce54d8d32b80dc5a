package diffusion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/mlperf-go/mlperf/internal/accuracy"
	"github.com/mlperf-go/mlperf/internal/config"
	"github.com/mlperf-go/mlperf/internal/dataset/vbench"
	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/fileio/mp4"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

const (
	videosFolder = "videos" // in the folder of a run, and of a submission's accuracy results
	videoEnding  = ".mp4"
	maxResults   = 64 << 20 // bytes of VBench's results
	fewVideos    = 10       // as many as a submission shows
)

// scoreVideos writes the videos of a log that a submission shows, and all of them where an option wants that. The score is that of
// VBench's results, if an option names them.
func scoreVideos(ctx context.Context, log accuracy.Input, s workload.Scoring) (*accuracy.Score, error) {
	set, err := vbench.Read(s.DatasetDir, 0)
	if err != nil {
		return nil, err
	}
	files, err := newVideoFiles(s, set.Prompts)
	if err != nil {
		return nil, err
	}
	c := accuracy.Coverage{Samples: len(set.Prompts)}
	for rec, err := range accuracy.FirstRecords(log, &c) {
		if err == nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return nil, err
		}
		if err := files.add(int(rec.QSLIndex), rec.Data); err != nil {
			return nil, fmt.Errorf("%s: record %d (qsl_idx %d): %w", log.Name(), rec.Number, rec.QSLIndex, err)
		}
	}
	if c.Scored == 0 {
		return nil, errors.New("the log has no videos")
	}
	path := s.Options[vbenchOption]
	if path == "" {
		return nil, userinput.Wrap(vbenchOption, fmt.Errorf("%w: give the results of VBench for the videos", workload.ErrScoredElsewhere))
	}
	results, err := fileio.ReadFile(path, maxResults)
	if err != nil {
		return nil, userinput.Wrap(vbenchOption, err)
	}
	score, err := accuracy.VBenchScore(results, c)
	if err != nil {
		return nil, userinput.Wrap(vbenchOption, fmt.Errorf("%s: %w", path, err))
	}
	score.Warnings = append(append(score.Warnings, "the score is that of VBench's results in "+path), files.warnings()...)
	return score, nil
}

// videoFiles writes videos of a log.
type videoFiles struct {
	folder, all string // of those that a submission shows, and of all; empty: they are not written
	shown       []int
	prompts     []string
	elsewhere   []string // paths at servers
}

func newVideoFiles(s workload.Scoring, prompts []string) (*videoFiles, error) {
	f := &videoFiles{all: s.Options[videosOption], prompts: prompts, shown: shownVideos(len(prompts))}
	if s.Keep != "" {
		f.folder = filepath.Join(s.Keep, videosFolder)
		if err := errors.Join(os.MkdirAll(s.Keep, 0o755), fileio.MkdirIn(s.Keep, videosFolder)); err != nil {
			return nil, err
		}
	}
	if f.all != "" {
		if err := os.MkdirAll(f.all, 0o755); err != nil {
			return nil, userinput.Wrap(videosOption, err)
		}
	}
	return f, nil
}

// shownVideos are the samples whose videos the rounds want in a submission, each named by its sample (submission_checker/constants.py).
// A data set that lacks some of them shows its first ones too.
func shownVideos(samples int) (list []int) {
	rules, lacks := config.Model{Name: wanName}, false
	for _, version := range config.Versions() {
		asked, ok := rules.Asked(version)
		if !ok {
			continue
		}
		for _, name := range asked.Files[videosFolder] {
			if i, err := strconv.Atoi(name); err == nil {
				list, lacks = append(list, i), lacks || i >= samples
			}
		}
	}
	for i := 0; lacks && i < fewVideos; i++ {
		list = append(list, i)
	}
	return list
}

// add writes a video. A response is the video itself, or its path at the server that made it, which may be one here.
func (f *videoFiles) add(index int, response []byte) error {
	if len(response) == 0 {
		return errors.New("the response is empty: must be a video, or its path")
	}
	if !mp4.Is(response) {
		path := string(response)
		data, err := fileio.ReadFile(path, maxVideo)
		if err != nil || !mp4.Is(data) {
			f.elsewhere = append(f.elsewhere, path)
			return nil
		}
		response = data
	}
	if f.folder != "" && slices.Contains(f.shown, index) {
		if err := fileio.WriteFileIn(f.folder, strconv.Itoa(index)+videoEnding, response); err != nil {
			return err
		}
	}
	if f.all != "" {
		return fileio.CopyIn(f.all, vbenchName(f.prompts[index])+"-0"+videoEnding, bytes.NewReader(response))
	}
	return nil
}

// maxVideo bounds a video: 81 frames of 1280×720 have 224 MB without compression.
const maxVideo = 256 << 20

// notInNames are characters of prompts that become _ in names, as VBench and mlcommons/endpoints do it (evaluation/scoring.py).
var notInNames = regexp.MustCompile(`[\x00-\x1f/\\]`)

// vbenchName is the name of a prompt's videos without the number and the ending.
func vbenchName(prompt string) string {
	const longest = 200
	name := []rune(notInNames.ReplaceAllString(prompt, "_"))
	return string(name[:min(len(name), longest)])
}

func (f *videoFiles) warnings() []string {
	if len(f.elsewhere) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d videos lie at the server, for example %.200q, and were not copied", len(f.elsewhere), f.elsewhere[0])}
}
