// Package diffusion has the benchmark that makes images of captions: Stable Diffusion XL.
//
//	for _, model := range diffusion.Models() { … }
//
// # How an image is made
//
// Four model files, by role. text_encoder and text_encoder_2 read a caption, and the negative
// prompt, what no image should be. Each image begins as the same noise. In 20 steps unet says
// what of it is noise, with the caption and without; what differs between the two is taken
// eight times (classifier-free guidance), and the Euler scheduler takes a part of the noise
// away. vae_decoder turns what is left into pixels.
//
// # How images are judged
//
// By CLIP, how well they fit their captions, and by FID, how far all of them together are from
// photographs. Both need networks of their own, which score with an engine as a run does:
// files of a user, or those that lie beside built-in data. Nothing stands in for them
// unasked: a score of other networks is not the official one.
//
// The package leaves out safety checkers, watermarks, refiners, and schedulers other than
// the benchmark's.
package diffusion
