// Package captions reads the data set of Stable Diffusion XL: captions of COCO 2014, the noise that
// all images begin with, and the statistics of the photographs that images are compared with.
//
//	list, err := captions.Read(dir, 0)          // captions/captions_source.tsv
//	noise, err := captions.ReadLatents(dir)     // latents/latents.pt or .npy
//	photos, err := captions.ReadStatistics(path)// val2014.npz
//
// The files are those of the reference (text_to_image): a table with tabs between its columns,
// of which "caption" counts, with quotes as pandas reads them; a tensor as PyTorch or NumPy
// saves it; an archive of NumPy's with "mu" and "sigma". Sample i is the i-th row of the table.
//
// The photographs themselves are not needed for anything, and left out.
package captions
