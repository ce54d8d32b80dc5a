package accuracy

import "strconv"

// Classes are scores of one class each.
type Classes struct {
	Metric string // Top-1, AP or IoU
	Unit   string // "%" or empty
	Of     string // what Class.Count counts: samples, objects or pixels
	List   []Class
}

// A Class is one of them.
type Class struct {
	Name  string // each is there once
	Value float64
	Count int // of what should have been found
}

// add appends a class. One whose name is there already gets its number too.
func (c *Classes) add(name string, number int64, value float64, count int) {
	id := strconv.FormatInt(number, 10)
	if name == "" {
		name = id
	}
	for _, other := range c.List {
		if other.Name == name {
			name += " (" + id + ")"
			break
		}
	}
	c.List = append(c.List, Class{name, value, count})
}

// hitsByLabel is the share of right answers for each label, in the order of the labels.
func hitsByLabel(truth []LabeledImage, scored, right []byte) *Classes {
	hits := map[int64]*Hits{}
	var labels []int64
	for i, image := range truth {
		if scored[i/8]>>(i%8)&1 == 0 {
			continue
		}
		h := hits[image.Label]
		if h == nil {
			h = &Hits{}
			hits[image.Label], labels = h, append(labels, image.Label)
		}
		h.Total++
		h.Good += int(right[i/8] >> (i % 8) & 1)
	}
	c := &Classes{Metric: "Top-1", Unit: "%", Of: "samples"}
	for _, label := range sortedUnique(labels) {
		c.List = append(c.List, Class{strconv.FormatInt(label, 10), hits[label].Percent(), hits[label].Total})
	}
	return c
}

// classes are the average precisions of the categories that have objects.
func (r *DetectionResult) classes(gt *GroundTruth, wanted []int) *Classes {
	names := map[int64]string{}
	for _, category := range gt.Categories {
		names[category.ID] = category.Name
	}
	c := &Classes{Metric: "AP", Unit: "%", Of: "objects"}
	for i, category := range r.Categories {
		if wanted[i] > 0 && category.CategoryID >= 0 {
			c.add(names[category.CategoryID], category.CategoryID, 100*category.AP, wanted[i])
		}
	}
	return c
}

// byClass are the intersections over unions of the classes that occur.
func (c *IoUCounts) byClass() *Classes {
	out := &Classes{Metric: "IoU", Of: "pixels"}
	for i, iou := range c.classes() {
		if iou == iou {
			out.add("", int64(i+1), iou, int(c.Right[i]+c.Missed[i]))
		}
	}
	return out
}
