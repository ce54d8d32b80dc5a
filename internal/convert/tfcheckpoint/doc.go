// Package tfcheckpoint reads checkpoints of TensorFlow in their second form: an index, and
// files with the elements of variables.
//
//	c, err := tfcheckpoint.Open("ende_gnmt_model_4_layer") // translate.ckpt.index, translate.ckpt.data-00000-of-00001
//	v, err := c.Find([]int64{1024, 1024}, "dynamic_seq2seq/decoder/memory_layer/kernel")
//	kernel, err := c.Read(v)
//
// The index is a sorted table in the format of LevelDB, of names and of what is to be known
// of each variable: type, shape, file, place, and a check sum. All of it is checked.
// Anything may be in such a file: what it says is believed only as far as the files are large.
//
// The package leaves out all types but float32, variables that are stored in slices, and
// compressed tables, which TensorFlow does not write.
package tfcheckpoint
