// Package volume reads NIfTI files and brings volumes to the grid on which 3D-UNet sees
// them, as the reference's preprocess.py does with nibabel, NumPy and SciPy.
//
//	v, err := volume.ReadFile("case_00000/imaging.nii.gz")
//	prepared := volume.PrepareImage(v)      // shape volume.PreparedShape(v.Grid)
//
// A Grid is the number of voxels along each axis, and how far apart they are. The
// elements of a volume lie in memory with the last axis running fastest, though files have
// the first.
//
// Left out: NIfTI-2, pairs of .hdr and .img, more than three axes (unless of extent 1),
// complex and colour voxels, and where in the world a volume lies.
package volume
