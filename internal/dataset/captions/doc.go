// Package captions reads the data set of Stable Diffusion XL: captions of COCO 2014 (captions.go), the noise that
// all images begin with (latents.go), and statistics of the photographs for the FID score (statistics.go).
//
//	list, err := captions.Read(dir, 0)           // captions/captions_source.tsv
//	noise, err := captions.ReadLatents(dir)      // latents/latents.pt or .npy
//	photos, err := captions.ReadStatistics(path) // val2014.npz
//
// The files are those of the reference (text_to_image): a table with a column "caption" between
// tabs, quoted as pandas reads it; a tensor of PyTorch or NumPy; a NumPy archive with "mu" and
// "sigma". Sample i is row i of the table. The photographs themselves are not needed.
package captions
