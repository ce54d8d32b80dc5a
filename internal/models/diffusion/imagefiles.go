package diffusion

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mlperf-go/mlperf/internal/fileio"
	"github.com/mlperf-go/mlperf/internal/models/workload"
	"github.com/mlperf-go/mlperf/internal/userinput"
)

// officialIDs are the images that a submission shows (text_to_image, tools/sample_ids.txt).
func officialIDs() []int { return []int{4475, 3627, 1046, 4937, 3867, 1671, 3789, 1206, 4111, 3093} }

const (
	imagesFolder = "images"
	captionsFile = "captions.txt"
	maxIDs       = 1 << 20
)

// imageFiles writes some of the images as PNG, as accuracy_coco.py does.
type imageFiles struct {
	folder string // empty: none are written
	ids    map[int]bool
}

// newImageFiles makes the folder and its list of captions. Without options it is the folder "images" of the run's results, if
// the data set has the images of a submission.
func newImageFiles(s workload.Scoring, captions []string) (*imageFiles, error) {
	g := &imageFiles{folder: s.Options[imagesOption], ids: map[int]bool{}}
	list, err := g.choose(s.Options[idsOption], captions)
	if err != nil {
		return nil, userinput.Wrap(idsOption, err)
	}
	switch some := len(g.ids) > 0; {
	case some && g.folder == "" && s.Keep != "":
		g.folder = filepath.Join(s.Keep, imagesFolder)
	case !some && g.folder != "" && s.Options[idsOption] == "":
		return nil, userinput.Errorf(idsOption, "the data set has %d images and none of those that a submission shows: name others", len(captions))
	}
	if g.folder == "" {
		return g, nil
	}
	if s.Options[imagesOption] == "" {
		err = errors.Join(os.MkdirAll(s.Keep, 0o755), fileio.MkdirIn(s.Keep, imagesFolder))
	} else {
		err = os.MkdirAll(g.folder, 0o755)
	}
	if err != nil {
		return nil, err
	}
	return g, fileio.WriteFileIn(g.folder, captionsFile, []byte(list))
}

// choose takes the images of a file, or those of the official ten that the data set has, and lists their captions.
func (g *imageFiles) choose(file string, captions []string) (string, error) {
	ids := officialIDs()
	if file != "" {
		data, err := fileio.ReadFile(file, maxIDs)
		if err != nil {
			return "", err
		}
		if ids, err = parseIDs(data); err != nil {
			return "", err
		}
	}
	var list strings.Builder
	for _, id := range ids {
		if id < len(captions) {
			g.ids[id] = true
			fmt.Fprintf(&list, "%d  %s\n", id, captions[id])
		} else if file != "" {
			return "", fmt.Errorf("sample %d is beyond the %d captions", id, len(captions))
		}
	}
	return list.String(), nil
}

func parseIDs(data []byte) (ids []int, err error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		id, err := strconv.ParseUint(strings.TrimSpace(lines.Text()), 10, 31)
		if err != nil {
			return nil, fmt.Errorf("line %d is %q: must be the index of a sample", len(ids)+1, lines.Text())
		}
		ids = append(ids, int(id))
	}
	return ids, lines.Err()
}

// add writes an image if it is one of those.
func (g *imageFiles) add(index int, pixels []byte) error {
	if g.folder == "" || !g.ids[index] {
		return nil
	}
	side, err := sideOf(pixels)
	if err != nil {
		return err
	}
	m := image.NewNRGBA(image.Rect(0, 0, side, side))
	for i := range side * side {
		p := pixels[i*imageChannels:]
		m.SetNRGBA(i%side, i/side, color.NRGBA{R: p[0], G: p[1], B: p[2], A: 255})
	}
	var file bytes.Buffer
	if err := png.Encode(&file, m); err != nil {
		return err
	}
	return fileio.WriteFileIn(g.folder, strconv.Itoa(index)+".png", file.Bytes())
}
