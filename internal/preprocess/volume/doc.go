// Package volume reads NIfTI files (nifti.go) and prepares volumes for 3D-UNet, of KiTS19 (prepare.go, zoom.go) and of BraTS (scan.go),
// as the reference's preprocess.py does with nibabel, NumPy and SciPy.
//
//	v, err := volume.ReadFile("case_00000/imaging.nii.gz")
//	err = volume.PrepareImage(dst, v) // dst has the size of volume.PreparedShape(v.Grid)
//
// In memory the last axis of a volume runs fastest, in files the first.
//
// Left out: NIfTI-2, pairs of .hdr and .img, more than three axes (unless of extent 1),
// complex and colour voxels, and the position of a volume in the world.
package volume
