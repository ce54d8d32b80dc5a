// Package diffusion has the benchmark that makes images of captions: Stable Diffusion XL.
//
//	for _, model := range diffusion.Models() { … }
//
// # How an image is made
//
// Four model files, by role. text_encoder and text_encoder_2 encode a caption and the negative prompt. Each image begins as
// the same noise. In each of 20 steps unet estimates the noise, with the caption and without, classifier-free guidance takes
// eight times the difference, and the Euler scheduler removes a part of the noise. vae_decoder makes pixels of the latents.
// pipeline.go opens the files, ports.go reads their ports, predictor.go makes the images, scheduler.go has the scheduler.
//
// # How images are scored
//
// By CLIP, how well they fit their captions, and by FID, how far all of them are from photographs (score.go). Both need
// networks (imageencoder.go, captionencoder.go), which an engine runs: files of a user, or those beside built-in data.
//
// The package leaves out safety checkers, watermarks, refiners, and schedulers other than
// the benchmark's.
package diffusion
