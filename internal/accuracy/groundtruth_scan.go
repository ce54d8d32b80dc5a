package accuracy

func (s *scanner) image() (Image, error) {
	var image Image
	err := s.fields([]string{"id", "file_name", "width", "height", "coco_url"}, 4, func(field int) (err error) {
		switch field {
		case 0:
			image.ID, err = s.int()
		case 1:
			image.FileName, err = s.string()
		case 2:
			image.Width, err = s.extent("width")
		case 3:
			image.Height, err = s.extent("height")
		case 4:
			image.COCOURL, err = s.optionalString()
		}
		return err
	})
	return image, err
}

func (s *scanner) category() (Category, error) {
	var category Category
	err := s.fields([]string{"id", "name"}, 1, func(field int) (err error) {
		switch field {
		case 0:
			category.ID, err = s.int()
		case 1:
			category.Name, err = s.string()
		}
		return err
	})
	return category, err
}

func (s *scanner) annotation() (Annotation, error) {
	var a Annotation
	names := []string{"id", "image_id", "category_id", "bbox", "area", "iscrowd"}
	err := s.fields(names, 6, func(field int) (err error) {
		switch field {
		case 0:
			a.ID, err = s.int()
		case 1:
			a.ImageID, err = s.int()
		case 2:
			a.CategoryID, err = s.int()
		case 3:
			a.Box, err = s.box()
		case 4:
			a.Area, err = s.area()
		case 5:
			a.Crowd, err = s.crowd()
		}
		return err
	})
	return a, err
}

// extent reads the width or height of an image.
func (s *scanner) extent(name string) (int, error) {
	v, err := s.int()
	if err == nil && (v < 1 || v > 1<<24) {
		err = s.invalid("%s before this is %d, want a number of pixels", name, v)
	}
	return int(v), err
}

// optionalString reads a string or null.
func (s *scanner) optionalString() (*string, error) {
	if s.next() == 'n' {
		return nil, s.literal("null")
	}
	text, err := s.string()
	return &text, err
}

// box reads [x, y, width, height]. The box may reach beyond the image, or be empty.
func (s *scanner) box() (Box, error) {
	var v [4]float64
	n := 0
	err := s.array(func(i int) error {
		x, err := s.float()
		if i < len(v) {
			v[i] = x
		}
		n = i + 1
		return err
	})
	switch {
	case err != nil:
		return Box{}, err
	case n != len(v):
		return Box{}, s.invalid("bbox before this has %d numbers, want x, y, width, height", n)
	case v[2] < 0 || v[3] < 0:
		return Box{}, s.invalid("bbox before this has size %v × %v, want no negative size", v[2], v[3])
	}
	return Box{v[0], v[1], v[2], v[3]}, nil
}

func (s *scanner) area() (float64, error) {
	v, err := s.float()
	if err == nil && v < 0 {
		err = s.invalid("area before this is %v, want 0 or more", v)
	}
	return v, err
}

// crowd reads iscrowd, a number or a truth value. The file that OpenImages' tools write
// has -1 where it is unknown whether an object is a group.
func (s *scanner) crowd() (bool, error) {
	switch s.next() {
	case 't':
		return true, s.literal("true")
	case 'f':
		return false, s.literal("false")
	}
	v, err := s.int()
	if err == nil && (v < -1 || v > 1) {
		err = s.invalid("iscrowd before this is %d, want 0 or 1 (-1 counts as 1)", v)
	}
	return v != 0, err
}
