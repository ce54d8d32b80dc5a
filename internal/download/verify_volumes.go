package download

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
)

// Files of a case of KiTS19.
const (
	imaging      = "imaging.nii.gz"
	segmentation = "segmentation.nii.gz"
)

// checkKiTS19 checks that every case has both volumes, and that they are of one shape.
func checkKiTS19(ctx context.Context, v *verification) error {
	v.kind()
	v.Observer.Phase("checking cases")
	wrong := 0
	for i, c := range v.item.Cases {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		v.Observer.Items(i, len(v.item.Cases))
		if err := v.checkCase(c); err != nil {
			wrong++
			v.problem("%s: %v", c, err)
		}
	}
	if wrong == 0 {
		v.fine("%d cases, each with a volume and a segmentation of the same shape", len(v.item.Cases))
	}
	if to, from := "case_00400", "case_00185"; wrong == 0 {
		v.checkSame(ctx, path.Join(to, imaging), path.Join(from, imaging))
		v.checkSame(ctx, path.Join(to, segmentation), path.Join(from, segmentation))
	}
	return nil
}

// checkSame checks that a case which MLPerf made is a copy of another.
func (v *verification) checkSame(ctx context.Context, to, from string) {
	a, errA := sumFile(ctx, v.root, to, nil)
	b, errB := sumFile(ctx, v.root, from, nil)
	if err := errors.Join(errA, errB); err == nil && a != b {
		v.problem("%s is not a copy of %s", to, from)
	}
}

func (v *verification) checkCase(name string) error {
	volume, err := v.niftiShape(path.Join(name, imaging))
	if err != nil {
		return err
	}
	labels, err := v.niftiShape(path.Join(name, segmentation))
	if err == nil && volume != labels {
		err = fmt.Errorf("the volume is %v, its segmentation %v", volume, labels)
	}
	return err
}

// niftiShape reads the shape of a compressed volume from its NIfTI-1 header.
func (v *verification) niftiShape(name string) (shape [3]int16, err error) {
	f, err := v.open(name)
	if err != nil {
		return shape, err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return shape, fmt.Errorf("%s: %w", path.Base(name), err)
	}
	if shape, err = parseNIfTI(gz); err != nil {
		return shape, fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return shape, nil
}

// niftiHeader is sizeof(nifti_1_header).
const niftiHeader = 348

// parseNIfTI reads the shape of a volume from its header, of either byte order.
func parseNIfTI(r io.Reader) (shape [3]int16, err error) {
	header := make([]byte, niftiHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return shape, err
	}
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if order.Uint32(header) != niftiHeader {
			continue
		}
		for i := range shape {
			if shape[i] = int16(order.Uint16(header[42+2*i:])); shape[i] < 1 {
				return shape, fmt.Errorf("side %d is %d", i, shape[i])
			}
		}
		return shape, nil
	}
	return shape, errors.New("it is not a NIfTI-1 file")
}
