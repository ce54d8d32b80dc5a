package download

import "context"

// A Layout is the form of a data set that this program knows more about than its files.
type Layout string

// The layouts.
const (
	LayoutFiles      Layout = ""           // files, nothing more is known
	LayoutImageNet   Layout = "imagenet"   // images and val_map.txt
	LayoutCOCO       Layout = "coco"       // val2017 and annotations/instances_val2017.json
	LayoutOpenImages Layout = "openimages" // as the reference's openimages.py makes it
	LayoutKiTS19     Layout = "kits19"     // case_00000/imaging.nii.gz and segmentation.nii.gz
)

// layoutSteps are what a layout adds to getting and checking files. All may be nil.
type layoutSteps struct {
	subsets bool                                             // --count is understood
	keep    func(j *job) (func(name string) bool, error)     // which entries of an archive are wanted
	finish  func(ctx context.Context, j *job) error          // what is done once all files are there
	check   func(ctx context.Context, v *verification) error // what else is verified
}

func layouts() map[Layout]layoutSteps {
	return map[Layout]layoutSteps{
		LayoutFiles:      {},
		LayoutImageNet:   {subsets: true, keep: keepImageNet, finish: finishImageNet, check: checkImageNet},
		LayoutCOCO:       {subsets: true, keep: keepCOCO, finish: finishCOCO, check: checkCOCO},
		LayoutOpenImages: {subsets: true, finish: finishOpenImages, check: checkOpenImages},
		LayoutKiTS19:     {check: checkKiTS19},
	}
}

// replace writes a file whose contents we make, and notes it.
func (j *job) replace(name string, data []byte) error {
	if err := j.mkdirFor(name); err != nil {
		return err
	}
	part := flat(name) + partSuffix
	if err := j.root.WriteFile(part, data, 0o644); err != nil {
		return err
	}
	s := newSummer()
	s.Write(data)
	return j.install(part, name, s.sums().SHA256)
}
