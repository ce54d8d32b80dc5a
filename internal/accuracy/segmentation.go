package accuracy

import "slices"

// A Segmentation is an object's outline in an annotation file: polygons, or runs.
type Segmentation struct {
	Polygons      [][]float64 // x and y by turns
	Height, Width int         // of the runs
	Counts        []uint32
	Compressed    string // instead of Counts
}

// Mask returns the pixels of the object in an image of the given size. Runs have their own size.
func (g *Segmentation) Mask(height, width int) (Mask, error) {
	switch {
	case g.Polygons != nil:
		masks := make([]Mask, 0, len(g.Polygons))
		for _, xy := range g.Polygons {
			m, err := MaskFromPolygon(height, width, xy)
			if err != nil {
				return Mask{}, err
			}
			masks = append(masks, m)
		}
		return Union(masks...)
	case g.Counts != nil:
		return MaskFromCounts(g.Height, g.Width, slices.Clone(g.Counts))
	}
	return MaskFromString(g.Height, g.Width, g.Compressed)
}

// segmentation reads a list of polygons, or an object with runs.
func (s *scanner) segmentation() (*Segmentation, error) {
	if s.next() == '[' {
		return s.polygons()
	}
	g := &Segmentation{}
	err := s.fields([]string{"size", "counts"}, 2, func(field int) error {
		if field == 0 {
			return s.maskSize(g)
		}
		return s.runs(g)
	})
	return g, err
}

func (s *scanner) polygons() (*Segmentation, error) {
	g := &Segmentation{Polygons: [][]float64{}}
	err := s.array(func(int) error {
		var xy []float64
		err := s.array(func(int) error {
			v, err := s.float()
			xy = append(xy, v)
			return err
		})
		g.Polygons = append(g.Polygons, xy)
		return err
	})
	return g, err
}

// maskSize reads [height, width].
func (s *scanner) maskSize(g *Segmentation) error {
	n := 0
	err := s.array(func(i int) error {
		v, err := s.extent("size")
		switch n = i + 1; i {
		case 0:
			g.Height = v
		case 1:
			g.Width = v
		}
		return err
	})
	if err == nil && n != 2 {
		err = s.invalid("size before this has %d numbers, want height and width", n)
	}
	return err
}

// runs reads run lengths, as numbers or as COCO's string.
func (s *scanner) runs(g *Segmentation) error {
	if s.next() == '"' {
		text, err := s.str()
		g.Compressed = string(text)
		return err
	}
	g.Counts = []uint32{}
	return s.array(func(int) error {
		v, err := s.uint("run length")
		if err == nil && v > maxPixels {
			err = s.invalid("run length before this is %d, want at most %d", v, maxPixels)
		}
		g.Counts = append(g.Counts, uint32(v))
		return err
	})
}
