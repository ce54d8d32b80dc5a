// Package vbench reads the data set of Wan 2.2: prompts of VBench, and perhaps the noise that all videos begin with.
//
//	set, err := vbench.Read(dir, 0)           // vbench_prompts.txt or wan22_prompts.jsonl
//	noise, err := vbench.ReadNoise(set.Noise) // fixed_latent.pt
//
// vbench_prompts.txt of the reference (text_to_video/wan-2.2-t2v-a14b/data) has a prompt a line; blank lines do not count.
// wan22_prompts.jsonl of mlcommons/endpoints (examples/09_Wan22_VideoGen_Example) has a request a line, with a prompt and a negative
// one. Sample i is the i-th prompt.
package vbench
