// Package tfcheckpoint reads checkpoints of TensorFlow in their second form: an index, and
// files with the elements of variables.
//
//	c, err := tfcheckpoint.Open("ende_gnmt_model_4_layer") // translate.ckpt.index, translate.ckpt.data-00000-of-00001
//	v, err := c.Find([]int64{1024, 1024}, "dynamic_seq2seq/decoder/memory_layer/kernel")
//	kernel, err := c.Read(v)
//
// The index is a table in the format of LevelDB, of names and of type, shape, file, place and check sum
// of each variable. All check sums are checked.
//
// Left out: all types but float32, variables that are stored in slices, and compressed tables, which
// TensorFlow does not write.
package tfcheckpoint
