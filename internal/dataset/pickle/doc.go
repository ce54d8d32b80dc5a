// Package pickle reads NumPy arrays, pandas' tables, and the lists and dictionaries around
// them, from Python's pickle files, as the reference writes them for pre-processed volumes
// and publishes prompts in.
//
//	value, err := pickle.Read(data)
//	list, ok := value.([]any)          // [image, label]
//	image, ok := list[0].(*pickle.Array)
//
// A pickle is a program that may ask for any function of Python. This reader runs
// nothing: it knows what few names NumPy's arrays and pandas' tables of them need, and
// refuses all others. Numbers
// are int64 or float64, strings are string, bytes are []byte, lists and tuples are []any
// (a tuple is a Tuple), dictionaries are map[string]any, tables are *Frame. Arrays refer to
// the memory of the file.
//
// ReadTorch reads a tensor as PyTorch saves it: an archive with such a pickle, which also asks
// for the memory beside it.
//
// Left out: protocols with buffers beside the file, objects of classes, sets, integers of
// more than 64 bits, dictionaries whose keys are not strings, arrays of text, tables of
// pandas before 1.3, and columns of dates, categories and pandas' own types of text.
package pickle
